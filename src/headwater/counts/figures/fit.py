"""How the fit went: the bound over epochs, and the choice of d and C."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from headwater.core import style
from headwater.core.format import format_value

TERMS = ("elbo", "emission", "dynamics", "entropy")
SHIFT = 0.04  # lines stand a little apart
TITLES = {"elbo": "bound (ELBO)", "emission": "emission", "dynamics": "dynamics"}


@style.styled
def elbo_curve(trace: pd.DataFrame, unit: str = "nat") -> style.Plot:
    """Draw the bound and its three terms over the epochs.

    Parameters
    ----------
    trace : DataFrame
        epoch, elbo, emission, dynamics, entropy, in nats. The axis leaves out the first
        tenth of the epochs, where the start dwarfs the rest.
    unit : str
        Written on the axes.
    """
    terms = [t for t in TERMS if t in trace]
    epochs = trace["epoch"].to_numpy(float)
    figure = style.new_figure(height=2.5)
    panels = figure.subplots(1, len(terms), squeeze=False)[0]
    for i, (panel, term) in enumerate(zip(panels, terms, strict=True)):
        values = trace[term].to_numpy(float)
        panel.plot(epochs, values, color=style.colour(i), linewidth=1.3)
        late = values[len(values) // 10 :]
        late = late[np.isfinite(late)]
        if late.size and late.max() > late.min():
            margin = 0.08 * (late.max() - late.min())
            panel.set_ylim(late.min() - margin, late.max() + margin)
        panel.set_title(TITLES.get(term, term))
        panel.set_xlabel("epoch")
        panel.locator_params(axis="both", nbins=4)
    panels[0].set_ylabel(unit)
    elbo = trace["elbo"].to_numpy(float)
    finite = elbo[np.isfinite(elbo)]
    last = float(finite[-1]) if finite.size else float("nan")
    half = float(finite[len(finite) // 2]) if finite.size else float("nan")
    caption = (
        f"The bound ends at {format_value(last)} {unit} after {format_value(len(trace))} epochs."
        f" In the second half of the epochs it gained {format_value(last - half)} {unit}; the"
        " vertical axes leave out the first tenth."
    )
    alt = (
        f"Line plots over {len(trace)} epochs: the bound ends at {format_value(last)} {unit};"
        f" its terms are {', '.join(terms[1:])}."
    )
    table = trace[["epoch", *terms]]
    return style.Plot(figure, table, "The bound over the epochs", caption, alt)


@style.styled
def selection_curve(table: pd.DataFrame, chosen: Mapping[str, Any]) -> style.Plot:
    """Draw held-out and training bounds per entry against d, one line for each C.

    Parameters
    ----------
    table : DataFrame
        One row for each (d, C, fold, seed): d, C, heldout and, if there, elbo_train, both in
        nats per observed count. Error bars are standard errors over rows.
    chosen : mapping
        ``d`` and ``C`` of the choice.
    """
    columns = [c for c in ("heldout", "elbo_train") if c in table]
    grouped = table.groupby(["C", "d"])[columns]
    means, errors = grouped.mean(), grouped.sem()
    regimes = sorted(table["C"].unique())
    figure = style.new_figure(height=3.1)
    panel = figure.subplots()
    for i, c in enumerate(regimes):
        _selection_lines(panel, means.loc[c], errors.loc[c], i, f"C = {c}")
    best = float(means.loc[(chosen["C"], chosen["d"]), "heldout"])
    place = chosen["d"] + SHIFT * regimes.index(chosen["C"])
    ring = {"markersize": 13, "fillstyle": "none", "color": style.INK, "label": "chosen"}
    panel.plot([place], [best], "o", **ring)
    panel.set_xlabel("number of components d")
    panel.set_ylabel("bound (nat per count entry)")
    panel.set_xticks(sorted(table["d"].unique()))
    panel.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    shown = pd.concat([means, errors.add_suffix("_se"), grouped.size().rename("n")], axis=1)
    top = means["heldout"].idxmax()
    caption = (
        f"The one-standard-error rule takes d = {chosen['d']} and C = {chosen['C']} with a held-out"
        f" bound of {format_value(best)} nat per entry. The highest bound,"
        f" {format_value(float(means['heldout'].max()))}, belongs to d = {top[1]} and C = {top[0]};"
        " bars are standard errors over folds and seeds."
    )
    alt = (
        "Held-out bound against the number of components, a line for each number of regimes;"
        f" d = {chosen['d']}, C = {chosen['C']} is ringed."
    )
    title = "Choice of components and regimes"
    return style.Plot(figure, shown.reset_index(), title, caption, alt)


def _selection_lines(
    panel: Any, means: pd.DataFrame, errors: pd.DataFrame, index: int, label: str
) -> None:
    """Draw held-out means with standard errors and, dotted, the training bound."""
    places = means.index + SHIFT * index
    panel.errorbar(
        places,
        means["heldout"],
        errors["heldout"],
        color=style.colour(index),
        marker="os^Dv"[index % 5],
        capsize=2.5,
        linewidth=1.5,
        label=f"{label}, held out",
    )
    if "elbo_train" in means:
        panel.plot(
            places,
            means["elbo_train"],
            color=style.colour(index),
            linestyle=(0, (2, 2)),
            linewidth=1.0,
            label=f"{label}, training",
        )
