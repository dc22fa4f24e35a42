"""Pages of `paper_counts_recovery` and `paper_counts_mice`: our numbers beside published ones.

Sentences are made from the numbers, so that a page says who won also where the model did not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from headwater.core import style
from headwater.core.comparison import is_null, plain_name
from headwater.core.format import Cell, format_interval, format_value
from headwater.core.page import (
    Block,
    Card,
    Code,
    Links,
    Notes,
    Page,
    Section,
    Table,
    Text,
    figure_of,
)

from .paper import METRICS, PARTS, design_table, published
from .report import FORECAST, REFERENCES

WIDE = 30.0  # beyond this ratio of largest to smallest value the axis is logarithmic
PART_TITLES = {
    "horizon": "Forecasts, steps after the origin alone",
    "paper_protocol": "Forecasts, the paper's protocol",
    "reconstruction": "Reconstruction of the mouse left out",
}
UNKNOWN = "The tables' last column says for every row what is not comparable."


def recovery_page(table: pd.DataFrame, scores: pd.DataFrame, command: str, seed: int) -> Page:
    """Return the page of the recovery in the paper's scenarios.

    Parameters
    ----------
    table : DataFrame
        Of `paper.recovery_table`.
    scores : DataFrame
        All rows of `paper.recovery_scores`.
    command : str
        What rebuilds the page.
    seed : int
        Of the run.
    """
    scenarios = published()["recovery"]["scenarios"]
    parts = {s: table[table["scenario"] == s].reset_index(drop=True) for s in scenarios}
    said = [_recovery_sentence(s, part) for s, part in parts.items()]
    said += _converged(scores)
    draws = int(table["draws"].max())
    plot = beside(
        {_words(s): part for s, part in parts.items()},
        "Mean matched |cos| of the mixing, ours and published",
        "higher is better; whiskers of ours are two sd over draws",
    )
    lead = (
        f"{draws} draw{'s' if draws > 1 else ''} of each simulated scenario of the paper; every"
        " method is compared with the mixing matrix of its own scenario."
    )
    caption = (
        "Ours is the mean over draws, with the sd over draws and the sd over all columns; null is"
        " what random columns with the signs of the estimate reach. Source MCC: "
    )
    blocks: list[Block] = [Text(said), figure_of(plot, "beside", "recovery.tsv")]
    sections = [Section("Summary", blocks)]
    for scenario, part in parts.items():
        shown = _recovery_rows(part)
        mcc = _source_mcc(scores, scenario)
        sections.append(
            Section(
                _words(scenario),
                [Table(scenario, _words(scenario), shown, caption + mcc, "recovery.tsv")],
            )
        )
    design = design_table(scores)
    text = "The facts of our draws, and those published; a large gap would mean another design."
    sections.append(Section("The same design?", [Table("design", "Design", design, text)]))
    return _page(
        "Recovery of the paper's scenarios",
        lead,
        sections,
        "recovery",
        command,
        seed,
        banner="Simulated data. These results show how the method works; they are no finding.",
        numbers=[_recovery_card(s, part) for s, part in parts.items()],
    )


def mice_page(table: pd.DataFrame, scores: pd.DataFrame, command: str, seed: int) -> Page:
    """Return the page of the mice left out.

    Parameters as of `recovery_page`, `table` from `paper.mice_table`.
    """
    titles = {m.metric: m.heading for m in FORECAST}
    horizon = table[table["part"] == "horizon"]
    plot = beside(
        {titles[m]: horizon[horizon["metric"] == m] for m in METRICS},
        "Forecasts of the mouse left out, ours and published",
        "lower is better; whiskers are 95% intervals over mice",
    )
    said = [_mice_sentence(table, part, m) for part in (*PARTS, "reconstruction") for m in METRICS]
    blocks: list[Block] = [Text(said), figure_of(plot, "beside", "mice.tsv")]
    sections = [Section("Summary", blocks)]
    for part, title in PART_TITLES.items():
        tables = [
            Table(
                f"{part}-{metric}",
                titles[metric],
                _mice_rows(table[(table["part"] == part) & (table["metric"] == metric)]),
                _mice_sentence(table, part, metric),
                "mice.tsv",
            )
            for metric in METRICS
        ]
        sections.append(Section(title, tables))
    lead = (
        "Leave one mouse out, 13 taxa: the mouse left out is reconstructed from all its steps,"
        " and forecast from every origin. The simplest baselines stand in the same tables."
    )
    cards = [_mice_card(table, metric, titles[metric]) for metric in METRICS]
    return _page(
        "The gnotobiotic mice of the paper",
        lead,
        sections,
        "mice",
        command,
        seed,
        numbers=[c for c in cards if c is not None],
    )


@style.styled
def beside(panels: Mapping[str, pd.DataFrame], title: str, what: str) -> style.Plot:
    """Draw ours (filled, with whiskers) and published numbers (open), a panel for each title.

    Parameters
    ----------
    panels : mapping of title to DataFrame
        method, setting, value, published and either ci_low and ci_high or sd_draws.
    title, what : str
        Headline, and how to read it.
    """
    labels = list(dict.fromkeys(_label(row) for p in panels.values() for row in _records(p)))
    figure = style.new_figure(height=1.1 + 0.24 * len(labels))
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for panel, (name, part) in zip(axes, panels.items(), strict=True):
        values: list[float] = []
        for row in _records(part):
            y, (low, high) = labels.index(_label(row)), _ends(row)
            if pd.notna(row["value"]):
                ends = [low, high] if pd.notna(low) else [row["value"]] * 2
                panel.plot(ends, [y, y], color=style.colour(0), lw=1.2)
                panel.plot([row["value"]], [y], "o", color=style.colour(0), ms=4)
                values.append(row["value"])
            if pd.notna(row["published"]):
                open_mark = {"mfc": "none", "mec": style.colour(1), "ms": 6}
                panel.plot([row["published"]], [y], "D", **open_mark)
                values.append(row["published"])
        if values and min(values) > 0 and max(values) > WIDE * min(values):
            panel.set_xscale("log")
        panel.set_title(name.split(" (")[0], loc="left")
        panel.grid(axis="x", lw=0.4, alpha=0.5)
    axes[0].set_yticks(range(len(labels)), labels)
    axes[0].set_ylim(len(labels) - 0.4, -0.6)
    shown = pd.concat([p.assign(panel=n) for n, p in panels.items()], ignore_index=True)
    columns = [c for c in ("panel", "method", "setting", "value", "published") if c in shown]
    caption = f"Filled: ours; open diamonds: published; {what}. {UNKNOWN}"
    alt = f"Numbers of {len(labels)} methods beside the published ones in {len(panels)} panels."
    return style.Plot(figure, shown[columns], title, caption, alt)


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return table.to_dict("records")


def _label(row: Mapping[str, Any]) -> str:
    """Return a method's name, with d where a page has several."""
    setting = row.get("setting")
    setting = setting if isinstance(setting, str) and setting else row.get("published_setting")
    sizes = dict(
        p.strip().split("=", 1) for p in str(setting).replace(",", ";").split(";") if "=" in p
    )
    name = plain_name(str(row["method"]))
    model = str(row["method"]).startswith("plnica") and "part" in row
    return f"{name} d={sizes['d']}" if model and "d" in sizes else name


