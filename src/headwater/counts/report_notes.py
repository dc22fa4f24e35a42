"""Sentences and the table of tests of a data set's part of the report page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headwater.core.comparison import Measure, plain_name
from headwater.core.format import format_value
from headwater.core.page import Table

from .split import check_folds

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

FORECAST = (
    Measure("deviance", "Poisson deviance", False, "nat per entry"),
    Measure("mae_log1p", "MAE of log(1 + count)"),
    Measure("aitchison", "Aitchison distance"),
)
LEVEL = 0.05  # of the tests
HEADINGS = ("Measure", "Against", "Series that differ", "Median difference", "p", "p, adjusted")
HEADINGS = (*HEADINGS, "Effect")


def tests_table(tests: pd.DataFrame | None, dataset: str) -> list[Table]:
    """Return the table that says which differences between forecasters are more than chance.

    Parameters
    ----------
    tests : DataFrame
        Of `paired.forecast_tests`.
    """
    if tests is None or tests.empty:
        return []
    words = {m.metric: m.label for m in FORECAST}
    table = tests.assign(
        metric=[words[m] for m in tests["metric"]],
        other=[plain_name(o) for o in tests["other"]],
    )
    sure = tests[tests["p_holm"] < LEVEL]
    better, worse = int((sure["effect"] < 0).sum()), int((sure["effect"] > 0).sum())
    caption = (
        "Our model against every other on the same held-out series, after the origin:"
        f" {better + worse} of {len(table)} differences are more than chance at {100 * LEVEL:g}%,"
        f" {better} in its favour and {worse} against it. Wilcoxon's signed-rank test, two-sided;"
        " p adjusted by Holm within a measure. Below 0 the model is better. With few series not"
        " even the clearest difference can be told from chance."
    )
    title = "Differences that are more than chance"
    return [Table(f"{dataset}-tests", title, table.set_axis(HEADINGS, axis=1), caption)]


def draws_note(metrics: pd.DataFrame, dataset: str) -> str:
    """Return how far counts drawn from the model lie from the data, in words."""
    own = metrics[(metrics["dataset"] == dataset) & (metrics["metric"] == "sliced_wasserstein2")]
    found = dict(zip(own["method"], own["value"], strict=True))
    if "plnica" not in found:
        return ""
    text = (
        "Counts drawn from the fitted model lie"
        f" {format_value(found['plnica'])} from the data (sliced Wasserstein-2 distance of"
        " standardised log counts)"
    )
    halves = f"; two halves of the data lie {format_value(found['null'])} apart"
    return text + (halves if "null" in found else "") + "."


def fit_note(selected: Mapping[str, Any], fit: Mapping[str, Any]) -> str:
    """Return what was fitted, and how training ended, in words."""
    how = selected["rule"]
    return (
        f"{selected['d']} sources with {selected['C']} regimes ({how}); training stopped after"
        f" {fit['epochs']} epochs ({fit['stopped']}) at {format_value(fit['elbo_per_entry'])} nat"
        " per observed count. The table of starts shows where the trial fits ended."
    )


def folds_note(cube: xr.Dataset, folds: Mapping[str, Any]) -> str:
    """Return what the check of the folds says; it raises where series leak."""
    check_folds(cube, folds)
    return (
        f"{len(folds['folds'])} folds of whole series, the same for every method; checked before"
        " each fit: no series is both trained on and tested in one fold, each is tested once."
    )
