"""metrics.tsv, the one long table of scores, and the intervals and tests that stand in it.

One number a row: ``dataset method setting seed split metric value ci_low ci_high n unit``.
Methods of comparison start with ``baseline:``, chance starts with ``null``; `setting` is
``key=value;key=value``; `split` is the fold or part that was scored; `n` is the number of
independent units behind the interval, which may be missing as may be the interval.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
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
TEXT = ("dataset", "method", "setting", "split", "metric", "unit")
REQUIRED = ("dataset", "method", "metric")
KEYS = ("dataset", "method", "setting", "seed", "split", "metric")
SMALL = 10  # units; below, the mean's interval is Student's and not a bootstrap
BATCH = 100  # resamples in memory at once


class Interval(NamedTuple):
    """Lower and upper end; NaN where undefined."""

    low: float
    high: float


NO_INTERVAL = Interval(float("nan"), float("nan"))


class PairedTest(NamedTuple):
    """Wilcoxon's signed-rank test of a - b.

    `effect` is the matched-pairs rank-biserial correlation (W+ - W-) / (W+ + W-) in [-1, 1];
    positive where a is larger. `n` counts the pairs that differ.
    """

    n: int
    median_difference: float
    statistic: float
    p_value: float
    effect: float


# ------------------------------------------------------------------------------- the table


def setting_text(setting: Mapping[str, Any]) -> str:
    """Return ``key=value;key=value`` in the order given.

    Raises
    ------
    ValueError
        If a key or value holds ``;`` or ``=``.
    """
    parts = []
    for key, value in setting.items():
        if any(mark in f"{key}{value}" for mark in ";=\t\n"):
            raise ValueError(f"setting {key!r}: {value!r} holds one of ; = tab newline")
        parts.append(f"{key}={value}")
    return ";".join(parts)


def parse_setting(text: str) -> dict[str, str]:
    """Return the pairs of a `setting`."""
    pairs = (part.partition("=") for part in text.split(";") if part)
    return {key: value for key, _, value in pairs}


def metric_row(
    dataset: str,
    method: str,
    metric: str,
    value: float,
    *,
    setting: Mapping[str, Any] | None = None,
    seed: int | None = None,
    split: str = "",
    interval: tuple[float, float] = NO_INTERVAL,
    n: int | None = None,
    unit: str = "",
) -> dict[str, Any]:
    """Return one row of metrics.tsv."""
    return {
        "dataset": dataset,
        "method": method,
        "setting": setting_text(setting or {}),
        "seed": seed,
        "split": split,
        "metric": metric,
        "value": float(value),
        "ci_low": float(interval[0]),
        "ci_high": float(interval[1]),
        "n": n,
        "unit": unit,
    }


def metric_frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return rows as a checked table; with no row, an empty table of the same columns."""
    import pandas as pd

    return check_metrics(pd.DataFrame(list(rows), columns=list(METRIC_COLUMNS)))


