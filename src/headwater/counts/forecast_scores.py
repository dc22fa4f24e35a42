"""Scores of forecasts, entry by entry and averaged over steps.

Two averages: `horizon`, over the steps from the origin on, and `paper_protocol`, over all steps
with the truth in the place of the forecast before the origin - as the paper's code does, which
makes every score look better the later the origin.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

PARTS = ("horizon", "paper_protocol")
LEAST = 1e-8  # of an expectation
PSEUDO = 0.5
LEVEL = 0.9
QUANTILES = ("q05", "q95")


def deviance(y: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Return the Poisson deviance 2 [y log(y / m) - (y - m)] of every entry; m >= 1e-8."""
    m = np.maximum(mean, LEAST)
    safe = np.where(y > 0, y, 1.0)
    return 2 * (np.where(y > 0, y * np.log(safe / m), 0.0) - (y - m))


def absolute_log1p(y: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Return |log(1 + y) - log(1 + m)| of every entry."""
    return np.abs(np.log1p(y) - np.log1p(np.maximum(mean, LEAST)))


def aitchison(y: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Return ||clr(y + 0.5) - clr(m + 0.5)|| over the last axis."""
    ratio = np.log(y + PSEUDO) - np.log(np.maximum(mean, LEAST) + PSEUDO)
    return np.linalg.norm(ratio - ratio.mean(-1, keepdims=True), axis=-1)


def interval_score(y: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the interval score of the central 90% (Gneiting and Raftery 2007), in counts."""
    miss = np.maximum(low - y, 0) + np.maximum(y - high, 0)
    return (high - low) + 2 / (1 - LEVEL) * miss


def crps(y: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Return E|X - y| - E|X - X'| / 2 with draws along axis 0, in counts.

    The second term is the mean over all pairs of draws (Gneiting and Raftery 2007, eq. 21),
    from sorted draws instead of pairs.
    """
    number = len(draws)
    rank = (2 * np.arange(1, number + 1) - number - 1).reshape(-1, *[1] * y.ndim)
    spread = (rank * np.sort(draws, axis=0)).sum(0) / number**2
    return np.abs(draws - y).mean(0) - spread


def truth_of(cube: xr.Dataset) -> np.ndarray:
    """Return observed counts, NaN elsewhere, (n, T, K)."""
    counts = cube["counts"].transpose("series", "step", "feature").values.astype(float)
    seen = cube["observed"].transpose("series", "step").values == 1
    return np.where(seen[..., None], counts, np.nan)


def series_scores(cube: xr.Dataset, forecast: xr.Dataset, t0: int) -> dict[str, np.ndarray]:
    """Return the scores of a forecast from `t0` by series, each (n,).

    Parameters
    ----------
    cube, forecast : Dataset
        The same series, steps and features in the same order; of `forecast` the variables mean
        and, if there, q05, q95 and draws.

    Returns
    -------
    dict
        ``deviance``, ``mae_log1p``, ``aitchison`` (means over the horizon), the same with
        ``_all`` at the end by the paper's protocol, ``coverage90``, ``interval_score90``,
        ``crps`` where the forecast allows, and ``steps``, the number of steps scored.
        NaN for a series with no observed step from t0 on, or about which the forecast says
        nothing at all (no exposure to carry on).

    Raises
    ------
    ValueError
        If the forecast says nothing about some of a series' observed steps.
    """
    y = truth_of(cube)
    mean = forecast["mean"].transpose("series", "step", "feature").values
    late = np.arange(y.shape[1]) >= t0
    seen = ~np.isnan(y[..., 0])
    said = ~np.isnan(mean).any(-1)
    scored = seen & late & said
    if (scored != (seen & late))[scored.any(1)].any():
        raise ValueError("the forecast has holes where counts were observed")
    number = scored.sum(1)
    steps = {
        "deviance": deviance(y, mean).mean(-1),
        "mae_log1p": absolute_log1p(y, mean).mean(-1),
        "aitchison": aitchison(y, mean),
    }
    wide = dict(steps)
    if "q05" in forecast and "q95" in forecast:
        low, high = (forecast[q].transpose("series", "step", "feature").values for q in QUANTILES)
        wide["coverage90"] = ((low <= y) & (y <= high)).mean(-1)
        wide["interval_score90"] = interval_score(y, low, high).mean(-1)
    if "draws" in forecast:
        draws = forecast["draws"].transpose("draw", "series", "step", "feature").values
        wide["crps"] = crps(y, draws).mean(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        result = {k: np.where(scored, v, 0).sum(1) / number for k, v in wide.items()}
        whole = seen.sum(1)
        result |= {f"{k}_all": np.where(scored, v, 0).sum(1) / whole for k, v in steps.items()}
    empty = number == 0
    return {k: np.where(empty, np.nan, v) for k, v in result.items()} | {"steps": number}
