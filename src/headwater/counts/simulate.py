"""Cubes with known truth: the generative law (parameters.py) in numpy, all series at once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import xarray as xr
import yaml

from headwater.core.errors import InputError

FIELDS = (
    "mixing",
    "effects",
    "regime_init",
    "regime_transition",
    "init_mean",
    "init_var",
    "ar_coef",
    "ar_bias",
    "ar_var",
)
TRUTH = {  # variable of the cube -> its dimensions
    "mixing": ("feature", "source"),
    "regime_init": ("source", "regime"),
    "regime_transition": ("source", "regime", "next_regime"),
    "init_mean": ("source", "regime"),
    "init_var": ("source", "regime"),
    "ar_coef": ("source", "regime"),
    "ar_bias": ("source", "regime"),
    "ar_var": ("source", "regime"),
}
MAX_LOG_RATE = 40.0  # a Poisson mean above exp(40) overflows the sampler's integers
MAX_COUNT = np.iinfo(np.int32).max


@cache
def _scenarios() -> dict[str, Any]:
    text = files("headwater.counts").joinpath("scenarios.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text)


SCENARIOS: dict[str, str] = {name: spec["title"] for name, spec in _scenarios().items()}


def scenario(name: str) -> tuple[dict[str, np.ndarray], int, int, float]:
    """Return parameters, n, T and log offset of a named scenario.

    Raises
    ------
    InputError
        If there is no scenario of that name.
    """
    known = _scenarios()
    if name not in known:
        raise InputError(
            None, "counts.simulation", repr(name), "one of " + ", ".join(known), "Correct the name."
        )
    spec = known[name]
    p = {k: np.array(spec[k], dtype=np.float64) for k in FIELDS if k in spec}
    p["mixing"] /= np.linalg.norm(p["mixing"], axis=0)
    return p, spec["n"], spec["T"], spec["log_offset"]


def simulate_scenario(name: str, seed: int) -> xr.Dataset:
    """Return a cube of a named scenario; truth variables as in `simulate`.

    Raises
    ------
    InputError
        If there is no scenario of that name.
    """
    parameters, n, steps, log_offset = scenario(name)
    cube = simulate(parameters, n, steps, seed, log_offset=log_offset)
    cube.attrs.update(title=f"Simulation {name}: {SCENARIOS[name]}", scenario=name)
    return cube


def simulate(
    parameters: Any,
    n: int,
    T: int,
    seed: int,
    *,
    log_offset: float | np.ndarray = 0.0,
    covariates: np.ndarray | None = None,
    missing: float = 0.0,
) -> xr.Dataset:
    """Draw a cube from the model.

    Parameters
    ----------
    parameters : mapping of str to array, or Parameters
        The fields of `parameters.Parameters`; ``effects`` (K, Q) may be left out.
    n, T : int
        Series and steps.
    seed : int
        Same seed, same cube.
    log_offset : float or (n, T) array
        o = log exposure, nat.
    covariates : (n, Q) array, optional
        c; with effects of Q + 1 columns the first one is an intercept.
    missing : float
        Share of (series, step) pairs that are marked as unobserved, independently.

    Returns
    -------
    xarray.Dataset
        A cube with ``true_sources`` (series, step, source; nat),
        ``true_regimes`` of that shape, ``true_mixing`` and one ``true_*`` variable for every
        other parameter.

    Raises
    ------
    InputError
        If shapes disagree or a log rate is above 40 (exp overflows).
    """
    p = _arrays(parameters)
    rng = np.random.default_rng(seed)
    regimes, sources = sample_sources(p, n, T, rng)
    offset = np.broadcast_to(np.asarray(log_offset, dtype=np.float64), (n, T))
    shift = _covariate_shift(p, covariates, n)
    counts = _poisson(sources @ p["mixing"].T + offset[..., None] + shift[:, None], rng)
    observed = rng.random((n, T)) >= missing
    cube = _cube(counts, observed, np.exp(offset), np.ptp(offset) == 0, covariates)
    cube["true_sources"] = ("series", "step", "source"), sources
    cube["true_regimes"] = ("series", "step", "source"), regimes.astype(np.int8)
    for name, dims in TRUTH.items():
        cube["true_" + name] = dims, p[name]
    if p["effects"].shape[1]:
        cube["true_effects"] = ("feature", "effect"), p["effects"]
    cube.attrs["seed"] = seed
    return cube


def sample_sources(
    p: Mapping[str, np.ndarray], n: int, T: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return regimes and sources, each (n, T, d), drawn from the generative law."""
    d, _ = p["regime_init"].shape
    index = np.arange(d)
    start = p["regime_init"].cumsum(-1)
    kernel = p["regime_transition"].cumsum(-1)
    u = rng.random((T, n, d, 1))
    z = rng.standard_normal((T, n, d))
    regimes = np.empty((n, T, d), dtype=np.int64)
    sources = np.empty((n, T, d))
    # the last boundary is left out: rounding below 1 must not give a regime that is not there
    c = (u[0] > start[:, :-1]).sum(-1)
    s = p["init_mean"][index, c] + np.sqrt(p["init_var"][index, c]) * z[0]
    regimes[:, 0], sources[:, 0] = c, s
    for t in range(1, T):
        c = (u[t] > kernel[index, c][..., :-1]).sum(-1)
        noise = np.sqrt(p["ar_var"][index, c]) * z[t]
        s = p["ar_coef"][index, c] * s + p["ar_bias"][index, c] + noise
        regimes[:, t], sources[:, t] = c, s
    return regimes, sources


