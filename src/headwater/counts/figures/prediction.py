"""What comes next: forecasts, their calibration, and answers to interventions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headwater.core import style
from headwater.core.format import format_value

from .common import (
    TimeAxis,
    draw_events,
    grid_of,
    hide_rest,
    names,
    observed_counts_of,
    plural,
    short,
    time_axis,
)

BAND = 0.9  # between the quantiles q05 and q95


@style.styled
def forecast_panels(
    cube: xr.Dataset,
    forecasts: Mapping[str, xr.Dataset],
    t0: int,
    n_series: int = 2,
    n_features: int = 3,
) -> style.Plot:
    """Draw forecasts from step `t0` on beside what came, for the largest features.

    Parameters
    ----------
    cube : Dataset
        counts (series, step, feature) of the held-out series.
    forecasts : mapping of str to Dataset
        By method, the model first: mean and, for a band, q05 and q95 (series, step,
        feature), with the coordinates of `cube` or a part of them.
    t0 : int
        First step that was forecast (a value of the coordinate ``step``).
    n_series, n_features : int
        Panels: the first series, the features with most counts from `t0` on.
    """
    counts = observed_counts_of(cube)
    axis = time_axis(cube, counts.shape[1])
    steps = _steps(cube)
    late = np.nansum(counts[:, steps >= t0], axis=(0, 1))
    best = sorted(np.argsort(-late, kind="stable")[:n_features].tolist())
    series, features = names(cube, "series")[:n_series], names(cube, "feature")
    figure = style.new_figure(height=0.7 + 1.55 * len(series))
    panels = figure.subplots(len(series), len(best), sharex=True, squeeze=False)
    rows = []
    for j, one in enumerate(series):
        for i, k in enumerate(best):
            panel = panels[j, i]
            seen = counts[j, :, k]
            panel.plot(axis.values, seen, "o", color=style.INK, markersize=2.6, label="observed")
            rows += _rows("observed", one, features[k], steps, axis.values, seen)
            for m, (method, forecast) in enumerate(forecasts.items()):
                part = _aligned(forecast, cube).isel(series=j, feature=k)
                rows += _draw_forecast(panel, part, method, m, (one, features[k]), axis, steps, t0)
            place = axis.values[np.searchsorted(steps, t0)]
            panel.axvline(place, color=style.MUTED, linewidth=0.9, linestyle=(0, (3, 2)))
            panel.set_title(f"{short(one, 12)}: {short(features[k], 18)}", fontsize=8.5)
            panel.set_ylim(bottom=0)
            panel.locator_params(axis="both", nbins=4)
        panels[j, 0].set_ylabel("counts")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4)
    figure.supxlabel(axis.label, fontsize=9)
    table = pd.DataFrame(rows, columns=["method", "series", "feature", "step", "time", *_VALUES])
    caption = (
        f"Forecasts of {plural(len(series), 'series')} that no fit has seen, from step {t0}"
        f" (dashed) on, for the {plural(len(best), 'feature')} with most counts. "
        + _coverage(table)
    )
    alt = (
        f"Line plots of observed and forecast counts of {', '.join(features[k] for k in best)}"
        f" for {', '.join(series)}, with 90% bands where a method gives them."
    )
    return style.Plot(figure, table, "Forecasts of held-out series", caption, alt)


_VALUES = ("value", "q05", "q95")


def _steps(cube: xr.Dataset) -> np.ndarray:
    if "step" in cube.coords:
        return np.asarray(cube["step"].values)
    return np.arange(cube.sizes["step"])


def _aligned(forecast: xr.Dataset, cube: xr.Dataset) -> xr.Dataset:
    """Return a forecast on the grid of `cube`, NaN where it says nothing."""
    wanted = {d: cube[d] for d in ("series", "step", "feature") if d in forecast.coords}
    return forecast.reindex(wanted)


def _draw_forecast(
    panel: Any,
    part: xr.Dataset,
    method: str,
    index: int,
    where: tuple[str, str],
    axis: Any,
    steps: np.ndarray,
    t0: int,
) -> list[tuple]:
    mean = np.where(steps >= t0, part["mean"].values.astype(float), np.nan)
    low = high = np.full_like(mean, np.nan)
    colour = style.colour(0) if index == 0 else style.colour(index)
    if "q05" in part and "q95" in part:
        low = np.where(steps >= t0, part["q05"].values.astype(float), np.nan)
        high = np.where(steps >= t0, part["q95"].values.astype(float), np.nan)
        if index == 0:
            panel.fill_between(
                axis.values, low, high, color=colour, alpha=0.22, linewidth=0, label="90% band"
            )
    label = method.removeprefix("baseline:")
    panel.plot(
        axis.values,
        mean,
        color=colour,
        linestyle=style.dash(index),
        linewidth=1.5 if index == 0 else 1.1,
        label=label,
    )
    return _rows(method, *where, steps, axis.values, mean, low, high)


def _rows(
    method: str,
    series: str,
    feature: str,
    steps: np.ndarray,
    times: np.ndarray,
    value: np.ndarray,
    low: np.ndarray | None = None,
    high: np.ndarray | None = None,
) -> list[tuple]:
    none = np.full(len(steps), np.nan)
    columns = (steps, times, value, none if low is None else low, none if high is None else high)
    return [
        (method, series, feature, int(s), float(t), float(v), float(a), float(b))
        for s, t, v, a, b in zip(*columns, strict=True)
        if np.isfinite(v)
    ]


def _coverage(table: pd.DataFrame) -> str:
    """Return a sentence on how many of the points shown fall into the first method's band."""
    banded = table[table["q05"].notna()]
    if banded.empty:
        return "No method gives a band."
    first = banded["method"].iloc[0]
    keys = ["series", "feature", "step"]
    seen = table[table["method"] == "observed"].set_index(keys)["value"]
    band = banded[banded["method"] == first].set_index(keys)[["q05", "q95"]]
    both = band.join(seen, how="inner")
    inside = (both["value"] >= both["q05"]) & (both["value"] <= both["q95"])
    return f"Of {len(both)} points shown, {100 * inside.mean():.0f}% fall into its 90% band."


