"""The components: what they load on, how they move, which regime they are in, how stable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headwater.core import style
from headwater.core.format import format_value

from .common import component, draw_events, grid_of, hide_rest, names, plural, short, time_axis

MAX_PANELS = 6
MAX_LINES = 12
MAX_ROWS = 60


@style.styled
def mixing(posterior: xr.Dataset, spread: xr.DataArray | None = None, top: int = 10) -> style.Plot:
    """Draw the loadings Γ: bars of the largest per component, or a heat map for many.

    Parameters
    ----------
    posterior : Dataset
        mixing (feature, source), columns of unit length.
    spread : DataArray, optional
        Standard deviation of each loading over matched fits, (feature, source).
    top : int
        Features shown per component.
    """
    weights = posterior["mixing"].transpose("feature", "source").values.astype(float)
    sd = np.full_like(weights, np.nan)
    if spread is not None:
        sd = spread.transpose("feature", "source").values.astype(float)
    features = names(posterior, "feature")
    n_features, n_sources = weights.shape
    if n_sources <= MAX_PANELS:
        figure = _loading_bars(weights, sd, features, top)
        shown = f"The {min(top, n_features)} largest loadings of {n_features} in each of"
    else:
        figure = _loading_heat(weights, features)
        shown = f"Loadings of {n_features} features on"
    lead = [int(np.argmax(np.abs(weights[:, i]))) for i in range(n_sources)]
    strongest = "; ".join(
        f"{i + 1}: {features[k]} ({format_value(float(weights[k, i]))})"
        for i, k in enumerate(lead[:MAX_PANELS])
    )
    bars = " Bars show the standard deviation over matched fits." if spread is not None else ""
    caption = (
        f"{shown} {plural(n_sources, 'component')}, each column of unit length."
        f" Strongest feature of each: {strongest}.{bars}"
    )
    table = pd.DataFrame(
        {
            "component": np.repeat(np.arange(1, n_sources + 1), n_features),
            "feature": features * n_sources,
            "loading": weights.T.reshape(-1),
            "sd": sd.T.reshape(-1),
        }
    )
    alt = f"Loadings of features on {plural(n_sources, 'component')}. Strongest: {strongest}."
    return style.Plot(figure, table, "What moves together", caption, alt)


def _loading_bars(weights: np.ndarray, sd: np.ndarray, features: list[str], top: int) -> Any:
    n_sources = weights.shape[1]
    shown = min(top, len(features))
    rows, columns = grid_of(n_sources, 3)
    figure = style.new_figure(height=rows * (0.55 + 0.185 * shown))
    panels = figure.subplots(rows, columns, sharex=True, squeeze=False)
    for i in range(n_sources):
        panel = panels.ravel()[i]
        order = np.argsort(-np.abs(weights[:, i]), kind="stable")[:shown][::-1]
        values, errors = weights[order, i], sd[order, i]
        colours = [style.colour(0) if v >= 0 else style.colour(1) for v in values]
        panel.barh(range(shown), values, color=colours, height=0.68)
        if np.isfinite(errors).any():
            # orange and blue bars carry the same dark whisker
            panel.errorbar(
                values,
                range(shown),
                xerr=np.nan_to_num(errors),
                fmt="none",
                ecolor=style.INK,
                elinewidth=0.8,
                capsize=1.8,
            )
        panel.axvline(0, color=style.MUTED, linewidth=0.7)
        panel.set_yticks(range(shown), [short(features[k], 20) for k in order])
        panel.set_title(component(i))
        panel.tick_params(axis="y", length=0)
        panel.spines["left"].set_visible(False)
        panel.xaxis.set_tick_params(labelbottom=i + columns >= n_sources)
        panel.locator_params(axis="x", nbins=4)
    hide_rest(panels, n_sources)
    figure.supxlabel("loading (unit column length)", fontsize=9)
    return figure


def _loading_heat(weights: np.ndarray, features: list[str]) -> Any:
    limit = float(np.abs(weights).max()) or 1.0
    figure = style.new_figure(height=max(2.0, min(7.0, 0.17 * len(features) + 0.7)))
    panel = figure.subplots()
    image = style.heat(panel, weights, cmap=style.diverging(), vmin=-limit, vmax=limit)
    step = max(1, -(-len(features) // 36))
    places = range(0, len(features), step)
    panel.set_yticks(list(places), [short(features[k]) for k in places])
    panel.set_xticks(range(weights.shape[1]), [str(i + 1) for i in range(weights.shape[1])])
    panel.set_xlabel("component")
    style.colour_bar(panel, image, "loading")
    return figure


@style.styled
def sources(
    posterior: xr.Dataset,
    cube: xr.Dataset | None = None,
    events: Sequence[Mapping[str, Any]] = (),
) -> style.Plot:
    """Draw each source over time: mean over series, one standard deviation, few series.

    Parameters
    ----------
    posterior : Dataset
        source_mean (series, step, source), in nats.
    cube : Dataset, optional
        For the times; unobserved steps are left out.
    events : sequence of mapping
        ``{time, label}`` of interventions.
    """
    values = posterior["source_mean"].transpose("series", "step", "source").values.astype(float)
    if cube is not None and "observed" in cube:
        values = np.where((cube["observed"].values == 0)[..., None], np.nan, values)
    n_series, n_steps, n_sources = values.shape
    axis = time_axis(cube, n_steps)
    seen = np.isfinite(values).sum(axis=0)
    mean, sd = _mean_sd(values)
    figure = style.new_figure(height=0.55 + 1.25 * n_sources)
    panels = figure.subplots(n_sources, 1, sharex=True, squeeze=False)[:, 0]
    for i, panel in enumerate(panels):
        colour = style.colour(i)
        if n_series <= MAX_LINES:
            for one in values[:, :, i]:
                panel.plot(axis.values, one, color=colour, linewidth=0.6, alpha=0.4)
        low, high = mean[:, i] - sd[:, i], mean[:, i] + sd[:, i]
        panel.fill_between(axis.values, low, high, color=colour, alpha=0.2, linewidth=0)
        panel.plot(axis.values, mean[:, i], color=colour, linewidth=1.7)
        panel.set_title(component(i), pad=12 if i == 0 and events else 4)
        panel.set_ylabel("source (nat)")
        panel.axhline(0, color=style.RULE, linewidth=0.7, zorder=0)
        panel.margins(x=0.01)
        draw_events(panel, events, axis, labels=i == 0)
    panels[-1].set_xlabel(axis.label)
    ranges = np.nanmax(mean, axis=0) - np.nanmin(mean, axis=0)
    widest = int(np.nanargmax(ranges))
    lines = " Thin lines are single series." if n_series <= MAX_LINES else ""
    caption = (
        f"Mean over {plural(n_series, 'series')} with one standard deviation between series, in"
        f" nats (natural-log rate).{lines} Component {widest + 1} moves most, by"
        f" {format_value(float(ranges[widest]))} nat between its lowest and highest mean."
    )
    alt = (
        f"{plural(n_sources, 'line plot')} of sources over {axis.label}; component {widest + 1} has"
        f" the largest range, {format_value(float(ranges[widest]))} nat."
    )
    table = pd.DataFrame(
        {
            "component": np.repeat(np.arange(1, n_sources + 1), n_steps),
            "step": np.tile(np.arange(n_steps), n_sources),
            "time": np.tile(axis.values, n_sources),
            "mean": mean.T.reshape(-1),
            "sd": sd.T.reshape(-1),
            "series": seen.T.reshape(-1),
        }
    )
    return style.Plot(figure, table, "Sources over time", caption, alt)


def _mean_sd(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation over the first axis; NaN where nothing is seen."""
    seen = np.isfinite(values).sum(axis=0)
    filled = np.where(np.isfinite(values), values, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(seen > 0, filled.sum(axis=0) / seen, np.nan)
        squares = np.where(np.isfinite(values), (values - mean) ** 2, 0.0).sum(axis=0)
        sd = np.where(seen > 1, np.sqrt(squares / (seen - 1)), 0.0)
    return mean, np.where(seen > 0, sd, np.nan)


@style.styled
def regimes(
    posterior: xr.Dataset,
    cube: xr.Dataset | None = None,
    events: Sequence[Mapping[str, Any]] = (),
) -> style.Plot:
    """Draw the probability of each regime but the first, per component and series.

    Parameters
    ----------
    posterior : Dataset
        regime_prob (series, step, source, regime); with one regime the figure says so.
    cube, events
        As in `sources`.
    """
    order = ("series", "step", "source", "regime")
    prob = posterior["regime_prob"].transpose(*order).values.astype(float)
    n_series, n_steps, n_sources, n_regimes = prob.shape
    if n_regimes < 2:
        return _one_regime(posterior)
    if cube is not None and "observed" in cube:
        prob = np.where((cube["observed"].values == 0)[..., None, None], np.nan, prob)
    axis = time_axis(cube, n_steps)
    shown = min(n_series, MAX_ROWS)
    height = 0.6 + n_sources * (0.42 + max(0.5, min(1.5, 0.13 * shown)))
    figure = style.new_figure(height=height)
    panels = figure.subplots(n_sources, n_regimes - 1, sharex=True, sharey=True, squeeze=False)
    for i in range(n_sources):
        for c in range(1, n_regimes):
            panel = panels[i, c - 1]
            image = style.heat(panel, prob[:shown, :, i, c], vmin=0, vmax=1)
            panel.set_title(f"{component(i)}, regime {c + 1}")
            _step_events(panel, events, axis)
            _series_ticks(panel, names(posterior, "series")[:shown])
            _time_ticks(panel, axis)
    style.colour_bar(panels[0, -1], image, "probability", {0: "0", 0.5: "0.5", 1: "1"})
    figure.supxlabel(axis.label, fontsize=9)
    known = prob[np.isfinite(prob).all(axis=-1)]
    sharp = float((known.max(axis=-1) > 0.9).mean()) if len(known) else float("nan")
    switches = _switches(prob)
    caption = (
        f"{plural(shown, 'series')} of {n_series} as rows; the regimes of a component are ordered"
        f" by their mean, so the last is the highest. {100 * sharp:.0f}% of the steps are assigned"
        f" with probability above 0.9, and a series switches {format_value(switches)} times per"
        " component on average."
    )
    alt = (
        f"Heat maps of regime probabilities, series down and {axis.label} across, for"
        f" {plural(n_sources, 'component')} and {n_regimes} regimes."
    )
    index = pd.MultiIndex.from_product(
        [names(posterior, "series")[:shown], range(n_steps), range(1, n_sources + 1)],
        names=["series", "step", "component"],
    )
    table = pd.DataFrame(
        {f"regime {c + 1}": prob[:shown, ..., c].reshape(-1) for c in range(n_regimes)}, index=index
    ).reset_index()
    return style.Plot(figure, table, "Regimes over time", caption, alt)


def _one_regime(posterior: xr.Dataset) -> style.Plot:
    """Return the figure of a model whose components have one regime each."""
    figure = style.new_figure(height=0.8)
    panel = figure.subplots()
    panel.axis("off")
    text = "One regime: nothing switches."
    panel.text(0.5, 0.5, text, ha="center", va="center")
    table = pd.DataFrame({"component": range(1, posterior.sizes["source"] + 1), "regimes": 1})
    caption = "The model has one regime for each component, so there is nothing to show."
    return style.Plot(figure, table, "Regimes over time", caption, text)


def _switches(prob: np.ndarray) -> float:
    """Return the mean number of changes of the likeliest regime per series and source."""
    best = np.where(np.isfinite(prob).all(axis=-1), np.argmax(np.nan_to_num(prob), axis=-1), -1)
    changed = (best[:, 1:] != best[:, :-1]) & (best[:, 1:] >= 0) & (best[:, :-1] >= 0)
    return float(changed.sum(axis=1).mean())


def _step_events(panel: Any, events: Sequence[Mapping[str, Any]], axis: Any) -> None:
    """Mark events on an axis of step numbers, between the steps around their time."""
    for event in events:
        place = float(np.interp(float(event["time"]), axis.values, np.arange(len(axis.values))))
        panel.axvline(place - 0.5, color=style.INK, linewidth=0.9, linestyle=(0, (3, 2)))


def _series_ticks(panel: Any, labels: list[str]) -> None:
    if len(labels) <= 12:
        panel.set_yticks(range(len(labels)), [short(s, 14) for s in labels])
    else:
        panel.set_ylabel("series")
        panel.locator_params(axis="y", nbins=4, integer=True)


def _time_ticks(panel: Any, axis: Any) -> None:
    total = len(axis.values)
    places = np.unique(np.linspace(0, total - 1, min(7, total)).round().astype(int))
    panel.set_xticks(places, [format_value(float(axis.values[p])) for p in places])


@style.styled
def stability(matrix: pd.DataFrame, medoid: str = "") -> style.Plot:
    """Draw the matched mean |cos| of the mixing between every two fits.

    Parameters
    ----------
    matrix : DataFrame
        Square and symmetric; names of the fits as index and columns.
    medoid : str
        The most central fit, which was chosen.
    """
    values = matrix.to_numpy(float)
    n = len(values)
    size = max(2.2, min(5.0, 0.42 * n + 1.2))
    figure = style.new_figure(width=min(style.WIDTH, size + 1.6), height=size)
    panel = figure.subplots()
    image = style.heat(panel, values, vmin=0, vmax=1, aspect="equal")
    marks = [f"{name} *" if str(name) == medoid else str(name) for name in matrix.index]
    panel.set_yticks(range(n), [short(m, 16) for m in marks])
    panel.set_xticks(range(n), [short(m, 16) for m in marks], rotation=90 if n > 5 else 0)
    if n <= 10:
        for (i, j), v in np.ndenumerate(values):
            if np.isfinite(v):
                ink = style.ON_COLOUR if v > 0.6 else style.INK
                panel.text(j, i, f"{v:.2f}", ha="center", va="center", fontsize=7.5, color=ink)
    style.colour_bar(panel, image, "matched mean |cos|")
    other = values[~np.eye(n, dtype=bool)]
    low = float(np.nanmin(other)) if other.size else float("nan")
    mean = float(np.nanmean(other)) if other.size else float("nan")
    star = f" The starred fit, {medoid}, is the most central and is shown here." if medoid else ""
    caption = (
        f"Between {plural(n, 'fit')} the matched mean |cos| of the mixing columns is"
        f" {format_value(mean)} on average and {format_value(low)} at the least.{star}"
    )
    alt = (
        f"A {n} by {n} matrix of similarities between fits, mean {format_value(mean)},"
        f" lowest {format_value(low)}."
    )
    table = matrix.rename_axis("fit").reset_index()
    return style.Plot(figure, table, "Stability over fits", caption, alt)