def random_design(n: int, T: int, K: int, d: int, C: int, seed: int) -> xr.Dataset:
    """Return a cube of any size with random parameters, for load and benchmarks.

    Mixing columns are uniform on the sphere, sources stationary with |a| <= 0.9 and regimes
    one to two nat apart; mean counts are of the order of ten.

    Raises
    ------
    InputError
        If a size is below 1 or d > K.
    """
    if min(n, T, K, d, C) < 1 or d > K:
        found = f"n={n}, T={T}, K={K}, d={d}, C={C}"
        raise InputError(None, "random design", found, "sizes of at least 1, d <= K", "")
    return simulate(random_parameters(K, d, C, seed), n, T, seed, log_offset=2.0)


def random_parameters(K: int, d: int, C: int, seed: int) -> dict[str, np.ndarray]:
    """Return the parameters of `random_design`."""
    rng = np.random.default_rng([seed, K, d, C])
    mixing = rng.standard_normal((K, d))
    mixing /= np.linalg.norm(mixing, axis=0)
    a = rng.uniform(-0.5, 0.9, (d, C))
    level = np.sort(rng.uniform(1.0, 2.0, (d, C)), 1).cumsum(1)
    level -= level.mean(1, keepdims=True)
    stationary = rng.uniform(0.2, 0.6, (d, C))
    stay = 0.92 if C > 1 else 1.0
    kernel = np.full((C, C), (1 - stay) / max(C - 1, 1))
    np.fill_diagonal(kernel, stay)
    return {
        "mixing": mixing,
        "regime_init": np.full((d, C), 1 / C),
        "regime_transition": np.broadcast_to(kernel, (d, C, C)).copy(),
        "init_mean": level,
        "init_var": stationary,
        "ar_coef": a,
        "ar_bias": level * (1 - a),
        "ar_var": stationary * (1 - a**2),
    }


def _arrays(parameters: Any) -> dict[str, np.ndarray]:
    given = parameters if isinstance(parameters, Mapping) else parameters.state()
    p = {k: np.asarray(v, dtype=np.float64) for k, v in given.items()}
    missing = [k for k in FIELDS if k not in p and k != "effects"]
    if missing:
        raise InputError(None, "parameters", f"no {', '.join(missing)}", "all of them", "")
    K, d = p["mixing"].shape
    p.setdefault("effects", np.zeros((K, 0)))
    C = p["regime_init"].shape[-1]
    for name in FIELDS[2:]:
        shape = (d, C, C) if name == "regime_transition" else (d, C)
        if p[name].shape != shape:
            raise InputError(None, f"parameter {name}", f"shape {p[name].shape}", f"{shape}", "")
    return p