def _ends(row: Mapping[str, Any]) -> tuple[Any, Any]:
    if "ci_low" in row:
        return row["ci_low"], row["ci_high"]
    return row["value"] - 2 * row["sd_draws"], row["value"] + 2 * row["sd_draws"]


def _recovery_sentence(scenario: str, part: pd.DataFrame) -> str:
    """Return who recovered best, what the published fits reached, and what chance gives."""
    own = part[part["value"].notna() & ~part["method"].map(is_null)]
    if own.empty:
        return f"{_words(scenario)}: nothing was run."
    best = own.loc[own["value"].idxmax()]
    model = own[own["method"].str.startswith("plnica")]
    rest = own[~own["method"].str.startswith("plnica")]
    text = (
        f"{_words(scenario)}: the highest |cos| is {format_value(float(best['value']))},"
        f" {plain_name(best['method'])}"
    )
    if len(model) and len(rest):
        a, b = model.loc[model["value"].idxmax()], rest.loc[rest["value"].idxmax()]
        text += (
            f"; best family of the model {plain_name(a['method'])} with"
            f" {format_value(float(a['value']))} (published {format_value(a['published'])}), best"
            f" baseline {plain_name(b['method'])} with {format_value(float(b['value']))}"
            f" (published {format_value(b['published'])})"
        )
    null = part[part["method"] == "null"]["value"].dropna()
    if len(null):
        text += f"; random positive columns reach {format_value(float(null.iloc[0]))}"
        if len(model) and model["value"].max() < null.iloc[0]:
            text += ", more than the model"
    return text + "."


def _converged(scores: pd.DataFrame) -> list[str]:
    """Return how many fits ran out of epochs before their bound stood still."""
    ended = scores[scores["metric"] == "converged"]["value"]
    if ended.empty:
        return []
    short = int((ended == 0).sum())
    return [
        f"{short} of {len(ended)} fits of the model used all their epochs before the bound stood"
        " still. A higher bound is no promise of a higher |cos|."
    ]


def _recovery_card(scenario: str, part: pd.DataFrame) -> Card:
    row = part[part["method"] == "plnica"].iloc[0]
    theirs = format_value(row["published"])
    return Card(f"{_words(scenario)}: |cos|, family ar", row["value"], f"published {theirs}")


