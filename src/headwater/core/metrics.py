"""metrics.tsv, the table that every domain ends in, and intervals for what stands in it.

One number a row: ``dataset method setting seed split metric value ci_low ci_high n unit``.
A baseline's method starts with ``baseline:``; `setting` is ``key=value;key=value``; `split` is
the fold or part that was scored; `n` counts the independent units behind value and interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import InputError

if TYPE_CHECKING:
    import pandas as pd

METRIC_COLUMNS = (
    "dataset",
    "method",
    "setting",
    "seed",
    "split",
    "metric",
    "value",
    "ci_low",
    "ci_high",
    "n",
    "unit",
)
KEY = ["dataset", "method", "setting", "seed", "split", "metric"]
LEVEL = 0.95


def setting(values: Mapping[str, Any]) -> str:
    """Return ``key=value;key=value`` in the order of the keys."""
    return ";".join(f"{k}={values[k]}" for k in sorted(values))


def metric_table(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return rows as a table with all columns; absent ones are empty."""
    import pandas as pd

    return pd.DataFrame(list(rows), columns=list(METRIC_COLUMNS))


def collect(tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Return several tables as one, sorted and checked."""
    import pandas as pd

    parts = [t for t in tables if len(t)]
    table = pd.concat(parts, ignore_index=True) if parts else metric_table([])
    check_metrics(table)
    filled = table.fillna({"setting": "", "seed": "", "split": "", "unit": ""})
    return filled.astype({"seed": str}).sort_values(KEY, kind="stable", ignore_index=True)


def check_metrics(table: pd.DataFrame, name: str = "metrics") -> None:
    """Raise an `InputError` where a table is not what metrics.tsv must be."""
    missing = [c for c in METRIC_COLUMNS if c not in table.columns]
    if missing:
        raise InputError(name, "header", f"no column {missing[0]!r}", ", ".join(METRIC_COLUMNS))
    for column in ("dataset", "method", "metric"):
        empty = table[column].isna() | (table[column].astype(str) == "")
        if empty.any():
            row = int(np.flatnonzero(empty)[0]) + 2
            raise InputError(name, f"row {row}, column {column}", "nothing", "a name")
    again = table.fillna({"setting": "", "seed": "", "split": ""}).duplicated(KEY)
    if again.any():
        row = int(np.flatnonzero(again)[0])
        found = "/".join(str(v) for v in table.loc[table.index[row], KEY])
        raise InputError(name, f"row {row + 2}", f"{found} a second time", "each number once")
    low, high = table["ci_low"].astype(float), table["ci_high"].astype(float)
    bad = low > high
    if bad.any():
        row = int(np.flatnonzero(bad)[0]) + 2
        raise InputError(name, f"row {row}", "ci_low above ci_high", "an interval")


def bootstrap_interval(
    units: np.ndarray,
    seed: int,
    statistic: Callable[[np.ndarray], float] | None = None,
    draws: int = 2000,
    level: float = LEVEL,
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of a statistic over independent units.

    Parameters
    ----------
    units : (n, ...)
        One entry per independent unit (series, subject, section), never per observation.
    statistic : callable, optional
        Of resampled units; the mean over units by default.

    Returns
    -------
    (low, high)
        NaN for fewer than 3 units: an interval from two would be an invention.
    """
    units = np.asarray(units, dtype=float)
    if len(units) < 3:
        return float("nan"), float("nan")
    rng = np.random.default_rng(seed)
    index = rng.integers(0, len(units), size=(draws, len(units)))
    if statistic is None:
        values = units[index].mean(1)
    else:
        values = np.array([statistic(units[i]) for i in index])
    low, high = np.nanquantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def t_interval(values: np.ndarray, level: float = LEVEL) -> tuple[float, float]:
    """Return Student's interval of a mean; NaN for fewer than 2 values."""
    from scipy import stats

    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        return float("nan"), float("nan")
    half = stats.t.ppf((1 + level) / 2, len(values) - 1) * stats.sem(values)
    return float(values.mean() - half), float(values.mean() + half)


def wilson_interval(successes: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Return Wilson's score interval of a proportion; (0, 1) when nothing was tried."""
    from scipy import stats

    if n == 0:
        return 0.0, 1.0
    z = stats.norm.ppf((1 + level) / 2)
    p, z2 = successes / n, z**2
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = z / (1 + z2 / n) * np.sqrt(p * (1 - p) / n + z2 / (4 * n**2))
    return float(max(0.0, centre - half)), float(min(1.0, centre + half))


def paired_test(ours: np.ndarray, theirs: np.ndarray) -> dict[str, float]:
    """Compare two methods on the same units: Wilcoxon signed rank, two-sided.

    Returns
    -------
    dict
        n, median_difference (ours - theirs), p (1 where nothing differs) and
        rank_biserial, the effect size in [-1, 1]: share of rank sums for less against.
    """
    from scipy import stats

    difference = np.asarray(ours, dtype=float) - np.asarray(theirs, dtype=float)
    moved = difference[difference != 0]
    if not len(moved):
        return {"n": len(difference), "median_difference": 0.0, "p": 1.0, "rank_biserial": 0.0}
    ranks = stats.rankdata(np.abs(moved))
    up, down = ranks[moved > 0].sum(), ranks[moved < 0].sum()
    return {
        "n": len(difference),
        "median_difference": float(np.median(difference)),
        "p": float(stats.wilcoxon(moved).pvalue),
        "rank_biserial": float((up - down) / (up + down)),
    }
