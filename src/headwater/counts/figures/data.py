"""Counts as observed, and observed against fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headwater.core import style
from headwater.core.format import format_value

from .common import (
    TimeAxis,
    count_heat,
    count_ticks,
    names,
    observed_counts_of,
    plural,
    short,
    step_ticks,
    time_axis,
)

MAX_FEATURES = 40
LABELLED = 26


@style.styled
def observed_counts(cube: xr.Dataset, max_series: int = 4) -> style.Plot:
    """Draw the counts of the first series as heat maps (feature by step).

    Parameters
    ----------
    cube : Dataset
        counts (series, step, feature), observed (series, step), time (series, step).
    max_series : int
        Series shown; of the features at most 40, those with most counts.
    """
    counts = observed_counts_of(cube)
    features = _largest(counts, names(cube, "feature"))
    chosen = list(range(min(max_series, counts.shape[0])))
    part = counts[np.ix_(chosen, range(counts.shape[1]), features)]
    axis = time_axis(cube, counts.shape[1])
    series = [names(cube, "series")[j] for j in chosen]
    labels = [names(cube, "feature")[k] for k in features]
    figure = style.new_figure(height=_height(len(features)) + 0.6)
    panels = figure.subplots(1, len(chosen), sharey=True, squeeze=False)[0]
    top = _top(part)
    for panel, values, name in zip(panels, part, series, strict=True):
        image = count_heat(panel, values.T, top)
        panel.set_title(short(name, 16))
        step_ticks(panel, axis, 3 if len(chosen) > 2 else 6)
    _feature_labels(panels[0], labels)
    style.colour_bar(panels[-1], image, "counts (log scale)", count_ticks(top))
    figure.supxlabel(axis.label, fontsize=9)
    missing = float(np.isnan(counts).mean())
    zeros = float((counts == 0).sum() / max(1, np.isfinite(counts).sum()))
    caption = (
        f"{plural(len(chosen), 'series')} of {counts.shape[0]} and"
        f" {plural(len(features), 'feature')} of {counts.shape[2]}; counts reach"
        f" {format_value(top)}. Of all entries {100 * missing:.1f}% are unobserved (dotted)"
        f" and {100 * zeros:.1f}% of the observed ones are zero."
    )
    alt = (
        f"Heat maps of counts, features down and {axis.label} across, for {', '.join(series)};"
        f" the largest count is {format_value(top)}."
    )
    table = _long(part, series, axis, labels, "count")
    return style.Plot(figure, table, "Observed counts", caption, alt)


@style.styled
def observed_fitted(cube: xr.Dataset, posterior: xr.Dataset, number: int = 3) -> style.Plot:
    """Draw observed and fitted counts of the best, the median and the worst series.

    Series are ordered by their mean Poisson deviance, 2[y log(y/m) - (y - m)], of the
    observed counts y under the fitted means m.

    Parameters
    ----------
    cube : Dataset
        As `observed_counts`.
    posterior : Dataset
        expected_count (series, step, feature), for the same series.
    number : int
        Series shown.
    """
    counts = observed_counts_of(cube)
    fitted = posterior["expected_count"].values.astype(float)
    deviance = mean_deviance(counts, fitted)
    order = np.argsort(np.where(np.isfinite(deviance), deviance, np.inf), kind="stable")
    places = np.unique(np.linspace(0, len(order) - 1, min(number, len(order))).round().astype(int))
    chosen = [int(order[i]) for i in places]
    features = _largest(counts, names(cube, "feature"))
    axis = time_axis(cube, counts.shape[1])
    labels = [names(cube, "feature")[k] for k in features]
    series = [names(cube, "series")[j] for j in chosen]
    pick = np.ix_(chosen, range(counts.shape[1]), features)
    seen, model = counts[pick], fitted[pick]
    top = _top(seen)
    figure = style.new_figure(height=2 * _height(len(features), 0.12, 0.9) + 0.8)
    panels = figure.subplots(2, len(chosen), sharex=True, sharey=True, squeeze=False)
    for j, name in enumerate(series):
        count_heat(panels[0, j], seen[j].T, top)
        image = count_heat(panels[1, j], np.minimum(model[j].T, top), top)
        panels[0, j].set_title(f"{short(name, 16)}: observed")
        panels[1, j].set_title(f"fitted, deviance {format_value(float(deviance[chosen[j]]))}")
        step_ticks(panels[1, j], axis, 3)
    for row in panels:
        _feature_labels(row[0], labels, 20)
    style.colour_bar(panels[1, -1], image, "counts (log)", count_ticks(top))
    figure.supxlabel(axis.label, fontsize=9)
    table = _long(seen, series, axis, labels, "observed")
    table["fitted"] = model.reshape(-1)
    middle = format_value(float(np.nanmedian(deviance)))
    caption = (
        f"Best, middle and worst of {plural(counts.shape[0], 'series')} by mean Poisson deviance"
        f" per entry, which runs from {format_value(float(np.nanmin(deviance)))} to"
        f" {format_value(float(np.nanmax(deviance)))}. Half of the series are below {middle};"
        " the fit has seen these series."
    )
    alt = (
        f"Heat maps of observed above fitted counts for {', '.join(series)}; the lower the"
        " deviance, the closer they are."
    )
    return style.Plot(figure, table, "Observed and fitted counts", caption, alt)


def mean_deviance(counts: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Return each series' mean Poisson deviance; 0 log 0 = 0, means at least 1e-8."""
    mean = np.maximum(mean, 1e-8)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(counts > 0, counts * np.log(counts / mean), 0.0)
    values = np.where(np.isnan(counts), np.nan, 2 * (ratio - (counts - mean)))
    seen = np.isfinite(values).sum(axis=(1, 2))
    return np.where(seen > 0, np.nansum(values, axis=(1, 2)) / np.maximum(seen, 1), np.nan)


def _largest(counts: np.ndarray, labels: list[str]) -> list[int]:
    """Return the features with most counts, in their own order."""
    totals = np.nansum(counts, axis=(0, 1))
    best = np.argsort(-totals, kind="stable")[:MAX_FEATURES]
    return sorted(int(k) for k in best if k < len(labels))


def _top(values: np.ndarray) -> float:
    return float(np.nanmax(values)) if np.isfinite(values).any() else 1.0


def _height(rows: int, per_row: float = 0.15, least: float = 1.4) -> float:
    return max(least, min(5.0, per_row * rows))


def _feature_labels(panel: Any, labels: list[str], limit: int = 22) -> None:
    step = max(1, -(-len(labels) // LABELLED))
    places = list(range(0, len(labels), step))
    panel.set_yticks(places, [short(labels[k], limit) for k in places])


def _long(
    values: np.ndarray, series: list[str], axis: TimeAxis, features: list[str], name: str
) -> pd.DataFrame:
    """Return (series, step, feature) values as a long table."""
    index = pd.MultiIndex.from_product(
        [series, range(values.shape[1]), features], names=["series", "step", "feature"]
    )
    table = pd.DataFrame({name: values.reshape(-1)}, index=index).reset_index()
    table.insert(2, "time", axis.values[table["step"]])
    return table
