"""Draw cubes from the generative law of counts.md §2, with the truth beside the counts.

numpy only. `scenarios.yaml` holds the named designs; `random_design` makes one of any size,
for scaling measurements.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import numpy as np
import xarray as xr
import yaml

from headwater.core.config import nearest
from headwater.core.errors import InputError

LOG_RATE_LIMIT = 18.0  # a count beyond exp(18) would not fit into 32 bits with room to spare


def scenarios() -> dict[str, dict[str, Any]]:
    """Return the named designs."""
    text = files(__package__).joinpath("scenarios.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text)


def simulate_scenario(
    name: str, seed: int, series: int | None = None, steps: int | None = None
) -> xr.Dataset:
    """Return a fresh draw of a named design, with another number of series or steps if given.

    Raises
    ------
    InputError
        For an unknown name.
    """
    known = scenarios()
    if name not in known:
        raise InputError(
            None, "counts.simulation", repr(name), "a scenario", nearest(name, sorted(known))
        )
    design = dict(known[name])
    design["series"] = series or design["series"]
    design["steps"] = steps or design["steps"]
    cube = simulate(design, seed)
    return cube.assign_attrs(title=f"Simulated: {name}", scenario=name)


def simulate(design: Mapping[str, Any], seed: int) -> xr.Dataset:
    """Return one draw of a design as a cube with truth variables.

    Parameters
    ----------
    design : mapping
        series, steps, log_offset (nat), mixing (K, d; columns are scaled to unit norm),
        ar_coef, ar_bias, ar_var, init_mean, init_var (d, C), regime_transition (C, C); the
        regime chains start in their stationary law.
    seed : int
    """
    rng = np.random.default_rng(seed)
    mixing = np.asarray(design["mixing"], dtype=float)
    mixing = mixing / np.linalg.norm(mixing, axis=0)
    regimes = _regimes(rng, design)
    sources = _sources(rng, design, regimes)
    offset = float(design["log_offset"])
    log_rate = sources @ mixing.T + offset
    counts = rng.poisson(np.exp(np.minimum(log_rate, LOG_RATE_LIMIT)))
    return _cube(design, counts.astype(np.int32), sources, regimes, mixing, offset, seed)


def random_design(n: int, T: int, K: int, d: int, C: int, seed: int) -> dict[str, Any]:  # noqa: N803
    """Return a design of any size with well-separated regimes."""
    rng = np.random.default_rng(seed)
    level = np.linspace(-1.0, 1.0, C) if C > 1 else np.zeros(1)
    coef = rng.uniform(0.2, 0.8, size=(d, C))
    mean = level * rng.uniform(0.8, 1.4, size=(d, 1))
    var = np.full((d, C), 0.1)
    stay = np.full((C, C), 0.1 / max(C - 1, 1))
    np.fill_diagonal(stay, 0.9 if C > 1 else 1.0)
    return {
        "series": n,
        "steps": T,
        "log_offset": 2.0,
        "mixing": rng.normal(size=(K, d)),
        "ar_coef": coef,
        "ar_bias": mean * (1 - coef),
        "ar_var": var,
        "init_mean": mean,
        "init_var": var / (1 - coef**2),
        "regime_transition": stay,
    }


def _regimes(rng: np.random.Generator, design: Mapping[str, Any]) -> np.ndarray:
    """Return regime paths (n, T, d)."""
    matrix = np.asarray(design["regime_transition"], dtype=float)
    d, states = np.asarray(design["ar_coef"]).shape
    n, steps = int(design["series"]), int(design["steps"])
    paths = np.zeros((n, steps, d), dtype=np.int8)
    if states == 1:
        return paths
    cumulative = matrix.cumsum(1)
    uniform = rng.random((n, steps, d))
    paths[:, 0] = (uniform[:, 0, :, None] > stationary(matrix).cumsum()[:-1]).sum(-1)
    for t in range(1, steps):
        paths[:, t] = (uniform[:, t, :, None] > cumulative[paths[:, t - 1], :-1]).sum(-1)
    return paths


def stationary(matrix: np.ndarray) -> np.ndarray:
    """Return the stationary law of a row-stochastic matrix."""
    states = len(matrix)
    system = np.vstack([matrix.T - np.eye(states), np.ones(states)])
    return np.linalg.lstsq(system, np.r_[np.zeros(states), 1.0], rcond=None)[0]


def _sources(
    rng: np.random.Generator, design: Mapping[str, Any], regimes: np.ndarray
) -> np.ndarray:
    """Return source paths (n, T, d), nat."""
    law = {
        k: np.asarray(design[k], dtype=float)
        for k in ("ar_coef", "ar_bias", "ar_var", "init_mean", "init_var")
    }
    index = np.arange(regimes.shape[-1])
    noise = rng.normal(size=regimes.shape)
    sources = np.empty(regimes.shape)
    now = regimes[:, 0]
    sources[:, 0] = (
        law["init_mean"][index, now] + np.sqrt(law["init_var"][index, now]) * noise[:, 0]
    )
    for t in range(1, regimes.shape[1]):
        now = regimes[:, t]
        sources[:, t] = (
            law["ar_coef"][index, now] * sources[:, t - 1]
            + law["ar_bias"][index, now]
            + np.sqrt(law["ar_var"][index, now]) * noise[:, t]
        )
    return sources


def _cube(
    design: Mapping[str, Any],
    counts: np.ndarray,
    sources: np.ndarray,
    regimes: np.ndarray,
    mixing: np.ndarray,
    offset: float,
    seed: int,
) -> xr.Dataset:
    n, steps, features = counts.shape
    width = len(str(n - 1))
    step = np.arange(steps, dtype=np.int32)
    variables = {
        "counts": (("series", "step", "feature"), counts),
        "observed": (("series", "step"), np.ones((n, steps), dtype=np.int8)),
        "time": (("series", "step"), np.tile(step.astype(float), (n, 1)), {"units": "steps"}),
        "exposure": (("series", "step"), np.full((n, steps), np.exp(offset))),
        "true_mixing": (("feature", "source"), mixing),
        "true_sources": (("series", "step", "source"), sources),
        "true_regimes": (("series", "step", "source"), regimes),
        **{
            f"true_{k}": (("source", "regime"), np.asarray(design[k], dtype=float))
            for k in ("ar_coef", "ar_bias", "ar_var")
        },
    }
    return xr.Dataset(
        variables,
        coords={
            "series": [f"series{j:0{width}d}" for j in range(n)],
            "step": step,
            "feature": [f"feature{k:02d}" for k in range(features)],
        },
        attrs={
            "title": "Simulated counts",
            "source": "headwater.counts.simulate",
            "licence": "CC0-1.0",
            "time_units": "steps",
            "exposure_kind": "constant",
            "seed": seed,
        },
    )
