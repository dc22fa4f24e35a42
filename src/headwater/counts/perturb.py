"""What the model says an intervention would do: paired runs of the generative law.

Every series is conditioned on its data up to the beginning of an intervention; from there the
model runs twice on the same random numbers, once as it is and once with a source shifted or
held in a regime. It is the model's answer, not an experiment: sources are latent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from headwater.core.errors import InputError

from .data import CubeTensors
from .forecast import BLOCK, origin_states
from .model import Model
from .particles import MAX_LOG_RATE, Law, Particles, advance, law_of
from .simulate import stationary_moments

KEYS = {"name", "kind", "source", "from", "to", "delta", "regime"}
MOST_PAIRS = 200_000  # kept per step for the quantiles
WHERE = "counts.perturb.schedule"


def perturb(
    model: Model,
    cube: xr.Dataset,
    *,
    seed: int,
    schedule: Sequence[Mapping[str, Any]] = (),
    draws: int = 400,
) -> xr.Dataset:
    """Compare expected counts with and without interventions.

    Parameters
    ----------
    model : Model
    cube : xarray.Dataset
        Gives the state of each series at the beginning and its exposures.
    seed : int
    schedule : sequence of mapping
        One intervention each: ``source`` (from 1, as on the page), ``from`` and ``to`` (steps
        from 0; the last one is not included; ``to`` defaults to one step), and either
        ``delta`` (kind ``shift``: added to the source at each of these steps, nat, and carried
        on by its dynamics) or ``regime`` (kind ``regime``: from 1; the source is held in it,
        its chain goes on from there). Entries of the same ``name`` act together. Empty: for
        each source a shift by one stationary standard deviation at the middle step.
    draws : int
        Paired draws per series.

    Returns
    -------
    xarray.Dataset
        dims (intervention, step, feature): ``baseline``, ``perturbed`` (expected counts, mean
        over series and draws), ``log2_fold_change`` (mean over series and draws of the log2
        ratio of the rates) with its 5% and 95% quantiles ``log2_fold_change_q05``, ``_q95``.
        NaN before the intervention begins. Coordinate ``start`` (intervention) holds that step.

    Raises
    ------
    InputError
        For a schedule that does not fit the model or the cube, naming entry and key.
    """
    if draws < 20:
        raise InputError(None, "counts.perturb.draws", f"{draws}", "at least 20", "")
    T = cube.sizes["step"]
    data = model.tensors(cube)
    law = law_of(model.parameters, data, model.config.time_model == "gap")
    given = list(schedule) or default_schedule(model, T)
    groups = _groups([_entry(i, e, law, T) for i, e in enumerate(given)])
    runs = [_run(model, data, law, entries, draws, seed) for entries in groups.values()]
    names = ("baseline", "perturbed", "log2_fold_change")
    names += ("log2_fold_change_q05", "log2_fold_change_q95")
    dims = ("intervention", "step", "feature")
    return xr.Dataset(
        {name: (dims, np.stack([run[i] for run in runs])) for i, name in enumerate(names)},
        coords={
            "intervention": list(groups),
            "start": ("intervention", [min(e["from"] for e in g) for g in groups.values()]),
            "step": cube["step"].values if "step" in cube.coords else np.arange(T),
            "feature": cube["feature"].values,
        },
        attrs={"draws": draws, "seed": seed, "clipped_ar_coefficients": law.clipped},
    )


def default_schedule(model: Model, T: int) -> list[dict[str, Any]]:
    """Return a shift of each source by one stationary sd at the middle step.

    A source without a stationary law (an AR coefficient too large) is shifted by 1 nat.
    """
    p = {k: v.detach().numpy() for k, v in model.parameters.state().items()}
    _, var = stationary_moments(p)
    sizes = [float(np.sqrt(v)) if np.isfinite(v) else 1.0 for v in var]
    return [
        {"kind": "shift", "source": i + 1, "from": T // 2, "to": T // 2 + 1, "delta": delta}
        for i, delta in enumerate(sizes)
    ]


def _entry(number: int, entry: Mapping[str, Any], law: Law, T: int) -> dict[str, Any]:
    """Return a checked entry with source and regime counted from 0 and a name."""
    d, C = law.init.shape
    where = f"{WHERE}[{number}]"
    unknown = sorted(set(entry) - KEYS)
    if unknown:
        raise InputError(None, f"{where}.{unknown[0]}", "an unknown key", ", ".join(sorted(KEYS)))
    found = {k: v for k, v in entry.items() if v is not None}
    if ("delta" in found) == ("regime" in found):
        raise InputError(
            None,
            where,
            "delta and regime" if "delta" in found else "neither delta nor regime",
            "one of the two",
            "delta shifts the source, regime holds it in one.",
        )
    kind = "shift" if "delta" in found else "regime"
    if found.get("kind", kind) != kind:
        expected = "delta" if found["kind"] == "shift" else "regime"
        raise InputError(None, f"{where}.kind", repr(found["kind"]), f"the key {expected} with it")
    source = _whole(found, "source", where, 1, d)
    start = _whole(found, "from", where, 0, T - 1)
    stop = _whole({"to": start + 1, **found}, "to", where, start + 1, T)
    result = {"source": source - 1, "from": start, "to": stop}
    if kind == "shift":
        if isinstance(found["delta"], bool) or not np.isfinite(float(found["delta"])):
            raise InputError(None, f"{where}.delta", repr(found["delta"]), "a finite number")
        result["delta"] = float(found["delta"])
        text = f"component {source} shifted by {result['delta']:+.3g}"
    else:
        result["regime"] = _whole(found, "regime", where, 1, C) - 1
        text = f"component {source} held in regime {found['regime']}"
    when = f"at step {start}" if stop == start + 1 else f"from step {start} to {stop - 1}"
    result["name"] = str(found.get("name") or f"{text} {when}")
    return result


def _whole(entry: Mapping[str, Any], key: str, where: str, low: int, high: int) -> int:
    value = entry.get(key)
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InputError(None, f"{where}.{key}", repr(value), f"a whole number {low} to {high}")
    if not low <= value <= high:
        raise InputError(None, f"{where}.{key}", f"{value}", f"a whole number {low} to {high}")
    return int(value)


def _groups(entries: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return the entries that act together by name; two may not hold one source at once."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for entry in entries:
        for other in groups.setdefault(entry["name"], []):
            both = "regime" in entry and "regime" in other and entry["source"] == other["source"]
            if both and entry["from"] < other["to"] and other["from"] < entry["to"]:
                raise InputError(
                    None,
                    f"{WHERE}, {entry['name']!r}",
                    f"two regimes for component {entry['source'] + 1} at once",
                    "one regime at a time",
                    "Give the entries names of their own, or other steps.",
                )
        groups[entry["name"]].append(entry)
    return groups


def _run(
    model: Model,
    data: CubeTensors,
    law: Law,
    entries: list[dict[str, Any]],
    draws: int,
    seed: int,
) -> tuple[np.ndarray, ...]:
    """Return baseline, perturbed, mean, q05 and q95 of the fold change, each (T, K)."""
    n, T, K = data.counts.shape
    start = min(e["from"] for e in entries)
    totals = np.full((2, T, K), np.nan)
    totals[:, start:] = 0
    mean = np.zeros((T, len(law.init)))
    change: list[list[np.ndarray]] = [[] for _ in range(T)]
    thin = -(-n * draws // MOST_PAIRS)
    for block, first in enumerate(range(0, n, BLOCK)):
        index = slice(first, min(first + BLOCK, n))
        own, part = data.part(index), law.part(index)
        state = None
        if start:
            state = next(origin_states(model, own, part, [start], draws, "particle", [seed, block]))
        one = two = state
        # the same numbers for both: their difference is the intervention's alone
        same, other = (np.random.default_rng([seed, block, 4]) for _ in range(2))
        base = _offset(own)[:, :, None] + part.shift[:, None]
        for t in range(start, T):
            size = (t, len(own.counts), draws)
            one = advance(part, one, *size, same)
            two = advance(part, two, *size, other, *_acting(entries, t, len(law.init)))
            totals[0, t] += _expected(part, one, base[:, t]) / n
            totals[1, t] += _expected(part, two, base[:, t]) / n
            moved = (two.source - one.source).reshape(-1, len(law.init))
            mean[t] += moved.mean(0) * len(own.counts) / n
            change[t].append(moved[::thin].astype(np.float32))
    summary = np.full((3, T, K), np.nan)
    for t in range(start, T):
        ratio = np.concatenate(change[t]).astype(np.float64) @ law.mixing.T / np.log(2)
        summary[0, t] = mean[t] @ law.mixing.T / np.log(2)
        summary[1:, t] = np.quantile(ratio, [0.05, 0.95], axis=0)
    return (*totals, *summary)


def _acting(entries: list[dict[str, Any]], t: int, d: int) -> tuple[dict[int, int], np.ndarray]:
    """Return the regimes that sources are held in at t, and the shift of each source."""
    now = [e for e in entries if e["from"] <= t < e["to"]]
    shift = np.zeros(d)
    for entry in now:
        shift[entry["source"]] += entry.get("delta", 0.0)
    return {e["source"]: e["regime"] for e in now if "regime" in e}, shift


def _expected(law: Law, state: Particles, base: np.ndarray) -> np.ndarray:
    """Return the sum over series of the mean rate over draws, (K,)."""
    eta = state.source @ law.mixing.T + base[:, None]
    return np.exp(np.minimum(eta, MAX_LOG_RATE)).mean(1).sum(0)


def _offset(data: CubeTensors) -> np.ndarray:
    """Return log exposure (n, T), at unobserved steps the log of the series' mean exposure."""
    seen = data.observed.numpy() > 0
    o = data.offset.numpy()
    total = np.where(seen, np.exp(o), 0).sum(1) / np.maximum(seen.sum(1), 1)
    fill = np.log(np.where(total > 0, total, 1.0))
    return np.where(seen, o, fill[:, None])
