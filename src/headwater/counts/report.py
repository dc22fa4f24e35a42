"""The counts report page: plain data of every data set in, a `Page` out.

Head tables hold rows of metrics.tsv and nothing else. Who won is said in words, also where a
trivial baseline beats the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.core.comparison import (
    Measure,
    comparison_table,
    duel,
    head_rows,
    is_null,
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
from headwater.core.style import Plot

from .figures import perturbation, score_bars
from .report_notes import FORECAST, draws_note, fit_note, folds_note, tests_table

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

# Metrics of the head tables; what metrics.tsv does not hold is not shown.
RECOVERY = (
    Measure("mixing_cosine", "matched |cos| of the mixing", True),
    Measure("source_mcc", "source MCC", True),
    Measure("regime_ari", "regime ARI", True),
)
# Headings of a data set's section and the figures under each, by their names.
GROUPS = (
    ("The data", ("observed",)),
    ("The fit", ("bound", "selection", "stability")),
    ("The components", ("mixing", "sources", "regimes", "fitted")),
    ("Against the truth", ("recovery",)),
    ("Forecasts", ("scores", "forecasts", "pit")),
    ("What if", ("perturbation",)),
)
KINDS = {"simulated": "Simulated data", "embedded": "Embedded example data"}
REFERENCES = (
    (
        "Chaussard, Bonnet, Le Corff: Independent Component Discovery in Temporal Count Data."
        " ICML 2026, arXiv 2601.21696",
        "https://arxiv.org/abs/2601.21696",
    ),
)


@dataclass(frozen=True)
class DatasetReport:
    """What the page shows of one data set.

    Attributes
    ----------
    name, title : str
        Key in metrics.tsv, and headline.
    cube : Dataset
        Its numbers make the data card.
    figures : sequence of Figure
        Names as in `GROUPS`, with ``<name>-`` in front.
    kind : str
        ``real``, ``embedded`` or ``simulated``.
    selected : mapping
        ``d`` and ``C``.
    starts : DataFrame, optional
        One row for each start: which, its bound, whether it won.
    warnings, notes : sequence of str
        Warnings go into the box; notes are paragraphs.
    tests : DataFrame, optional
        Of `paired.forecast_tests`.
    """

    name: str
    title: str
    cube: xr.Dataset
    figures: Sequence[Figure]
    kind: str = "real"
    selected: Mapping[str, Any] = field(default_factory=dict)
    starts: pd.DataFrame | None = None
    warnings: Sequence[str] = ()
    notes: Sequence[str] = ()
    tests: pd.DataFrame | None = None


def build_page(
    datasets: Sequence[DatasetReport],
    metrics: pd.DataFrame,
    provenance: Mapping[str, Any],
    stand_ins: Sequence[str] = (),
    references: Sequence[tuple[str, str]] = REFERENCES,
    metrics_file: str = "../metrics.tsv",
) -> Page:
    """Return the report page of a run.

    Parameters
    ----------
    datasets : sequence of DatasetReport
        In the order of the page; the first is on the landing page.
    metrics : DataFrame
        metrics.tsv of the domain.
    provenance : mapping
        As `headwater.core.provenance.build_provenance` returns it.
    stand_ins : sequence of str
        Sentences on defaults that stand in for a real component; they go into the banner.
    references : sequence of (text, address)
        Papers and data.
    metrics_file : str
        The way from the page to metrics.tsv.
    """
    wins = summary_table(datasets, metrics)
    sections = [
        Section("Summary", _summary(datasets, metrics, wins)),
        *(Section(d.title, _dataset(d, metrics)) for d in datasets),
        Section("All scores", _all_scores(metrics, metrics_file), folded=True),
        Section("Reproducibility", reproducibility(provenance)),
        Section("References", [Links(list(references))]),
    ]
    main = datasets[0] if datasets else None
    return Page(
        title="Independent components of temporal counts",
        lead=_lead(datasets, metrics),
        sections=sections,
        banner=banner(datasets, stand_ins),
        numbers=_numbers(datasets, metrics),
        head_figure=f"{main.name}-sources" if main else "",
        footer=f"Run {provenance.get('run', '')}; rebuild with: {provenance.get('command', '')}",
    )


def banner(datasets: Sequence[DatasetReport], stand_ins: Sequence[str] = ()) -> str:
    """Return what must be said at the top: which data are not real, what stands in for what."""
    parts = []
    for kind, words in KINDS.items():
        titles = [d.title for d in datasets if d.kind == kind]
        if titles:
            parts.append(f"{words}: {', '.join(titles)}.")
    if parts:
        parts.append("These results show how the method works; they are no finding.")
    return " ".join([*parts, *stand_ins])


def data_card(cube: xr.Dataset) -> Cards:
    """Return the numbers of a cube: shape, missing steps, zeros, exposure."""
    counts = cube["counts"].values
    seen = np.broadcast_to(cube["observed"].values[..., None] == 1, counts.shape)
    n_seen = int(seen.sum())
    zeros = float((counts[seen] == 0).mean()) if n_seen else float("nan")
    cards = [
        Card("series", counts.shape[0]),
        Card("steps", counts.shape[1], str(cube.attrs.get("time_units", ""))),
        Card("features", counts.shape[2]),
        Card(
            "entries observed",
            f"{100 * n_seen / max(1, counts.size):.1f}%",
            f"of {format_value(counts.size)}",
        ),
        Card("zeros among them", f"{100 * zeros:.1f}%" if n_seen else "–"),
        Card("largest count", int(counts[seen].max()) if n_seen else None),
    ]
    exposure = cube["exposure"].values if "exposure" in cube else np.array([])
    exposure = exposure[np.isfinite(exposure)]
    if exposure.size:
        kind = str(cube.attrs.get("exposure_kind", "")).replace("_", " ")
        span = format_interval(float(exposure.min()), float(exposure.max()))
        cards.append(Card("exposure, median", float(np.median(exposure)), f"{span}; {kind}"))
    return Cards(cards)


def summary_table(datasets: Sequence[DatasetReport], metrics: pd.DataFrame) -> pd.DataFrame:
    """Return who won on every data set: the best model beside the best baseline."""
    import pandas as pd

    lines = []
    for dataset in datasets:
        for measures in (RECOVERY, FORECAST):
            for label, rows in head_rows(metrics, dataset.name, measures):
                for measure in measures:
                    line = duel(rows, measure)
                    if line is not None:
                        lines.append((dataset.title, f"{measure.heading}; {label}", *line))
    columns = ["Data set", "Measure", "Best model", "Best baseline", "Winner"]
    return pd.DataFrame(lines, columns=columns)


def _lead(datasets: Sequence[DatasetReport], metrics: pd.DataFrame) -> str:
    if not datasets:
        return "No data set was configured."
    first = datasets[0]
    size = ""
    if first.selected:
        size = (
            f" {first.title}: {first.selected.get('d')} components with"
            f" {first.selected.get('C')} regimes each."
        )
    number = len(datasets)
    text = (
        f"Poisson log-normal ICA of {number} data set{'s' if number > 1 else ''}: which features"
        f" move together, when components change regime, and what comes next.{size}"
    )
    for measures in (FORECAST, RECOVERY):
        tables = head_rows(metrics, first.name, measures)
        if tables:
            return f"{text} {winner_sentence(tables[0][1], measures[0])}"
    return text


def _numbers(datasets: Sequence[DatasetReport], metrics: pd.DataFrame) -> list[Card]:
    """Return the head numbers: the model's best, with the best baseline beside it."""
    cards = []
    for dataset in datasets:
        for measures in (RECOVERY, FORECAST):
            for _, rows in head_rows(metrics, dataset.name, measures)[:1]:
                both = duel(rows, measures[0])
                if both is not None:
                    ours, theirs, _ = both
                    label = f"{dataset.title}: {measures[0].label}"
                    cards.append(Card(label, ours.text, f"{theirs.small}: {theirs.text}"))
    return cards[:6]


