"""Scores of models: accuracy with intervals beside the null model, and what went wrong."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from headwater.core import style
from headwater.core.comparison import plain_name

from .ticks import whole

SPLITS = ("all", "level1", "level2", "level3", "level4")
LIKENED = "baseline:null_unmodified_network"


@style.styled
def accuracy_bars(metrics: pd.DataFrame) -> style.Plot:
    """Draw strict accuracy by level with Wilson intervals, the null model beside it.

    Parameters
    ----------
    metrics : DataFrame
        metrics.tsv; rows of ``strict_accuracy``.
    """
    kept = metrics[(metrics["metric"] == "strict_accuracy") & metrics["split"].isin(SPLITS)]
    kept = kept[~kept["method"].str.contains("_only")]
    sets = list(dict.fromkeys(kept["dataset"]))
    if not sets:
        return _nothing("Right on all strategies", kept)
    figure = style.new_figure(height=2.7)
    panels = figure.subplots(1, len(sets), sharey=True, squeeze=False)[0]
    for axes, name in zip(panels, sets, strict=True):
        part = kept[kept["dataset"] == name]
        methods = sorted(part["method"].unique(), key=lambda m: (m == LIKENED, m))
        width = 0.8 / len(methods)
        for k, method in enumerate(methods):
            rows = part[part["method"] == method].set_index("split").reindex(SPLITS)
            at = np.arange(len(SPLITS)) + (k - (len(methods) - 1) / 2) * width
            value = rows["value"].to_numpy(dtype=float)
            low = value - rows["ci_low"].to_numpy(dtype=float)
            high = rows["ci_high"].to_numpy(dtype=float) - value
            colour = style.MUTED if method == LIKENED else style.colour(k)
            axes.bar(at, value, width * 0.9, color=colour, label=plain_name(method))
            axes.errorbar(
                at,
                value,
                np.clip([low, high], 0, None),
                fmt="none",
                ecolor=style.INK,
                elinewidth=0.9,
            )
        axes.set_xticks(range(len(SPLITS)), [s.replace("level", "level ") for s in SPLITS])
        axes.set_title(f"requests {name}")
        axes.set_ylim(0, 1)
    panels[0].set_ylabel("strict accuracy")
    panels[-1].legend(loc="upper right")
    best = kept[kept["split"] == "all"]
    words = "; ".join(
        f"{plain_name(r.method)} on {r.dataset} {100 * r.value:.0f}% of {int(r.n)}"
        for r in best.itertuples()
    )
    columns = ["dataset", "method", "split", "value", "ci_low", "ci_high", "n"]
    return style.Plot(
        figure,
        kept[columns].reset_index(drop=True),
        "Right on all strategies",
        f"{words}. Bars are Wilson 95% intervals; the null model solves the network as it is.",
        "Bars of strict accuracy by level with intervals.",
    )


@style.styled
def error_bars(tables: Mapping[str, pd.DataFrame]) -> style.Plot:
    """Draw what went wrong, by class of error.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        Rows of `headwater.opf.scoring.per_record` by model and set.
    """
    counts = pd.DataFrame(
        {
            name: table["error"].fillna("").replace("", "right").value_counts()
            for name, table in tables.items()
        }
    ).fillna(0)
    if counts.empty:
        return _nothing("What went wrong", counts)
    counts = counts.loc[counts.sum(axis=1).sort_values(ascending=False).index]
    figure = style.new_figure(height=1.0 + 0.28 * len(counts) * max(1, len(tables)) ** 0.5)
    axes = figure.subplots()
    height = 0.8 / max(1, counts.shape[1])
    for k, name in enumerate(counts.columns):
        at = np.arange(len(counts)) + (k - (counts.shape[1] - 1) / 2) * height
        axes.barh(at, counts[name], height * 0.92, color=style.colour(k), label=str(name))
    axes.set_yticks(range(len(counts)), [str(c).replace("_", " ") for c in counts.index])
    axes.invert_yaxis()
    axes.set_xlabel("answers")
    whole(axes.xaxis)
    axes.legend(loc="lower right")
    wrong = counts.drop(index="right", errors="ignore")
    words = "Nothing went wrong."
    if len(wrong):
        words = f"The most frequent error is {str(wrong.index[0]).replace('_', ' ')}."
    return style.Plot(
        figure,
        counts.rename_axis("error").reset_index(),
        "What went wrong",
        words + " Wrong answers that ran are told apart by the patch that they made.",
        "Bars of answers by class of error.",
    )


def _nothing(title: str, table: pd.DataFrame) -> style.Plot:
    """Return a figure that says that there was nothing to score."""
    figure = style.new_figure(height=0.8)
    axes = figure.subplots()
    axes.set_axis_off()
    words = "The set holds no request, so nothing was scored."
    axes.text(0, 0.5, words, va="center")
    return style.Plot(figure, table.reset_index(drop=True), title, words, words)
