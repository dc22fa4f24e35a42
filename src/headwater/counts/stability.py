"""Agreement of repeated fits, component by component.

Fits are compared by matched |cosine| of their mixing columns. The medoid is the fit that agrees
most with all others; it is the one shown, and the reference by which components are counted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr

from headwater.core.metrics import NO_INTERVAL, metric_frame, metric_row, t_interval

from .agreement import matched
from .matching import match


def compare(
    posteriors: Sequence[xr.Dataset], dataset: str
) -> tuple[pd.DataFrame, pd.DataFrame, int]:
    """Compare fits of one cube.

    Parameters
    ----------
    posteriors : sequence of Dataset
        ``mixing`` (feature, source) of each.
    dataset : str

    Returns
    -------
    table : DataFrame
        one, other (numbers of fits), component (of the first one, counted from 1), cosine;
        both directions of every pair.
    scores : DataFrame
        Rows of metrics.tsv: mixing_stability, the mean matched |cos| over pairs of fits, and
        mixing_stability_1.._d of the medoid's components with the other fits. Intervals are
        Student's over the other fits; pairs that share a fit are not independent, so the mean
        over all pairs has none.
    medoid : int
    """
    mixings = [p["mixing"].transpose("feature", "source").values for p in posteriors]
    n = len(mixings)
    rows = [
        (i, j, k, float(value))
        for i in range(n)
        for j in range(n)
        if i != j
        for k, value in enumerate(matched(mixings[i], mixings[j])[2], 1)
    ]
    table = pd.DataFrame(rows, columns=["one", "other", "component", "cosine"])
    matrix = similarity(table, n)
    medoid = most_central(matrix)
    return table, _scores(table, matrix, medoid, posteriors[medoid], dataset), medoid


def similarity(table: pd.DataFrame, n: int | None = None) -> pd.DataFrame:
    """Return the mean matched |cos| of every two fits, square; names ``seed0``, ``seed1``, ..."""
    size = n or (int(table["one"].max()) + 1 if len(table) else 1)
    matrix = np.eye(size)
    for (i, j), part in table.groupby(["one", "other"]):
        matrix[i, j] = part["cosine"].mean()
    names = [f"seed{i}" for i in range(size)]
    return pd.DataFrame(matrix, index=names, columns=names)


def most_central(matrix: pd.DataFrame) -> int:
    """Return the number of the fit with the highest mean similarity; the first of equals."""
    # rounded, so that two fits that agree equally but for the last bit do not swap
    return int(np.argmax(matrix.to_numpy().mean(1).round(12)))


def loading_spread(posteriors: Sequence[xr.Dataset], medoid: int) -> xr.DataArray:
    """Return the standard deviation of every loading over matched fits, (feature, source).

    Components in the order and with the signs of the medoid; 0 with one fit. All fits must have
    as many sources.
    """
    reference = posteriors[medoid]["mixing"].transpose("feature", "source")
    found = []
    for posterior in posteriors:
        mixing = posterior["mixing"].transpose("feature", "source").values
        order, signs, _ = match(reference.values, mixing)
        found.append(mixing[:, order] * signs)
    return reference.copy(data=np.std(found, axis=0, ddof=1 if len(found) > 1 else 0))


def _scores(
    table: pd.DataFrame, matrix: pd.DataFrame, medoid: int, fit: xr.Dataset, dataset: str
) -> pd.DataFrame:
    if table.empty:
        return metric_frame([])
    setting = {k: fit.sizes[v] for k, v in (("d", "source"), ("C", "regime")) if v in fit.sizes}
    n = len(matrix)
    values = matrix.to_numpy()[~np.eye(n, dtype=bool)]
    shared = {"setting": setting, "split": "fits"}
    rows = [metric_row(dataset, "plnica", "mixing_stability", values.mean(), n=n, **shared)]
    for component, part in table[table["one"] == medoid].groupby("component"):
        cosines = part["cosine"].to_numpy()
        interval = t_interval(cosines) if len(cosines) > 2 else NO_INTERVAL
        if np.isfinite(interval.high):
            interval = type(interval)(max(0.0, interval.low), min(1.0, interval.high))
        metric = f"mixing_stability_{component}"
        extra = {"interval": interval, "n": len(cosines)}
        rows.append(metric_row(dataset, "plnica", metric, cosines.mean(), **extra, **shared))
    return metric_frame(rows)
