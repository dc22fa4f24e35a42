"""Head tables of a report: methods beside each other, straight from rows of metrics.tsv.

Nothing is computed here: every number shown is a row of metrics.tsv. The best value of each
measure is marked, baselines and nulls carry a badge, and `winner_sentence` says who won,
also where the model lost.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .format import Cell, format_interval, format_value, is_missing

if TYPE_CHECKING:
    import pandas as pd

BASELINE = "baseline:"
_FOLD = re.compile(r"^fold\d+$")


@dataclass(frozen=True)
class Measure:
    """A metric as a reader meets it.

    Attributes
    ----------
    metric : str
        Its name in metrics.tsv.
    label : str
        What it is called on the page.
    higher_is_better : bool
    unit : str
        Shown beside the label.
    """

    metric: str
    label: str
    higher_is_better: bool = False
    unit: str = ""

    @property
    def heading(self) -> str:
        """Return label, unit and direction as the heading of a column."""
        unit = f", {self.unit}" if self.unit else ""
        return f"{self.label}{unit} ({'higher' if self.higher_is_better else 'lower'} is better)"


def is_baseline(method: str) -> bool:
    """Return whether a method of metrics.tsv is a baseline."""
    return method.startswith(BASELINE)


def is_null(method: str) -> bool:
    """Return whether a method stands for chance alone; it can win nothing."""
    return plain_name(method).startswith("null")


def plain_name(method: str) -> str:
    """Return a method's name without its marks."""
    return method.removeprefix(BASELINE).replace("_", " ")


def comparison_table(rows: pd.DataFrame, measures: Sequence[Measure]) -> pd.DataFrame:
    """Return a table of `Cell` s: methods down, measures across.

    Parameters
    ----------
    rows : DataFrame
        Rows of metrics.tsv for one data set, setting and split: method, metric, value,
        ci_low, ci_high.
    measures : sequence of Measure
        Columns; methods are sorted by the first, nulls stand last.

    Raises
    ------
    ValueError
        If a method has two values of one metric: choose a split or setting first.
    """
    import pandas as pd

    keys = rows[["method", "metric"]]
    if keys.duplicated().any():
        method, metric = keys[keys.duplicated()].iloc[0]
        raise ValueError(f"{method} has more than one value of {metric}")
    found = {(r.method, r.metric): r for r in rows.itertuples(index=False)}
    measures = [m for m in measures if m.metric in set(rows["metric"])]
    best = {m.metric: best_method(rows, m) for m in measures}
    columns: dict[str, list[Cell]] = {"Method": [_method_cell(n) for n in ranked(rows, measures)]}
    for measure in measures:
        cells = []
        for method in ranked(rows, measures):
            row = found.get((method, measure.metric))
            if row is None or is_missing(row.value):
                cells.append(Cell("–", float("nan")))
                continue
            mark = "best" if method == best[measure.metric] else ""
            small = format_interval(row.ci_low, row.ci_high)
            cells.append(Cell(format_value(row.value), float(row.value), small, mark))
        columns[measure.heading] = cells
    return pd.DataFrame(columns)


def _method_cell(method: str) -> Cell:
    mark = "null" if is_null(method) else "baseline" if is_baseline(method) else ""
    return Cell(plain_name(method), plain_name(method), mark=mark)


def ranked(rows: pd.DataFrame, measures: Sequence[Measure]) -> list[str]:
    """Return methods, best first by the first measure; nulls last."""
    methods = list(dict.fromkeys(rows["method"]))
    if not measures:
        return methods
    first = measures[0]
    part = rows[rows["metric"] == first.metric]
    values = dict(zip(part["method"], part["value"], strict=True))
    sign = -1 if first.higher_is_better else 1

    def key(method: str) -> tuple:
        value = values.get(method)
        missing = is_missing(value)
        return (is_null(method), missing, 0.0 if missing else sign * float(value))

    return sorted(methods, key=key)


def best_method(rows: pd.DataFrame, measure: Measure, baselines: bool | None = None) -> str | None:
    """Return the best method by a measure; of baselines or of models alone where asked."""
    part = rows[(rows["metric"] == measure.metric) & rows["value"].notna()]
    keep = [
        not is_null(m) and (baselines is None or is_baseline(m) == baselines)
        for m in part["method"]
    ]
    part = part[keep]
    if part.empty:
        return None
    place = part["value"].idxmax() if measure.higher_is_better else part["value"].idxmin()
    return str(part.loc[place, "method"])