def _covariate_shift(
    p: Mapping[str, np.ndarray], covariates: np.ndarray | None, n: int
) -> np.ndarray:
    """Return M c, (n, K)."""
    Q = p["effects"].shape[1]
    c = np.zeros((n, 0)) if covariates is None else np.asarray(covariates, dtype=np.float64)
    if c.shape[0] != n or Q - c.shape[1] not in (0, 1):
        raise InputError(
            None,
            "covariates",
            f"shape {c.shape} beside effects of {Q} columns",
            f"{n} rows and {Q} columns, or one less with an intercept",
            "",
        )
    if c.shape[1] + 1 == Q:
        c = np.concatenate([np.ones((n, 1)), c], 1)
    return c @ p["effects"].T


def _poisson(log_rate: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if log_rate.size and log_rate.max() > MAX_LOG_RATE:
        raise InputError(
            None,
            "simulation",
            f"a log rate of {log_rate.max():.1f}",
            f"at most {MAX_LOG_RATE:g}",
            "Lower the offset, the effects or the source variances.",
        )
    counts = rng.poisson(np.exp(log_rate))
    if counts.size and counts.max() > MAX_COUNT:
        raise InputError(
            None,
            "simulation",
            f"a count of {counts.max()}",
            f"at most {MAX_COUNT}",
            "Lower the offset, the effects or the source variances.",
        )
    return counts.astype(np.int32)


def _cube(
    counts: np.ndarray,
    observed: np.ndarray,
    exposure: np.ndarray,
    constant: bool,
    covariates: np.ndarray | None,
) -> xr.Dataset:
    n, T, K = counts.shape
    wide = len(str(max(n, K) - 1))
    cube = xr.Dataset(
        {
            "counts": (
                ("series", "step", "feature"),
                np.where(observed[..., None], counts, -1).astype(np.int32),
            ),
            "observed": (("series", "step"), observed.astype(np.int8)),
            "time": (
                ("series", "step"),
                np.tile(np.arange(T, dtype=np.float64), (n, 1)),
                {"units": "step"},
            ),
            "exposure": (("series", "step"), np.where(observed, exposure, np.nan)),
        },
        coords={
            "series": [f"s{j:0{wide}d}" for j in range(n)],
            "step": np.arange(T, dtype=np.int32),
            "feature": [f"f{k:0{wide}d}" for k in range(K)],
        },
        attrs={
            "title": "Simulation from the model",
            "source": "headwater.counts.simulate",
            "licence": "CC0-1.0",
            "time_units": "step",
            "exposure_kind": "constant" if constant else "library",
            "headwater_sha256": "",
        },
    )
    if covariates is not None:
        cube["covariates"] = ("series", "covariate"), np.asarray(covariates, dtype=np.float64)
        cube["covariate"] = [f"c{q}" for q in range(cube.sizes["covariate"])]
    return cube


def stationary_moments(p: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance (d,) of each source in the long run; NaN where there is none.

    With q the stationary law of A, f_c = E[s 1(u=c)] and g_c = E[s^2 1(u=c)] solve

        f = a (A'f) + b q,    g = a^2 (A'g) + 2 a b (A'f) + (b^2 + v) q.
    """
    d, C = p["ar_coef"].shape
    mean, var = np.full(d, np.nan), np.full(d, np.nan)
    for i in range(d):
        A, a, b, v = (p[k][i] for k in ("regime_transition", "ar_coef", "ar_bias", "ar_var"))
        square = a[:, None] ** 2 * A.T
        if np.abs(np.linalg.eigvals(square)).max() >= 1 - 1e-9:
            continue  # the variance grows without limit
        system = np.concatenate([np.eye(C) - A.T, np.ones((1, C))])
        q = np.linalg.lstsq(system, np.r_[np.zeros(C), 1.0], rcond=None)[0]
        f = np.linalg.solve(np.eye(C) - a[:, None] * A.T, b * q)
        g = np.linalg.solve(np.eye(C) - square, 2 * a * b * (A.T @ f) + (b**2 + v) * q)
        mean[i], var[i] = f.sum(), g.sum() - f.sum() ** 2
    return mean, var