def collect(tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Return all tables as one, checked again as a whole.

    Raises
    ------
    InputError
        As `check_metrics`.
    """
    import pandas as pd

    checked = [check_metrics(table) for table in tables]
    full = [table for table in checked if len(table)]
    return check_metrics(pd.concat(full, ignore_index=True)) if full else metric_frame([])


def check_metrics(table: pd.DataFrame, file: str | Path | None = None) -> pd.DataFrame:
    """Return a table of scores with the columns and types of metrics.tsv.

    Parameters
    ----------
    table : DataFrame
        As written, or as read back from text.
    file : path, optional
        Named in errors.

    Raises
    ------
    InputError
        If columns are missing or unknown, a name is empty, a number is none, an interval is
        upside down, or two rows say the same thing.
    """
    import pandas as pd

    unknown = sorted(set(table.columns) ^ set(METRIC_COLUMNS))
    if unknown:
        raise InputError(
            file,
            "header",
            f"missing or unknown columns {', '.join(map(repr, unknown))}",
            " ".join(METRIC_COLUMNS),
        )
    result = table[list(METRIC_COLUMNS)].reset_index(drop=True).copy()
    for name in TEXT:
        result[name] = result[name].astype(object).where(result[name].notna(), "").astype(str)
    for name in ("value", "ci_low", "ci_high", "seed", "n"):
        number = pd.to_numeric(result[name], errors="coerce").astype(float)
        bad = result[name].notna() & (number.isna() & (result[name].astype(str) != "nan"))
        _refuse(file, result, bad, name, "a number")
        result[name] = number
    _check_rows(result, file)
    for name in ("seed", "n"):
        result[name] = result[name].astype("Int64")
    return result


def _check_rows(table: pd.DataFrame, file: str | Path | None) -> None:
    import numpy as np

    for name in REQUIRED:
        _refuse(file, table, table[name] == "", name, "a name")
    _refuse(file, table, np.isinf(table["value"]), "value", "a finite number, or nothing")
    for name in ("seed", "n"):
        number = table[name]
        odd = number.notna() & ((number < 0) | (number != np.round(number)))
        _refuse(file, table, odd, name, "a whole number of 0 or more, or nothing")
    low, high = table["ci_low"], table["ci_high"]
    _refuse(file, table, (low > high) | (low.isna() != high.isna()), "ci_low", "ci_low <= ci_high")
    wrong = [any("=" not in p for p in s.split(";") if p) for s in table["setting"]]
    _refuse(file, table, np.array(wrong, dtype=bool), "setting", "key=value;key=value")
    twice = table.duplicated(list(KEYS))
    _refuse(file, table, twice, "metric", "one row for each " + ", ".join(KEYS))


def _refuse(
    file: str | Path | None, table: pd.DataFrame, bad: Any, column: str, expected: str
) -> None:
    import numpy as np

    places = np.flatnonzero(np.asarray(bad))
    if places.size:
        row = table.iloc[places[0]]
        raise InputError(
            file,
            f"row {places[0] + 1} ({row['dataset']}, {row['method']}, {row['metric']}),"
            f" column {column}",
            repr(row[column]),
            expected,
        )


# --------------------------------------------------------------------- intervals and tests


def bootstrap_interval(
    units: Sequence[float] | np.ndarray,
    statistic: Callable[[np.ndarray], float] | None = None,
    *,
    level: float = 0.95,
    method: str = "bca",
    n_resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """Return a bootstrap interval of a statistic over independent units.

    Parameters
    ----------
    units : (n,) or (n, ...)
        One entry for each unit that could have come out otherwise on its own (a series, a
        fold); never the correlated steps inside one.
    statistic : callable, optional
        Of an array like `units`, to a number; the mean by default.
    method : bca | percentile
        Bias-corrected and accelerated (Efron 1987), or plain percentiles.

    Returns
    -------
    Interval
        Undefined (NaN) with fewer than two units; of no width where all units are the same.
    """
    import numpy as np
    from scipy.stats import bootstrap

    values = np.asarray(units, dtype=float)
    n = len(values)
    measure = np.mean if statistic is None else statistic
    if n < 2 or not np.isfinite(values).all():
        return NO_INTERVAL
    if np.ptp(values, axis=0).max() == 0:
        return Interval(float(measure(values)), float(measure(values)))
    plain = statistic is None and values.ndim == 1
    with warnings.catch_warnings():
        # a degenerate bootstrap distribution shows as NaN ends, which callers see
        warnings.simplefilter("ignore")
        result = bootstrap(
            (values if plain else np.arange(n),),
            np.mean if plain else lambda index: float(measure(values[index.astype(int)])),
            vectorized=plain,
            n_resamples=n_resamples,
            batch=BATCH,
            confidence_level=level,
            method={"bca": "BCa", "percentile": "percentile"}[method],
            rng=np.random.default_rng(seed),
        )
    ends = result.confidence_interval
    return Interval(float(ends.low), float(ends.high))


def t_interval(units: Sequence[float] | np.ndarray, level: float = 0.95) -> Interval:
    """Return Student's interval of the mean of independent units; NaN with fewer than two."""
    import numpy as np
    from scipy.stats import t

    values = np.asarray(units, dtype=float)
    n = len(values)
    if n < 2 or not np.isfinite(values).all():
        return NO_INTERVAL
    half = t.ppf(0.5 + level / 2, n - 1) * values.std(ddof=1) / np.sqrt(n)
    return Interval(float(values.mean() - half), float(values.mean() + half))


def mean_interval(
    units: Sequence[float] | np.ndarray, level: float = 0.95, seed: int = 0
) -> Interval:
    """Return the interval of a mean: Student's below 10 units, else the BCa bootstrap.

    Resampling a handful of units gives intervals that are too narrow.
    """
    if len(units) < SMALL:
        return t_interval(units, level)
    return bootstrap_interval(units, level=level, seed=seed)


def wilson_interval(successes: int, n: int, level: float = 0.95) -> Interval:
    """Return Wilson's score interval of a proportion (Wilson 1927); NaN where n is 0."""
    from math import sqrt

    from scipy.stats import norm

    if n == 0:
        return NO_INTERVAL
    z = float(norm.ppf(0.5 + level / 2))
    share = successes / n
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return Interval(max(0.0, centre - half), min(1.0, centre + half))


def paired_test(a: Sequence[float] | np.ndarray, b: Sequence[float] | np.ndarray) -> PairedTest:
    """Return Wilcoxon's signed-rank test (two-sided) of two scores of the same units.

    Pairs without a difference are left out; with none left, p is 1 and the effect 0.

    Raises
    ------
    ValueError
        If the two have different lengths or hold NaN.
    """
    import numpy as np
    from scipy.stats import rankdata, wilcoxon

    one, two = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if one.shape != two.shape or one.ndim != 1:
        raise ValueError(f"pairs are needed, found shapes {one.shape} and {two.shape}")
    difference = one - two
    if not np.isfinite(difference).all():
        raise ValueError("scores of pairs must be finite")
    median = float(np.median(difference)) if difference.size else float("nan")
    kept = difference[difference != 0]
    if kept.size == 0:
        return PairedTest(0, median, 0.0, 1.0, 0.0)
    ranks = rankdata(np.abs(kept))
    above, below = ranks[kept > 0].sum(), ranks[kept < 0].sum()
    result = wilcoxon(kept)
    effect = (above - below) / (above + below)
    return PairedTest(
        int(kept.size), median, float(result.statistic), float(result.pvalue), float(effect)
    )
