"""What a synthesis made: effects, reasons of rejection, coverage."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from headwater.core import style
from headwater.core.format import format_value

from .ticks import plain_log, whole


@style.styled
def effect_histogram(manifest: pd.DataFrame) -> style.Plot:
    """Draw how much the changes of an instance move its optimum.

    Parameters
    ----------
    manifest : DataFrame
        With ``relative_change`` and ``level``.
    """
    size = manifest["relative_change"].abs().clip(lower=1e-6)
    edges = np.logspace(np.floor(np.log10(size.min())), np.ceil(np.log10(size.max())), 31)
    figure = style.new_figure(height=2.8)
    axes = figure.subplots()
    levels = sorted(manifest["level"].unique())
    counts = [np.histogram(size[manifest["level"] == k], edges)[0] for k in levels]
    below = np.zeros(len(edges) - 1)
    for k, (level, count) in enumerate(zip(levels, counts, strict=True)):
        widths = np.diff(edges)
        axes.bar(
            edges[:-1],
            count,
            widths,
            below,
            align="edge",
            color=style.colour(k),
            label=f"level {level}",
        )
        below = below + count
    plain_log(axes.xaxis)
    whole(axes.yaxis)
    axes.axvline(1e-4, color=style.MUTED, linestyle="--", linewidth=0.9)
    axes.set_xlabel("relative change of the optimum")
    axes.set_ylabel("instances")
    axes.legend(ncols=4, loc="lower right", bbox_to_anchor=(1, 1))
    table = pd.DataFrame({"from": edges[:-1], "to": edges[1:]})
    for level, count in zip(levels, counts, strict=True):
        table[f"level_{level}"] = count
    words = (
        f"The median change is {100 * size.median():.2g}%; an instance whose optimum moves by"
        " less than 1e-4 (dashed) was not accepted, as a score could not see it."
    )
    return style.Plot(
        figure,
        table,
        "How much a request matters",
        words,
        "Histogram of relative changes by level.",
    )


@style.styled
def reject_bars(rejects: pd.DataFrame) -> style.Plot:
    """Draw why attempts were rejected.

    Parameters
    ----------
    rejects : DataFrame
        With ``reason`` and ``count``.
    """
    total = rejects.groupby("reason")["count"].sum().sort_values(ascending=False)
    figure = style.new_figure(height=0.9 + 0.26 * max(1, len(total)))
    axes = figure.subplots()
    names = [str(n).replace("_", " ") for n in total.index]
    axes.barh(range(len(total)), total.to_numpy(), color=style.colour(1), height=0.7)
    axes.set_yticks(range(len(total)), names)
    axes.invert_yaxis()
    axes.set_xlabel("rejected attempts")
    whole(axes.xaxis)
    table = total.rename_axis("reason").reset_index()
    words = f"{format_value(int(total.sum()))} attempts were drawn and not accepted."
    if len(total):
        words += f" Most often: {names[0]} ({format_value(int(total.iloc[0]))})."
    return style.Plot(
        figure,
        table,
        "Why attempts were not accepted",
        words,
        "Bars of rejected attempts by reason.",
    )


@style.styled
def coverage_map(manifest: pd.DataFrame) -> style.Plot:
    """Draw how often every field and extension occurs on every network."""
    pairs = [
        (system, word)
        for system, words in zip(
            manifest["base_system"],
            manifest["fields"].fillna("") + "+" + manifest["structure"].fillna(""),
            strict=True,
        )
        for word in filter(None, str(words).split("+"))
    ]
    table = pd.DataFrame(pairs, columns=["system", "part"])
    counts = table.value_counts().unstack("system", fill_value=0)
    fields = [p for p in counts.index if p.isupper() or "_C" in p]
    counts = counts.loc[[*sorted(fields), *sorted(set(counts.index) - set(fields))]]
    figure = style.new_figure(height=1.2 + 0.19 * len(counts))
    axes = figure.subplots()
    image = style.heat(axes, counts.to_numpy(dtype=float), cmap=style.sequential())
    axes.set_yticks(range(len(counts)), [str(p).replace("_", " ") for p in counts.index])
    names = [str(c).removeprefix("pglib_opf_") for c in counts.columns]
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
    style.colour_bar(axes, image, "instances")
    empty = int((counts == 0).to_numpy().sum())
    words = (
        f"{len(counts)} fields and extensions on {len(names)} networks; {empty} of"
        f" {counts.size} combinations do not occur."
    )
    return style.Plot(
        figure,
        counts.reset_index(),
        "Which changes occur on which network",
        words,
        "Heat map of fields and extensions by network.",
    )


def figures_of(
    names: Sequence[str], manifest: pd.DataFrame, rejects: pd.DataFrame
) -> dict[str, style.Plot]:
    """Return the figures of a synthesis by name."""
    made = {
        "effects": lambda: effect_histogram(manifest),
        "rejects": lambda: reject_bars(rejects),
        "coverage": lambda: coverage_map(manifest),
    }
    return {name: made[name]() for name in names if name in made}
