"""Fit Poisson log-normal ICA to a cube: starts, training, canonical form, posterior.

Paper: Chaussard, Bonnet, Le Corff, arXiv 2601.21696; what of the stages is a
choice of ours stands in docs/counts.md.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import xarray as xr

from headwater.core.errors import InputError
from headwater.core.io import read_torch, write_torch
from headwater.core.seeds import job_seed

from .canonical import canonical
from .config import FitConfig
from .data import CubeTensors, check_collinear, covariate_names, cube_tensors, median_step
from .initialise import KINDS, Start, staged_start
from .model import Model
from .parameters import Parameters
from .posterior import posterior
from .training import Step, Trainer

__all__ = ["Fit", "FitConfig", "fit_plnica"]

WINDOW = 20  # epochs over which the stopping rule averages
PATIENCE = 10
SPREAD = 0.01  # of the bounds of the starts, as a share: more is a warning
SIMILAR = 0.9  # |cosine| of two columns of Gamma: more is a warning


@dataclass(frozen=True)
class Fit:
    """A fitted model, its posterior of the training cube, the trace and a summary."""

    model: Model
    posterior: xr.Dataset
    trace: pd.DataFrame
    info: dict[str, Any]


def fit_plnica(
    cube: xr.Dataset,
    config: FitConfig,
    seed: int,
    work: Path | None = None,
    log: logging.Logger | None = None,
) -> Fit:
    """Fit the model.

    Parameters
    ----------
    cube : Dataset
        Counts of series x steps x features (docs/counts.md).
    config : FitConfig
    seed : int
        Same cube, configuration, seed and number of threads: same result, bit for bit.
    work : path, optional
        Folder for the checkpoint of this fit; a killed fit goes on from it to the same
        result. Removed at the end.
    log : Logger, optional

    Raises
    ------
    InputError
        If the cube is too small for the sizes asked for, covariates are faulty, or the bound
        is not finite twice.
    """
    log = log or logging.getLogger("headwater")
    config.check_warmup()
    warned = check_sizes(cube, config)
    raw = cube_tensors(cube, config.intercept)
    check_collinear(raw.covariates, covariate_names(cube, config.intercept))
    data, centre, scale = standardised(raw, config.intercept)
    store = Store(work, raw, config, seed)
    try:
        done = _train(data, config, seed, store, log, rate=1.0)
    except FloatingPointError as error:
        log.warning("%s; trying once more with a fifth of the learning rate", _named(error, cube))
        warned.append(f"{_named(error, cube)}; fitted again with a fifth of the learning rate")
        store.clear()
        try:
            done = _train(data, config, seed, store, log, rate=0.2)
        except FloatingPointError as second:
            raise InputError(
                None,
                _named(second, cube),
                "no finite bound, also with a fifth of the learning rate",
                "a finite bound",
                "Look at the counts there, or lower counts.model.lr and lr_mixing.",
            ) from None
    trainer, steps, starts, reason = done
    model = _finish(trainer, data, cube, config, centre, scale)
    result = posterior(model, cube)
    warned += _fit_warnings(model.parameters, starts, steps, trainer.reseeded)
    for text in warned:
        log.warning("%s", text)
    info = _info(config, seed, starts, steps, reason, warned, raw)
    store.clear()
    return Fit(model, result, _trace(steps), info)


def check_sizes(cube: xr.Dataset, config: FitConfig) -> list[str]:
    """Return warnings about a cube that is small for d and C.

    Raises
    ------
    InputError
        If d exceeds the features, or C the observed transitions.
    """
    n, steps, features = (cube.sizes[k] for k in ("series", "step", "feature"))
    if config.d > features:
        raise InputError(
            None, "counts.select.d", str(config.d), f"at most {features}, the number of features"
        )
    if steps < 3:
        raise InputError(None, "dimension step", f"{steps} steps", "at least 3")
    observed = int((cube["observed"] == 1).sum())
    if observed - n < config.C:
        raise InputError(
            None,
            "counts.select.C",
            str(config.C),
            f"at most {max(observed - n, 1)}, the number of observed transitions",
            "Ask for fewer regimes or bring more steps.",
        )
    warned = []
    if config.d == features and features > 1:
        warned.append(f"d = {config.d} equals the number of features: nothing is reduced")
    if n * steps < 10 * config.d * config.C:
        warned.append(
            f"{n} series x {steps} steps are few for {config.d} sources with {config.C} regimes"
        )
    columns = cube.sizes.get("covariate", 0) + config.intercept
    if columns > 1 and columns >= n:
        warned.append(
            f"{columns - config.intercept} covariates for {n} series: they explain any difference"
        )
    return warned


def standardised(
    data: CubeTensors, intercept: bool
) -> tuple[CubeTensors, torch.Tensor, torch.Tensor]:
    """Return the data with covariates of mean 0 and sd 1, and the centre and scale (Q,).

    Without an intercept covariates are scaled but not moved.
    """
    c = data.covariates
    centre, scale = torch.zeros(c.shape[1]).double(), torch.ones(c.shape[1]).double()
    first = 1 if intercept else 0
    if c.shape[1] > first and len(c) > 1:
        part = c[:, first:]
        spread = part.std(0) if intercept else part.pow(2).mean(0).sqrt()
        scale[first:] = torch.where(spread > 0, spread, torch.ones_like(spread))
        if intercept:
            centre[first:] = part.mean(0)
    return replace(data, covariates=(c - centre) / scale), centre, scale


def _train(
    data: CubeTensors, config: FitConfig, seed: int, store: Store, log: logging.Logger, rate: float
) -> tuple[Trainer, list[Step], list[dict[str, Any]], str]:
    """Return the trained state, its steps, the table of starts and why it stopped."""
    saved = store.load()
    if saved is not None and saved["trainer"]["rate"] == rate:
        log.info("going on from the checkpoint at epoch %d", saved["trainer"]["epoch"])
        start = Parameters(**saved["start"])
        trainer = Trainer(data, start, config, job_seed(seed, saved["kind"]), rate)
        trainer.load(saved["trainer"])
        steps = [Step(*row) for row in saved["steps"]]
        starts = saved["starts"]
    else:
        trainer, steps, starts, start, kind = _best_start(data, config, seed, log, rate)
        saved = {"kind": kind, "start": start.state(), "starts": starts}
    reason, last = "all epochs done", time.monotonic()
    while trainer.epoch < config.epochs:
        steps.append(_checked(trainer.run_epoch(), trainer.epoch))
        if trainer.epoch % 50 == 0:
            log.info("epoch %d of %d: bound %.3f", trainer.epoch, config.epochs, steps[-1].elbo)
        if _converged(steps, config):
            reason = f"converged: relative change below {config.tolerance:g}"
            break
        if config.checkpoint_seconds and time.monotonic() - last > config.checkpoint_seconds:
            rows = [list(asdict(s).values()) for s in steps]
            store.save({**saved, "trainer": trainer.state(), "steps": rows})
            last = time.monotonic()
    return trainer, steps, starts, reason


def _best_start(
    data: CubeTensors, config: FitConfig, seed: int, log: logging.Logger, rate: float
) -> tuple[Trainer, list[Step], list[dict[str, Any]], Parameters, str]:
    """Train every start for a few epochs and return the one with the highest bound."""
    best: tuple[float, Trainer, list[Step], Start, str] | None = None
    table = []
    for number in range(config.n_init):
        kind = KINDS[min(number, len(KINDS) - 1)]
        name = kind if number < len(KINDS) else f"{kind}{number - len(KINDS) + 2}"
        start = staged_start(data, config.d, config.C, kind, job_seed(seed, name))
        trainer = Trainer(data, start.parameters, config, job_seed(seed, name), rate)
        length = min(config.init_epochs, config.epochs) if config.n_init > 1 else 0
        steps = [_checked(trainer.run_epoch(), trainer.epoch) for _ in range(length)]
        elbo = steps[-1].elbo if steps else float("-inf")
        log.info("start %s: bound %.3f after %d epochs", name, elbo, length)
        table.append({"start": name, "elbo": elbo if steps else None, "epochs": length})
        if best is None or elbo > best[0]:
            best = (elbo, trainer, steps, start, name)
    assert best is not None
    for row in table:
        row["chosen"] = row["start"] == best[4]
    return best[1], best[2], table, best[3].parameters, best[4]


def _checked(step: Step, epoch: int) -> Step:
    if not np.isfinite(step.elbo):
        parts = {k: getattr(step, k) for k in ("emission", "dynamics", "entropy")}
        term = next((k for k, v in parts.items() if not np.isfinite(v)), "bound")
        raise FloatingPointError(epoch, term, step.worst)
    if step.elbo > 0:  # counts have probabilities of 1 at most: exponents were clamped
        raise FloatingPointError(epoch, "emission (exponents were clamped)", step.worst)
    return step


def _named(error: FloatingPointError, cube: xr.Dataset) -> str:
    epoch, term, worst = error.args
    series = f", series {str(cube['series'].values[worst])!r}" if worst >= 0 else ""
    return f"epoch {epoch}, term {term}{series}"


def _converged(steps: list[Step], config: FitConfig) -> bool:
    """Return whether the mean bound of 20 epochs has stood still ten times in a row."""
    least = config.warmup + 0.25 * (config.epochs - config.warmup)
    if not config.tolerance or len(steps) < max(least, config.warmup + 2 * WINDOW + PATIENCE):
        return False
    recent = np.array([s.elbo for s in steps[-(2 * WINDOW + PATIENCE) :]])
    means = np.convolve(recent, np.ones(WINDOW) / WINDOW, "valid")
    change = np.abs(means[WINDOW:] - means[:-WINDOW]) / np.abs(means[WINDOW:])
    return bool((change < config.tolerance).all())


@torch.no_grad()
def _finish(
    trainer: Trainer,
    data: CubeTensors,
    cube: xr.Dataset,
    config: FitConfig,
    centre: torch.Tensor,
    scale: torch.Tensor,
) -> Model:
    """Return the model in canonical form, with effects per original unit of the covariates."""
    parameters = trainer.parameters().detach()
    mean = trainer.encoder(data).moments()[0]
    parameters, frame = canonical(parameters, mean, data.observed, config.intercept)
    effects = parameters.effects / scale
    if config.intercept:
        effects[:, 0] = effects[:, 0] - effects[:, 1:] @ centre[1:]
    encoder = trainer.encoder.eval()
    # the encoder saw standardised covariates: from now on it standardises by itself
    encoder.covariate_mean.copy_(centre + scale * encoder.covariate_mean)
    encoder.covariate_scale.copy_(scale * encoder.covariate_scale)
    start = encoder.start_effects / scale
    if config.intercept:
        start[:, 0] = start[:, 0] - start[:, 1:] @ centre[1:]
    encoder.start_effects.copy_(start)
    return Model(
        replace(parameters, effects=effects),
        encoder,
        frame,
        config,
        tuple(str(f) for f in cube["feature"].values),
        tuple(covariate_names(cube, config.intercept)),
        str(cube.attrs.get("exposure_kind", "")),
        median_step(cube),
    )


def _fit_warnings(
    p: Parameters, starts: list[dict[str, Any]], steps: list[Step], reseeded: int
) -> list[str]:
    """Return what a reader must know about a fit."""
    found = []
    if reseeded:
        found.append(
            f"a regime without data was given its source's overall moments {reseeded} times:"
            " fewer regimes may do"
        )
    bounds = [s["elbo"] for s in starts if s["elbo"] is not None]
    if len(bounds) > 1 and (max(bounds) - min(bounds)) > SPREAD * abs(max(bounds)):
        share = (max(bounds) - min(bounds)) / abs(max(bounds))
        found.append(f"the starts end {100 * share:.1f}% apart: the bound has several maxima")
    gram = (p.mixing.T @ p.mixing).abs().fill_diagonal_(0)
    if p.d > 1 and float(gram.max()) > SIMILAR:
        i, j = divmod(int(gram.argmax()), p.d)
        found.append(
            f"columns {i + 1} and {j + 1} of the mixing have |cos| {float(gram.max()):.2f}:"
            " these sources cannot be told apart well"
        )
    if p.C == 1 and p.d > 1:
        a = p.ar_coef[:, 0]
        gap = (a[:, None] - a[None]).abs().fill_diagonal_(torch.inf)
        if float(gap.min()) < 0.05:
            found.append("two sources have nearly equal dynamics and one regime: ill-posed")
    if bool((p.ar_coef.abs() >= 1).any()):
        found.append("an AR coefficient is not below 1 in size: forecasts clip it to 0.999")
    clamped = sum(s.clamped for s in steps)
    if clamped:
        found.append(f"{clamped} exponents were clamped during training")
    return found


def _trace(steps: list[Step]) -> pd.DataFrame:
    table = pd.DataFrame([asdict(s) for s in steps]).drop(columns="worst")
    table.insert(0, "epoch", np.arange(1, len(table) + 1))
    return table.rename(columns={"clamped": "n_clamped"})


def _info(
    config: FitConfig,
    seed: int,
    starts: list[dict[str, Any]],
    steps: list[Step],
    reason: str,
    warned: list[str],
    data: CubeTensors,
) -> dict[str, Any]:
    last = steps[-1]
    return {
        "config": asdict(config),
        "seed": seed,
        "threads": torch.get_num_threads(),
        "starts": starts,
        "epochs": len(steps),
        "stopped": reason,
        "elbo": last.elbo,
        "elbo_per_entry": last.elbo / max(data.n_entries, 1),
        "entries": data.n_entries,
        "clamped": sum(s.clamped for s in steps),
        "warnings": warned,
    }


class Store:
    """The checkpoint of one fit; its name holds a digest of data, configuration and seed."""

    def __init__(self, work: Path | None, data: CubeTensors, config: FitConfig, seed: int) -> None:
        self.folder = work
        if work is None:
            return
        key = json.dumps([torch.__version__, asdict(config), seed], sort_keys=True)
        digest = hashlib.sha256(key.encode())
        for name, tensor in vars(data).items():
            digest.update(f"{name}{tuple(tensor.shape)}".encode())
            digest.update(np.ascontiguousarray(tensor.numpy()).tobytes())
        self.digest = digest.hexdigest()[:16]
        self.path = Path(work) / f"state-{self.digest}.pt"

    def load(self) -> dict[str, Any] | None:
        """Return the saved state, or None when there is none that can be read."""
        if self.folder is None or not self.path.is_file():
            return None
        try:
            return read_torch(self.path)
        except Exception as error:  # a damaged file must not stop the fit that replaces it
            logging.getLogger("headwater").warning("checkpoint not readable, begun anew: %s", error)
            return None

    def save(self, state: dict[str, Any]) -> None:
        """Write the state whole."""
        if self.folder is not None:
            write_torch(self.path, state)

    def clear(self) -> None:
        """Remove checkpoints, and the folder if nothing else is in it."""
        if self.folder is None or not Path(self.folder).is_dir():
            return
        for path in Path(self.folder).glob("*state-*.pt"):  # also what a kill left half-written
            path.unlink()
        if not any(Path(self.folder).iterdir()):
            Path(self.folder).rmdir()