def _source_mcc(scores: pd.DataFrame, scenario: str) -> str:
    """Return the source MCC of every method in words; published is one number for all."""
    own = scores[(scores["dataset"] == f"paper_{scenario}") & (scores["metric"] == "source_mcc")]
    means = own.groupby("method", sort=False)["value"].mean()
    said = ", ".join(f"{plain_name(m)} {format_value(float(v))}" for m, v in means.items())
    theirs = published()["recovery"]["source_mcc"]["value"]
    return f"{said}; published for the model {format_value(theirs)} in every scenario."


def _recovery_rows(part: pd.DataFrame) -> pd.DataFrame:
    """Return a table of the page, best of ours first, then what only was published."""
    part = _plain(part.sort_values("value", ascending=False, kind="stable", na_position="last"))
    rows = [
        {
            "method": row["method"],
            "ours": _with_sd(row["value"], row["sd_draws"], row["sd_columns"]),
            "null": _with_sd(row["null"]),
            "published": _with_sd(row["published"], row["published_sd"]),
            "ours - published": _with_sd(row["difference"]),
            "what is not comparable": row["note"],
        }
        for row in _records(part)
    ]
    return pd.DataFrame(rows)


def _with_sd(value: float, *spreads: float) -> Cell:
    """Return a number with three decimals, with its sds below it."""
    if pd.isna(value):
        return Cell("–", float("-inf"))
    known = [f"{s:.3f}" for s in spreads if pd.notna(s)]
    text = f"{value:.3f}".replace("-", "\u2212")
    return Cell(text, float(value), f"sd {', '.join(known)}" if known else "")


def _mice_rows(part: pd.DataFrame) -> pd.DataFrame:
    """Return a table of the page, best of ours first, then what only was published."""
    part = _plain(part.sort_values("value", kind="stable", na_position="last"))
    return pd.DataFrame(
        {
            "method": part["method"],
            "setting": part["setting"].where(part["setting"] != "", part["published_setting"]),
            "ours": [
                Cell(
                    format_value(row["value"]),
                    float(row["value"]),
                    format_interval(row["ci_low"], row["ci_high"]),
                )
                for row in _records(part)
            ],
            "published": part["published"],
            "gap": part["difference"],
            "what is not comparable": part["note"],
        }
    )


def _mice_sentence(table: pd.DataFrame, part: str, metric: str) -> str:
    """Return the best of ours and of the published by one metric."""
    label = next(m.label for m in FORECAST if m.metric == metric)
    rows = table[(table["part"] == part) & (table["metric"] == metric)]
    said = []
    for who, column in (("ours", "value"), ("published", "published")):
        known = rows[rows[column].notna()]
        if len(known):
            best = known.loc[known[column].idxmin()]
            model = known[known["method"] == "plnica"][column]
            text = f"best of {who} {_label(best)} with {format_value(float(best[column]))}"
            if best["method"] != "plnica" and len(model):
                text += f", the model {format_value(float(model.min()))}"
            said.append(text)
    return f"{PART_TITLES[part]}, {label}: {'; '.join(said) or 'nothing was scored'}."


def _mice_card(table: pd.DataFrame, metric: str, title: str) -> Card | None:
    rows = table[(table["part"] == "horizon") & (table["metric"] == metric)]
    row = rows[(rows["method"] == "plnica") & rows["value"].notna()]
    if row.empty:
        return None
    first = row.iloc[0]
    return Card(
        f"{title.split(' (')[0]}, {_label(first)}",
        float(first["value"]),
        f"published {format_value(first['published'])}",
    )


def _plain(part: pd.DataFrame) -> pd.DataFrame:
    """Return a part with names as a reader meets them, and no missing texts."""
    texts = [c for c in ("setting", "note", "published_setting") if c in part]
    part = part.assign(**{c: part[c].fillna("").astype(str) for c in texts})
    return part.assign(
        method=part["method"].map(plain_name), setting=part["setting"].str.replace(";", ", ")
    )


def _words(scenario: str) -> str:
    return scenario.replace("_", " ").capitalize()


def _page(
    title: str,
    lead: str,
    sections: Sequence[Section],
    part: str,
    command: str,
    seed: int,
    banner: str = "",
    numbers: Sequence[Card] = (),
) -> Page:
    """Return the page with what both share: what is not comparable, sources, the command."""
    numbers_of = published()[part]
    sources = f"Published numbers: {numbers_of['source']}. They are no result of this run."
    notes = [*numbers_of["notes"], *numbers_of.get("qualitative", [])]
    closing = [
        Section("What is not comparable", [Notes("Not comparable", [UNKNOWN, *notes])]),
        Section(
            "Sources and command",
            [
                Text([sources]),
                Code("This page is rebuilt by", command),
                Text([f"Seed of the run: {seed}."]),
                Links(list(REFERENCES)),
            ],
        ),
    ]
    return Page(
        title=title,
        lead=lead,
        sections=[*sections, *closing],
        banner=banner,
        numbers=list(numbers),
        footer=f"Rebuild with: {command}",
    )
