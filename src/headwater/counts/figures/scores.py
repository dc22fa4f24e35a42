"""Scores of all methods beside each other: the model, the baselines, the null."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from headwater.core import style
from headwater.core.comparison import Measure, is_baseline, plain_name, winner_sentence

from .common import short

COLUMNS = ("method", "metric", "value", "ci_low", "ci_high", "n", "unit")
WIDE = 30.0  # beyond this ratio of largest to smallest value the axis is logarithmic


@style.styled
def score_bars(
    rows: pd.DataFrame,
    measures: Sequence[Measure],
    title: str,
    null: Mapping[str, float] | None = None,
) -> style.Plot:
    """Draw each method's scores with intervals, a panel for each measure.

    Parameters
    ----------
    rows : DataFrame
        Rows of metrics.tsv of one data set, one for each method and metric: method, metric,
        value, ci_low, ci_high.
    measures : sequence of Measure
        Metrics to show, in this order; methods are sorted by the first.
    title : str
        Headline.
    null : mapping of str to float, optional
        By metric, what chance alone would give; drawn as a dotted line.
    """
    null = dict(null or {})
    wide = rows.pivot_table(index="method", columns="metric", values="value", aggfunc="first")
    measures = [m for m in measures if m.metric in wide]
    order = wide[measures[0].metric].sort_values(
        ascending=not measures[0].higher_is_better, kind="stable", na_position="last"
    )
    methods = list(order.index)
    figure = style.new_figure(height=0.85 + 0.24 * len(methods))
    panels = figure.subplots(1, len(measures), sharey=True, squeeze=False)[0]
    for panel, measure in zip(panels, measures, strict=True):
        part = rows[rows["metric"] == measure.metric].drop_duplicates("method")
        _draw_measure(panel, part.set_index("method").reindex(methods), measure, null)
    panels[0].set_yticks(range(len(methods)), [short(plain_name(m), 24) for m in methods])
    panels[0].set_ylim(len(methods) - 0.4, -0.6)
    first = measures[0]
    sentence = winner_sentence(rows, first)
    chance = ""
    if first.metric in null:
        chance = f" Chance alone gives {null[first.metric]:.3g} (dotted)."
    caption = (
        f"The model in blue, baselines in grey; whiskers are the intervals of metrics.tsv."
        f" {sentence}{chance}"
    )
    alt = (
        f"Scores of {len(methods)} methods, best first by {first.label}:"
        f" {', '.join(map(plain_name, methods[:5]))}."
    )
    keep = [m.metric for m in measures]
    columns = [c for c in COLUMNS if c in rows]
    table = rows.loc[rows["metric"].isin(keep), columns].reset_index(drop=True)
    return style.Plot(figure, table, title, caption, alt)


def _draw_measure(
    panel: Any, part: pd.DataFrame, measure: Measure, null: Mapping[str, float]
) -> None:
    values = part["value"].to_numpy(float)
    low = part["ci_low"].to_numpy(float)
    high = part["ci_high"].to_numpy(float)
    places = np.arange(len(values))
    colours = [style.PLAIN if is_baseline(m) else style.colour(0) for m in part.index]
    finite = values[np.isfinite(values)]
    log = finite.size > 0 and finite.min() > 0 and finite.max() / finite.min() > WIDE
    panel.set_axisbelow(True)
    panel.grid(axis="x")
    for place, value, a, b, colour in zip(places, values, low, high, colours, strict=True):
        if not np.isfinite(value):
            continue
        if not log:
            panel.barh(place, value, height=0.55, color=colour, alpha=0.3, linewidth=0)
        if np.isfinite(a) and np.isfinite(b):
            panel.plot([a, b], [place, place], color=colour, linewidth=1.2)
        panel.plot([value], [place], "o", color=colour, markersize=5)
    if log:
        panel.set_xscale("log")
    if measure.metric in null:
        panel.axvline(null[measure.metric], color=style.INK, linewidth=1, linestyle=(0, (1, 1.5)))
    arrow = "higher is better" if measure.higher_is_better else "lower is better"
    panel.set_title(measure.label)
    unit = f"{measure.unit}; {arrow}" if measure.unit else arrow
    panel.set_xlabel(unit, fontsize=8)
    panel.tick_params(axis="y", length=0)
    panel.spines["left"].set_visible(False)
