"""Forecasts of counts from an origin: nothing at or after it is looked at.

The state at the origin (sources and regimes at the last step before it) is drawn either by the
particle filter (`particles`, exact up to the number of draws) or from the amortised predictive
q. From there on the generative law runs: transitions A at every horizon (so horizons beyond the
training length are possible) and the marginal variance of the sources.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
import xarray as xr

from headwater.core.errors import InputError

from .data import CubeTensors
from .model import Model
from .origins import default_origins
from .particles import (
    MAX_LOG_RATE,
    Law,
    Particles,
    advance,
    draw_regime,
    law_of,
    predicted,
    update,
)

EXPOSURES = ("true", "last", "mean")
FILTERS = ("particle", "encoder")
CLOSURES = ("auto", "none", "total")
READS = {"library": 0.0, "logsum": 1.0}  # kinds of exposure that are totals, and what was added
BLOCK = 500  # series at a time: bounds the memory
QUANTILES = {"q05": 0.05, "q50": 0.5, "q95": 0.95}
NAMES = ("mean", "var", *QUANTILES, "pit")


def forecast_origins(
    model: Model, cube: xr.Dataset, settings: Mapping[str, Any], seed: int
) -> xr.Dataset:
    """Forecast a cube from several origins.

    Parameters
    ----------
    model : Model
        Fitted with ``mode="predictive"`` where the filter is ``encoder``.
    cube : xarray.Dataset
        Series to forecast, not used in training.
    settings : mapping
        ``t0`` (list of steps; empty: `origins.default_origins`), ``exposure`` (``true``,
        ``last``, ``mean``), ``draws``, ``filter`` (``particle``, ``encoder``). Other keys are
        those of the fit and are not read here.
    seed : int

    Returns
    -------
    xarray.Dataset
        dims (t0, series, step, feature): ``mean``, ``var``, ``q05``, ``q50``, ``q95`` of the
        counts and ``pit``, the randomised probability integral transform. NaN at steps before
        t0 and where the exposure is not known; ``pit`` also where nothing was observed.

    Raises
    ------
    InputError
        For an origin outside 1..T-1, an unknown exposure or filter, or a cube that does not
        fit the model.
    """
    origins = [int(t) for t in settings.get("t0") or default_origins(cube.sizes["step"])]
    exposure = settings.get("exposure", "true")
    draws = int(settings.get("draws", 400))
    kind = settings.get("filter", "particle")
    closure = settings.get("closure", "auto")
    _check(model, cube, origins, exposure, draws, kind)
    n, T, K = (cube.sizes[d] for d in ("series", "step", "feature"))
    origins = sorted(set(origins))
    data = model.tensors(cube)
    law = law_of(model.parameters, data, model.config.time_model == "gap")
    added = _closed(model.exposure_kind, data, min(origins), closure)
    values = {name: np.full((len(origins), n, T, K), np.nan) for name in NAMES}
    clamped = 0
    for block, start in enumerate(range(0, n, BLOCK)):
        index = slice(start, min(start + BLOCK, n))
        own = data.part(index)
        states = origin_states(model, own, law.part(index), origins, draws, kind, [seed, block])
        for i, (t0, state) in enumerate(zip(origins, states, strict=True)):
            offset = _future_offset(own, t0, exposure)
            streams = [seed, block, 1, t0]
            part, cut = _roll(law.part(index), own, state, t0, offset, streams, added)
            clamped += cut
            for name, value in part.items():
                values[name][i, index, t0:] = value
    return xr.Dataset(
        {k: (("t0", "series", "step", "feature"), x) for k, x in values.items()},
        coords={
            "t0": np.array(origins, dtype=np.int32),
            **{
                d: cube[d].values if d in cube.coords else np.arange(cube.sizes[d])
                for d in ("series", "step", "feature")
            },
        },
        attrs={
            "exposure": exposure,
            "filter": kind,
            "closure": "none" if added is None else "total",
            "draws": draws,
            "seed": seed,
            "clipped_ar_coefficients": law.clipped,
            "clamped_log_rates": clamped,
        },
    )


def forecast(
    model: Model,
    cube: xr.Dataset,
    t0: int,
    exposure: str = "true",
    n_draws: int = 400,
    seed: int = 0,
    filter: str = "particle",
) -> xr.Dataset:
    """Forecast the steps from `t0` on; see `forecast_origins` for variables and errors."""
    settings = {"t0": [t0], "exposure": exposure, "draws": n_draws, "filter": filter}
    result = forecast_origins(model, cube, settings, seed)
    return result.isel(t0=0, step=slice(t0, None))


def origin_states(
    model: Model,
    data: CubeTensors,
    law: Law,
    origins: Sequence[int],
    draws: int,
    kind: str,
    seed: Sequence[int],
) -> Iterator[Particles]:
    """Yield equally weighted draws of step t0 - 1 given the steps before each (sorted) origin."""
    if kind == "encoder":
        for t0 in origins:
            rng = np.random.default_rng([*seed, 2, t0])
            yield _encoder_state(model, prefix(data, t0), draws, rng)
        return
    rng = np.random.default_rng([*seed, 0])
    now = None
    wanted = set(origins)
    for t in range(max(origins)):
        x, w = data.counts[:, t].numpy(), data.observed[:, t].numpy() > 0
        now = update(law, now, t, x, data.offset[:, t].numpy(), w, draws, rng)
        if t + 1 in wanted:
            yield now.resampled(np.random.default_rng([*seed, 3, t + 1]))
        now = now.resampled(rng, 0.5)


def prefix(data: CubeTensors, t0: int) -> CubeTensors:
    """Return the steps before t0."""
    names = ("counts", "observed", "offset", "dt", "log_factorial")
    return replace(data, **{k: getattr(data, k)[:, :t0] for k in names})


@torch.no_grad()
def _encoder_state(
    model: Model, past: CubeTensors, draws: int, rng: np.random.Generator
) -> Particles:
    q = model.encode(past)
    mu, var = q.moments()
    prior = model.prior(past)
    filtered = prior.chain(prior.potentials(mu, var, q.alpha)).filtered[:, -1].numpy()
    n, d = mu[:, -1].shape
    z = rng.standard_normal((n, draws, d))
    source = mu[:, -1].numpy()[:, None] + var[:, -1].sqrt().numpy()[:, None] * z
    chance = np.broadcast_to(filtered[:, None], (n, draws, *filtered.shape[1:]))
    return Particles(source, draw_regime(chance, rng), np.zeros((n, draws)))


def _roll(
    law: Law,
    data: CubeTensors,
    state: Particles,
    t0: int,
    offset: np.ndarray,
    seed: Sequence[int],
    added: float | None,
) -> tuple[dict[str, np.ndarray], int]:
    """Return each variable, (n, T - t0, K), and how many log rates were clamped.

    `added` is None, or says that exp(offset) - added is the total of the step's counts.
    """
    n, P = state.log_weight.shape
    T, clamped = data.counts.shape[1], 0
    # streams of their own: how many numbers a Poisson draw takes depends on its rate
    rng, count_rng, pit_rng = (np.random.default_rng([*seed, part]) for part in range(3))
    steps: dict[str, list[np.ndarray]] = {name: [] for name in NAMES}
    for t in range(t0, T):
        base = offset[:, t - t0, None] + law.shift  # NaN where the exposure is not known
        if added is None:
            mean, var = count_moments(law, state, t, base)
        state = advance(law, state, t, n, P, rng)
        eta = state.source @ law.mixing.T + np.nan_to_num(base)[:, None]
        clamped += int((eta > MAX_LOG_RATE).sum())
        if added is None:
            drawn = count_rng.poisson(np.exp(np.minimum(eta, MAX_LOG_RATE)))
        else:
            total = np.exp(offset[:, t - t0]) - added
            drawn, mean, var = _shares(eta, total, count_rng)
        counts = np.sort(drawn, axis=1)
        unknown = np.where(np.isnan(base), np.nan, 0.0)
        steps["mean"].append(mean)
        steps["var"].append(var)
        for name, level in QUANTILES.items():
            steps[name].append(counts[:, int(np.ceil(level * P)) - 1] + unknown)
        seen = np.where(data.observed[:, t].numpy() > 0, 0.0, np.nan)[:, None]
        pit = _pit(counts, data.counts[:, t].numpy(), pit_rng)
        steps["pit"].append(pit + seen + unknown)
    return {name: np.stack(values, 1) for name, values in steps.items()}, clamped


def _closed(kind: str, data: CubeTensors, before: int, closure: str) -> float | None:
    """Return what was added to the totals that the exposures are, or None if they are none.

    Only steps before the first origin are looked at. Given its total, a vector of independent
    Poisson counts is multinomial with the rates' shares, so a known total is conditioned on:
    without that, a source that runs away takes the forecast of every feature along.
    """
    if closure == "none" or kind not in READS:
        if closure == "total":
            raise InputError(
                None,
                "counts.forecast.closure",
                f"total with an exposure of kind {kind!r}",
                "a library size (prepare offset=library or logsum)",
                "Set closure to auto or none.",
            )
        return None
    seen = data.observed[:, :before] > 0
    totals = data.counts[:, :before].sum(-1)[seen]
    apart = (data.offset[:, :before][seen].exp() - READS[kind] - totals).abs()
    return READS[kind] if bool((apart <= 0.5 + 1e-9 * totals).all()) else None


def _shares(
    eta: np.ndarray, total: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return draws (n, P, K), mean and variance (n, K) of counts with a known total.

    Parameters
    ----------
    eta : (n, P, K)
        Log rates of the draws.
    total : (n,)
        NaN where not known.
    """
    share = np.exp(eta - eta.max(-1, keepdims=True))
    share /= share.sum(-1, keepdims=True)
    known = np.nan_to_num(total)
    drawn = rng.binomial(np.rint(known).astype(np.int64)[:, None, None], np.clip(share, 0, 1))
    size = total[:, None]
    mean = size * share.mean(1)
    var = size * (share * (1 - share)).mean(1) + size**2 * share.var(1)
    return drawn, mean, var