@style.styled
def pit_histogram(table: pd.DataFrame) -> style.Plot:
    """Draw histograms of the randomised PIT; flat is calibrated.

    Parameters
    ----------
    table : DataFrame
        method, low, high (edges of a bin in [0, 1]) and count, one row per bin.
    """
    methods = list(dict.fromkeys(table["method"]))
    rows, columns = grid_of(len(methods), 3)
    figure = style.new_figure(width=style.WIDTH if columns > 1 else 3.8, height=0.5 + 1.6 * rows)
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    words = []
    parts = []
    for i, method in enumerate(methods):
        part = table[table["method"] == method].sort_values("low")
        width = (part["high"] - part["low"]).to_numpy(float)
        count = part["count"].to_numpy(float)
        density = count / max(count.sum(), 1.0) / width
        panel = panels.ravel()[i]
        ours = not method.startswith("baseline:")
        panel.bar(
            part["low"],
            density,
            width,
            align="edge",
            color=style.colour(0) if ours else style.PLAIN,
            edgecolor=style.PAPER,
        )
        panel.axhline(1, color=style.INK, linewidth=0.9, linestyle=(0, (3, 2)))
        panel.set_title(short(method.removeprefix("baseline:"), 24))
        parts.append(part.assign(density=density))
        off = 0.5 * float(np.abs(density - 1) @ width)
        words.append(f"{method.removeprefix('baseline:')} {100 * off:.0f}%")
    hide_rest(panels, len(methods))
    panels[0, 0].set_ylabel("density")
    figure.supxlabel("probability integral transform (randomised)", fontsize=9)
    total = int(table.groupby("method")["count"].sum().max())
    caption = (
        f"A calibrated forecast gives the dashed line; a hump is too wide, a bowl too narrow"
        f" ({format_value(total)} entries). Share of the mass in the wrong"
        f" place: {', '.join(words)}."
    )
    alt = (
        "Histograms of the probability integral transform; mass in the wrong place:"
        f" {', '.join(words)}."
    )
    columns_out = ["method", "low", "high", "count", "density"]
    return style.Plot(
        figure, pd.concat(parts)[columns_out], "Calibration of the forecasts", caption, alt
    )