def winner_sentence(rows: pd.DataFrame, measure: Measure) -> str:
    """Return one sentence on who won by `measure`, the model or a baseline, and by how much."""
    ours, theirs = (best_method(rows, measure, baselines=b) for b in (False, True))
    label = measure.label[:1].upper() + measure.label[1:]
    if ours is None or theirs is None:
        only = ours or theirs
        if only is None:
            return f"{label}: nothing was scored."
        return f"{label}: only {_with_value(rows, measure, only)} was scored."
    won = best_method(rows, measure) == ours
    first, second = (ours, theirs) if won else (theirs, ours)
    kinds = ("the model", "the best baseline") if won else ("a baseline", "the best model")
    text = (
        f"{label}: {kinds[0]} wins, {_with_value(rows, measure, first)} against"
        f" {_with_value(rows, measure, second)} for {kinds[1]}"
    )
    return text + ("; their intervals overlap." if _overlap(rows, measure, ours, theirs) else ".")


def _row(rows: pd.DataFrame, measure: Measure, method: str) -> pd.Series:
    return rows[(rows["metric"] == measure.metric) & (rows["method"] == method)].iloc[0]


def _with_value(rows: pd.DataFrame, measure: Measure, method: str) -> str:
    row = _row(rows, measure, method)
    interval = format_interval(row["ci_low"], row["ci_high"])
    value = format_value(float(row["value"])) + (f" {measure.unit}" if measure.unit else "")
    return f"{plain_name(method)} with {value}" + (f" ({interval})" if interval else "")


def _overlap(rows: pd.DataFrame, measure: Measure, one: str, two: str) -> bool:
    a, b = _row(rows, measure, one), _row(rows, measure, two)
    ends = [a["ci_low"], a["ci_high"], b["ci_low"], b["ci_high"]]
    if any(is_missing(e) for e in ends):
        return False
    return bool(a["ci_low"] <= b["ci_high"] and b["ci_low"] <= a["ci_high"])


def duel(rows: pd.DataFrame, measure: Measure) -> tuple[Cell, Cell, str] | None:
    """Return the best model, the best baseline, and which of the two kinds won.

    None where either is missing. Each cell has the method's name as its small text.
    """
    ours, theirs = (best_method(rows, measure, baselines=b) for b in (False, True))
    if ours is None or theirs is None:
        return None
    winner = best_method(rows, measure)
    cells = []
    for method in (ours, theirs):
        row = rows[(rows["metric"] == measure.metric) & (rows["method"] == method)].iloc[0]
        value = float(row["value"])
        mark = "best" if method == winner else ""
        cells.append(Cell(format_value(value), value, plain_name(method), mark))
    return cells[0], cells[1], "baseline" if is_baseline(str(winner)) else "model"


def head_rows(
    metrics: pd.DataFrame, dataset: str, measures: Sequence[Measure]
) -> list[tuple[str, pd.DataFrame]]:
    """Return rows of metrics.tsv for head tables: one table per split and shared setting.

    Rows of single folds are left to the full table. Setting keys that only some methods
    have (``d=3``) become part of the method's name; of several seeds the summary row (no
    seed) is taken, else the first.

    Returns
    -------
    list of (str, DataFrame)
        What the table is of, and its rows: one for each method and metric.
    """
    wanted = [m.metric for m in measures]
    rows = metrics[(metrics["dataset"] == dataset) & metrics["metric"].isin(wanted)].copy()
    rows = rows[~rows["split"].astype(str).str.match(_FOLD)]
    if rows.empty:
        return []
    settings = [_parse(s) for s in rows["setting"]]
    shared = _shared_keys(settings, list(rows["method"]))
    rows["context"] = [
        "; ".join(f"{k} = {v}" for k, v in s.items() if k in shared) for s in settings
    ]
    own = ["".join(f" {k}{v}" for k, v in s.items() if k not in shared) for s in settings]
    rows["method"] = [m + o for m, o in zip(rows["method"], own, strict=True)]
    result = []
    for (split, context), part in rows.groupby(["split", "context"], sort=False):
        order = part["seed"].notna().to_numpy().argsort(kind="stable")
        part = part.iloc[order].drop_duplicates(["method", "metric"])
        label = ", ".join(w for w in (str(split), context) if w and w != "nan")
        result.append((label, part.drop(columns="context").reset_index(drop=True)))
    return result


def _parse(setting: Any) -> dict[str, str]:
    text = setting if isinstance(setting, str) else ""
    pairs = (item.partition("=") for item in text.split(";") if item.strip())
    return {key.strip(): value.strip() for key, _, value in pairs}


def _shared_keys(settings: Sequence[Mapping[str, str]], methods: Sequence[str]) -> set[str]:
    """Return the keys that every method has: the setting of the comparison, not of one method."""
    keys: dict[str, set[str]] = {}
    for setting, method in zip(settings, methods, strict=True):
        keys.setdefault(method, set()).update(setting)
    return set.intersection(*keys.values()) if keys else set()
