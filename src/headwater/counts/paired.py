"""Is a difference between forecasters more than chance? The same held-out series, in pairs."""

from __future__ import annotations

import numpy as np
import pandas as pd

from headwater.core.metrics import paired_test

METRICS = ("deviance", "mae_log1p", "aitchison")
COLUMNS = ("metric", "other", "n", "median_difference", "p_value", "p_holm", "effect")


def paired_tests(detail: pd.DataFrame, method: str, metric: str = "deviance") -> pd.DataFrame:
    """Compare a method with every other on the same series (Wilcoxon, two-sided).

    Parameters
    ----------
    detail : DataFrame
        Of `scores.score_forecasts`; a series' score is its mean over origins.
    method : str
        As it stands in `detail`.

    Returns
    -------
    DataFrame
        other, n (series that differ), median_difference (method - other), p_value, p_holm
        (adjusted for the number of others by Holm 1979), effect (rank-biserial; negative where
        `method` is lower). Series without a score of either are left out.
    """
    wide = detail.pivot_table(index="series", columns="method", values=metric)
    rows = []
    for other in (c for c in wide.columns if c != method):
        pair = wide[[method, other]].dropna()
        test = paired_test(pair[method], pair[other])
        rows.append((other, test.n, test.median_difference, test.p_value, test.effect))
    table = pd.DataFrame(rows, columns=["other", "n", "median_difference", "p_value", "effect"])
    table.insert(4, "p_holm", holm(table["p_value"].to_numpy(float)))
    return table


def forecast_tests(detail: pd.DataFrame, method: str) -> pd.DataFrame:
    """Return `paired_tests` of every measure of the head tables, after the origin only."""
    parts = [paired_tests(detail, method, metric).assign(metric=metric) for metric in METRICS]
    return pd.concat(parts, ignore_index=True)[list(COLUMNS)]


def holm(p: np.ndarray) -> np.ndarray:
    """Return p values adjusted for their number (Holm 1979)."""
    order = np.argsort(p)
    steps = np.maximum.accumulate((len(p) - np.arange(len(p))) * p[order])
    result = np.empty(len(p))
    result[order] = np.minimum(steps, 1.0)
    return result