def _summary(
    datasets: Sequence[DatasetReport], metrics: pd.DataFrame, wins: pd.DataFrame
) -> list[Block]:
    blocks: list[Block] = []
    if len(wins):
        lost = int((wins["Winner"] == "baseline").sum())
        caption = (
            f"The model wins {len(wins) - lost} of {len(wins)} comparisons with the best of all"
            f" baselines and loses {lost}."
        )
        blocks.append(Table("who-won", "Who won", wins, caption))
    else:
        blocks.append(Text(["No measure has both a model and a baseline to compare."]))
    warnings = [f"{d.title}: {w}" for d in datasets for w in d.warnings]
    blocks.append(Notes("Warnings", warnings, empty="No data set and no fit raised a warning."))
    return blocks


def _dataset(report: DatasetReport, metrics: pd.DataFrame) -> list[Block]:
    about = [str(report.cube.attrs[k]) for k in ("source", "licence") if report.cube.attrs.get(k)]
    notes = [". ".join(about), *report.notes, draws_note(metrics, report.name)]
    blocks: list[Block] = [Text([n for n in notes if n])]
    blocks.append(data_card(report.cube))
    blocks.append(
        Notes("Warnings", report.warnings, empty="The checks of data and fit found nothing.")
    )
    figures = {f.name.removeprefix(f"{report.name}-"): f for f in report.figures}
    named = {n for _, names in GROUPS for n in names}
    groups = [*GROUPS, ("More", tuple(n for n in figures if n not in named))]
    for title, names in groups:
        inside: list[Block] = [figures[n] for n in names if n in figures]
        if title == "The fit" and report.starts is not None:
            inside.append(_starts(report))
        if title == "Forecasts":
            inside = [
                *_head_tables(report, metrics, FORECAST),
                *tests_table(report.tests, report.name),
                *inside,
            ]
        if title == "Against the truth":
            inside = [*_head_tables(report, metrics, RECOVERY), *inside]
        if inside:
            blocks += [Heading(title), *inside]
    return blocks