@style.styled
def perturbation(
    log_ratio: xr.DataArray,
    low: xr.DataArray,
    high: xr.DataArray,
    what: str,
    cube: xr.Dataset | None = None,
    schedule: Sequence[Mapping[str, Any]] = (),
    top: int = 6,
) -> style.Plot:
    """Draw log(perturbed / baseline expected counts) over time with a 90% interval.

    Parameters
    ----------
    log_ratio, low, high : DataArray
        (step, feature), natural logarithm.
    what : str
        The intervention in words.
    cube : Dataset, optional
        For the times.
    schedule : sequence of mapping
        ``{time, label}`` of its beginning and end.
    top : int
        Features shown: those whose largest answer is largest.
    """
    mean = log_ratio.transpose("step", "feature").values.astype(float)
    lower = low.transpose("step", "feature").values.astype(float)
    upper = high.transpose("step", "feature").values.astype(float)
    features = [str(v) for v in log_ratio["feature"].values]
    axis = time_axis(cube, mean.shape[0])
    strength = np.nanmax(np.abs(np.nan_to_num(mean)), axis=0)
    best = np.argsort(-strength, kind="stable")[:top].tolist()
    titles = [short(features[k], 24) for k in best]
    figure = _responses(axis, mean[:, best], lower[:, best], upper[:, best], titles, schedule)
    peak = int(np.nanargmax(np.abs(np.nan_to_num(mean[:, best[0]]))))
    answer = float(mean[peak, best[0]])
    caption = (
        f"{what}: answer of the {plural(len(best), 'feature')} that move most, with 90% intervals,"
        f" as natural log of the ratio of expected counts. {features[best[0]]} answers most, by a"
        f" factor of {format_value(float(np.exp(answer)))} at {axis.label.split(' (')[0]}"
        f" {format_value(float(axis.values[peak]))}; this is the model's answer, not an experiment."
    )
    alt = f"Line plots of the model's answer to: {what}. {features[best[0]]} answers most."
    index = pd.MultiIndex.from_product([range(mean.shape[0]), features], names=["step", "feature"])
    table = pd.DataFrame(
        {"log_ratio": mean.reshape(-1), "q05": lower.reshape(-1), "q95": upper.reshape(-1)},
        index=index,
    ).reset_index()
    table.insert(1, "time", axis.values[table["step"]])
    return style.Plot(figure, table, "Answer to an intervention", caption, alt)


def _responses(
    axis: TimeAxis,
    mean: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    titles: Sequence[str],
    schedule: Sequence[Mapping[str, Any]],
) -> Any:
    """Return a grid of panels, one for each column of (step, feature) arrays."""
    rows, columns = grid_of(len(titles), 3)
    figure = style.new_figure(height=0.6 + 1.5 * rows)
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    colour = style.colour(0)
    for i, title in enumerate(titles):
        panel = panels.ravel()[i]
        panel.axhline(0, color=style.RULE, linewidth=0.8)
        panel.fill_between(
            axis.values, lower[:, i], upper[:, i], color=colour, alpha=0.22, linewidth=0
        )
        panel.plot(axis.values, mean[:, i], color=colour)
        panel.set_title(title, pad=12 if i == 0 and schedule else 4)
        panel.margins(x=0.01)
        draw_events(panel, schedule, axis, labels=i == 0)
    hide_rest(panels, len(titles))
    figure.supxlabel(axis.label, fontsize=9)
    figure.supylabel("log ratio to baseline (nat)", fontsize=9)
    return figure