def count_moments(
    law: Law, state: Particles, t: int, base: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance (n, K) of the counts of step t given draws of step t - 1.

    Regimes and innovations of step t are integrated exactly: for
    the power m of the rate, E lambda^m = exp(m base) prod_i E exp(m Gamma_ki s_i), each factor
    a mixture over the regimes of one source.
    """
    n, P, d = state.source.shape
    rows, m, v = predicted(law, state, t, n, P)
    first, second = np.exp(base)[:, None], np.exp(2 * base)[:, None]
    for i in range(d):
        g = law.mixing[:, i]
        one = two = 0.0
        for c in range(rows.shape[-1]):
            chance, mean, var = (x[:, :, i, c, None] for x in (rows, m, v))
            # the caps keep an exploding path from turning into inf - inf
            factor = np.exp(np.clip(g * mean + g**2 * var / 2, -200, 200))
            one = one + chance * factor
            # E exp(2 g s) = (E exp(g s))^2 exp(g^2 v) for a Gaussian
            two = two + chance * factor * factor * np.exp(np.minimum(g**2 * var, 200))
        first, second = first * one, second * two
    first = np.minimum(first, np.exp(MAX_LOG_RATE)).mean(1)
    second = np.minimum(second, np.exp(2 * MAX_LOG_RATE)).mean(1)
    return first, first + second - first**2


def _pit(draws: np.ndarray, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the randomised rank of x among P draws: exactly uniform if x is one of their law."""
    below = (draws < x[:, None]).sum(1)
    equal = (draws == x[:, None]).sum(1)
    return (below + rng.random(x.shape) * (equal + 1)) / (draws.shape[1] + 1)


def _future_offset(data: CubeTensors, t0: int, exposure: str) -> np.ndarray:
    """Return log exposure of the steps from t0 on, (n, T - t0); NaN where not known."""
    o = np.where(data.observed.numpy() > 0, data.offset.numpy(), np.nan)
    n, T = o.shape
    if exposure == "true":
        return o[:, t0:]
    past = o[:, :t0]
    seen = ~np.isnan(past)
    if exposure == "last":
        last = t0 - 1 - seen[:, ::-1].argmax(1)
        value = past[np.arange(n), last]  # NaN where the series has no step before t0
    else:
        total = np.exp(np.where(seen, past, -np.inf)).sum(1)
        value = np.log(total / np.maximum(seen.sum(1), 1), where=total > 0, out=np.full(n, np.nan))
    return np.repeat(value[:, None], T - t0, 1)


def _check(
    model: Model, cube: xr.Dataset, origins: list[int], exposure: str, draws: int, kind: str
) -> None:
    T = cube.sizes["step"]
    for t0 in origins:
        if not 1 <= t0 < T:
            raise InputError(
                None, "counts.forecast.t0", f"{t0}", f"steps from 1 to {T - 1}", "Correct the list."
            )
    if draws < 20:
        raise InputError(None, "counts.forecast.draws", f"{draws}", "at least 20", "")
    for key, value, known in (("exposure", exposure, EXPOSURES), ("filter", kind, FILTERS)):
        if value not in known:
            raise InputError(
                None, f"counts.forecast.{key}", repr(value), "one of " + ", ".join(known), ""
            )
    if kind == "encoder" and model.config.mode != "predictive":
        raise InputError(
            None,
            "model",
            f"a model of mode {model.config.mode}",
            "mode predictive, whose q looks at no later step",
            "Fit with mode predictive, or set counts.forecast.filter to particle.",
        )
