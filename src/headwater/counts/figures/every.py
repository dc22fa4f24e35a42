"""All figures of one data set at once, in the order of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import components, data, fit, prediction, scores

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from headwater.core.comparison import Measure
    from headwater.core.style import Plot


@dataclass(frozen=True)
class Results:
    """What was computed of one data set; what is None or empty has no figure.

    Attributes
    ----------
    cube, posterior : Dataset
        As in docs/counts.md, same series.
    trace : DataFrame
        epoch, elbo, emission, dynamics, entropy.
    selection : DataFrame
        As `selection_curve` takes it.
    selected : mapping
        ``d`` and ``C``.
    stability : DataFrame
        Square, as `stability` takes it.
    medoid : str
        Name of the most central fit.
    spread : DataArray
        Standard deviation of loadings over matched fits (feature, source).
    forecasts : mapping of str to Dataset
        The model first.
    t0 : int
        First forecast step.
    pit : DataFrame
        As `pit_histogram` takes it.
    comparisons : mapping of str to (rows, measures, title, null)
        By figure name (``scores``, ``recovery``), as `score_bars` takes them.
    response : mapping
        Arguments of `perturbation`.
    events : sequence of mapping
        ``{time, label}``.
    """

    cube: xr.Dataset
    posterior: xr.Dataset
    trace: pd.DataFrame | None = None
    selection: pd.DataFrame | None = None
    selected: Mapping[str, Any] = field(default_factory=dict)
    stability: pd.DataFrame | None = None
    medoid: str = ""
    spread: xr.DataArray | None = None
    forecasts: Mapping[str, xr.Dataset] = field(default_factory=dict)
    t0: int = 0
    pit: pd.DataFrame | None = None
    comparisons: Mapping[str, tuple[pd.DataFrame, Sequence[Measure], str, Mapping[str, float]]] = (
        field(default_factory=dict)
    )
    response: Mapping[str, Any] = field(default_factory=dict)
    events: Sequence[Mapping[str, Any]] = ()


def draw(results: Results) -> dict[str, Plot]:
    """Return the figures of a data set by name, those for which there is something to show."""
    r = results
    plots: dict[str, Plot] = {"observed": data.observed_counts(r.cube)}
    if r.trace is not None:
        plots["bound"] = fit.elbo_curve(r.trace)
    if r.selection is not None and len(r.selection):
        plots["selection"] = fit.selection_curve(r.selection, r.selected)
    if r.stability is not None and len(r.stability) > 1:
        plots["stability"] = components.stability(r.stability, r.medoid)
    plots["mixing"] = components.mixing(r.posterior, r.spread)
    plots["sources"] = components.sources(r.posterior, r.cube, r.events)
    if r.posterior.sizes.get("regime", 1) > 1:
        plots["regimes"] = components.regimes(r.posterior, r.cube, r.events)
    plots["fitted"] = data.observed_fitted(r.cube, r.posterior)
    for name in ("recovery", "scores"):
        if name in r.comparisons:
            plots[name] = scores.score_bars(*r.comparisons[name])
    if r.forecasts:
        plots["forecasts"] = prediction.forecast_panels(r.cube, r.forecasts, r.t0)
    if r.pit is not None and len(r.pit):
        plots["pit"] = prediction.pit_histogram(r.pit)
    if r.response:
        plots["perturbation"] = prediction.perturbation(cube=r.cube, **r.response)
    return plots