def _starts(report: DatasetReport) -> Table:
    caption = "Bounds of the short fits from each start, in nats; the best one was finished."
    return Table(f"{report.name}-starts", "Starts", report.starts, caption)


def _head_tables(
    report: DatasetReport, metrics: pd.DataFrame, measures: Sequence[Measure]
) -> Iterable[Table]:
    kind = "Forecasts" if measures is FORECAST else "Recovery"
    for number, (label, rows) in enumerate(head_rows(metrics, report.name, measures), 1):
        present = [m for m in measures if m.metric in set(rows["metric"])]
        yield Table(
            f"{report.name}-{kind}-{number}",
            f"{kind}: {label}" if label else kind,
            comparison_table(rows, present),
            " ".join(winner_sentence(rows, m) for m in present),
        )


def _all_scores(metrics: pd.DataFrame, file: str) -> list[Block]:
    caption = f"{format_value(len(metrics))} rows, one number each, with intervals where defined."
    return [Table("all-scores", "metrics.tsv", metrics, caption, file)]


def dataset_report(
    about: Mapping[str, Any],
    *,
    cube: xr.Dataset,
    check: Mapping[str, Any],
    selected: Mapping[str, Any],
    fit: Mapping[str, Any],
    folds: Mapping[str, Any],
    tests: pd.DataFrame,
    figures: Sequence[Figure],
) -> DatasetReport:
    """Return what the page shows of a data set from the files of its stages.

    Parameters
    ----------
    about : mapping
        name, title, kind.
    check, fit : mapping
        check.json of the cube and fit.json of the chosen fit, with their warnings.
    folds : mapping
        Of `split.make_folds`; checked here once more.
    tests : DataFrame
        Of `paired.forecast_tests`.
    """
    import pandas as pd

    shown = [f for f in figures if selected["C"] > 1 or not f.name.endswith("-regimes")]
    return DatasetReport(
        name=about["name"],
        title=about["title"],
        cube=cube,
        figures=shown,
        kind=about["kind"],
        selected=selected,
        starts=pd.DataFrame(fit["starts"]),
        tests=tests,
        warnings=[*check["warnings"], *fit["warnings"]],
        notes=[fit_note(selected, fit), folds_note(cube, folds)],
    )


def recovery_bars(scores: pd.DataFrame, dataset: str) -> Plot:
    """Draw the recovery scores of one data set, with chance beside the cosine."""
    _, rows = head_rows(scores, dataset, RECOVERY)[0]
    null = rows[rows["method"].map(is_null) & (rows["metric"] == "mixing_cosine")]
    chance = {"mixing_cosine": float(null["value"].iloc[0])} if len(null) else {}
    kept = rows[~rows["method"].map(is_null)]
    return score_bars(kept, RECOVERY, "What was found, against the truth", chance)


def forecast_bars(scores: pd.DataFrame, dataset: str) -> Plot:
    """Draw the forecast scores of one data set, after the origin only."""
    tables = head_rows(scores, dataset, FORECAST)
    label, rows = next((t for t in tables if "horizon" in t[0]), tables[0])
    return score_bars(rows, FORECAST, f"Forecasts of held-out series ({label})")


def response_plot(response: xr.Dataset, cube: xr.Dataset) -> Plot:
    """Draw the answer to the first intervention, in natural logarithms."""
    first = response.isel(intervention=0)
    scale = float(np.log(2))
    name = "log2_fold_change"
    start = int(first["start"])
    times = np.nanmean(cube["time"].values, axis=0)
    marks = [{"time": float(times[start]), "label": "begins"}]
    return perturbation(
        first[name] * scale,
        first[f"{name}_q05"] * scale,
        first[f"{name}_q95"] * scale,
        str(first["intervention"].values),
        cube,
        marks,
    )
