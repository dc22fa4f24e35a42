"""Optima beside published ones."""

from __future__ import annotations

import numpy as np
import pandas as pd

from headwater.core import style

from .ticks import plain_log

ROUNDING = 5e-5  # half a unit of the last of five digits
FLOOR = 1e-9


@style.styled
def published_dots(table: pd.DataFrame) -> style.Plot:
    """Draw the relative difference from every published and MATPOWER optimum.

    Parameters
    ----------
    table : DataFrame
        As `headwater.opf.published.published_table` returns it.
    """
    objectives = table[~table["quantity"].str.endswith("%")]
    kinds = (("published", "difference"), ("MATPOWER", "matpower_difference"))
    cases = list(dict.fromkeys(objectives["case"]))
    figure = style.new_figure(height=1.1 + 0.2 * len(cases))
    axes = figure.subplots()
    rows = []
    for k, (label, column) in enumerate(kinds):
        part = objectives[objectives[column].notna()]
        size = np.maximum(part[column].abs().to_numpy(dtype=float), FLOOR)
        at = [cases.index(c) for c in part["case"]]
        marker = "o" if k == 0 else "D"
        axes.scatter(size, at, s=22, marker=marker, color=style.colour(k), label=label, alpha=0.85)
        rows.append(part[["case", "quantity"]].assign(against=label, difference=part[column]))
    axes.axvline(ROUNDING, color=style.MUTED, linewidth=0.9, linestyle="--")
    plain_log(axes.xaxis)
    axes.set_xlim(FLOOR / 2, max(1e-3, axes.get_xlim()[1]))
    axes.set_yticks(range(len(cases)), [c.removeprefix("pglib_opf_") for c in cases])
    axes.set_ylim(len(cases) - 0.5, -0.5)
    axes.set_xlabel("relative difference of the optimum")
    axes.grid(axis="x")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2)
    numbers = pd.concat(rows, ignore_index=True)
    known = numbers[numbers["against"] == "published"]
    words = "No optimum was published for these networks."
    if len(known):
        within = int((known["difference"].abs() <= ROUNDING).sum())
        words = (
            f"{within} of {len(known)} published optima are met within the rounding of their five"
            " digits (dashed)."
        )
    peers = numbers[numbers["against"] == "MATPOWER"]
    if len(peers):
        worst = peers["difference"].abs().max()
        words += f" The largest difference from MATPOWER is {worst:.1e}."
    return style.Plot(
        figure,
        numbers,
        "Ours beside published optima and MATPOWER's",
        words,
        "Dots of relative differences on a logarithmic axis, one row per network.",
    )
