"""What a run took: when each job ran, and what it used of what it asked for.

Read from Snakemake's extended benchmark files, so it covers every finished job of the run,
also of earlier starts. ``python -m headwater.core.execution RUN`` writes
``results/RUN/execution.html`` and ``execution.tsv``; a finished run does so by itself.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import InputError

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "domain",
    "rule",
    "job",
    "start_s",
    "wall_s",
    "cpu_s",
    "threads",
    "runtime_asked_min",
    "mem_used_mb",
    "mem_asked_mb",
)
IDLE = 0.25  # a rule that uses less of its memory than this asks for too much
TIGHT = 0.9
HEADROOM = 1.5
STEP_MB = 250
LEAST_MB = 500


def read_jobs(folder: str | Path) -> pd.DataFrame:
    """Return one row per finished job of the benchmark files under `folder`.

    Returns
    -------
    DataFrame
        Columns `COLUMNS`: start_s counts from the start of the first job, a file's time of
        change being the end of its job; mem in MiB as measured and MB as asked. What was not
        recorded is NaN. Sorted by start.

    Raises
    ------
    InputError
        If `folder` holds no benchmark file, or one that is no JSON.
    """
    import pandas as pd

    folder = Path(folder)
    rows = [
        _job(path, folder, line)
        for path in sorted(folder.rglob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()[-1:]
    ]
    if not rows:
        raise InputError(
            folder, "", "no benchmark file", "those of a finished run", "Run the workflow first."
        )
    table = pd.DataFrame(rows, columns=[*COLUMNS])
    table["start_s"] -= table["start_s"].min()
    return table.sort_values(["start_s", "rule", "job"], ignore_index=True)


def _job(path: Path, folder: Path, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
        wall = float(record["s"])
    except (ValueError, KeyError, TypeError):
        raise InputError(
            path, "last line", "no benchmark record", "JSON with a key s", "Remove the file."
        ) from None
    parts = path.relative_to(folder).with_suffix("").parts
    rule = record.get("rule_name") or parts[1 if len(parts) > 2 else 0]
    at = parts.index(rule) if rule in parts else 0
    asked = record.get("resources") or {}
    return {
        "domain": parts[0] if at else "",
        "rule": rule,
        "job": "/".join(parts[at + 1 :]),
        "start_s": path.stat().st_mtime - wall,
        "wall_s": wall,
        "cpu_s": _number(record.get("cpu_time")),
        "threads": _number(record.get("threads")),
        "runtime_asked_min": _number(asked.get("runtime")),
        "mem_used_mb": _number(record.get("max_rss")),
        "mem_asked_mb": _number(asked.get("mem_mb")),
    }


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def by_rule(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return one row per rule: jobs, time and memory asked and used, and what to change.

    `cpu_share` is CPU time over wall time times threads; `mem_share` the largest job's memory
    over what it asked for; `advice` is empty where the request fits.
    """
    rows = []
    for (domain, rule), part in jobs.groupby(["domain", "rule"], sort=False):
        cores = (part["wall_s"] * part["threads"]).sum()
        row = {
            "domain": domain,
            "rule": rule,
            "jobs": len(part),
            "wall_s": part["wall_s"].sum(),
            "longest_s": part["wall_s"].max(),
            "runtime_asked_min": part["runtime_asked_min"].max(),
            "cpu_s": part["cpu_s"].sum(),
            "cpu_share": part["cpu_s"].sum() / cores if cores > 0 else math.nan,
            "mem_used_mb": part["mem_used_mb"].max(),
            "mem_asked_mb": part["mem_asked_mb"].max(),
        }
        row["mem_share"] = row["mem_used_mb"] / row["mem_asked_mb"]
        row["advice"] = advice(row)
        rows.append(row)
    import pandas as pd

    return pd.DataFrame(rows).sort_values("wall_s", ascending=False, ignore_index=True)


def advice(row: Mapping[str, Any]) -> str:
    """Return the option that fits a rule's request to what its jobs used; empty if it fits."""
    used, asked = row["mem_used_mb"], row["mem_asked_mb"]
    if not (used > 0 and asked > 0):
        return ""
    enough = max(LEAST_MB, STEP_MB * math.ceil(used * HEADROOM / STEP_MB))
    share = used / asked
    if share > TIGHT or (share < IDLE and enough < asked):
        return f"--set-resources {row['rule']}:mem_mb={enough}"
    return ""


def timeline(jobs: pd.DataFrame) -> Any:
    """Draw when the jobs of each rule ran, one row per rule in order of first start."""
    from . import style

    @style.styled
    def draw() -> style.Plot:
        rules = list(dict.fromkeys(jobs["rule"]))
        domains = list(dict.fromkeys(jobs["domain"]))
        figure = style.new_figure(height=0.9 + 0.19 * len(rules))
        axes = figure.subplots()
        unit, name = _unit(float((jobs["start_s"] + jobs["wall_s"]).max()))
        for k, domain in enumerate(domains):
            part = jobs[jobs["domain"] == domain]
            axes.barh(
                [rules.index(r) for r in part["rule"]],
                part["wall_s"] / unit,
                left=part["start_s"] / unit,
                height=0.7,
                color=style.colour(k),
                alpha=0.75,
                label=domain or "shared",
            )
        axes.set_yticks(range(len(rules)), rules)
        axes.set_ylim(len(rules) - 0.5, -0.5)
        axes.set_xlabel(f"time since the first job, {name}")
        axes.grid(axis="x")
        if len(domains) > 1:
            axes.legend(loc="upper right", ncols=len(domains))
        busiest = jobs.groupby("rule")["wall_s"].sum().idxmax()
        share = jobs.loc[jobs["rule"] == busiest, "wall_s"].sum() / jobs["wall_s"].sum()
        return style.Plot(
            figure,
            jobs[["domain", "rule", "job", "start_s", "wall_s"]],
            "When the jobs ran",
            f"{len(jobs)} jobs of {len(rules)} rules; {busiest} took {share:.0%} of their time.",
            "Horizontal bars of jobs over time, one row per rule.",
        )

    return draw()


def memory(rules: pd.DataFrame) -> Any:
    """Draw the memory that each rule asked for and the most that one of its jobs used."""
    from . import style

    @style.styled
    def draw() -> style.Plot:
        known = rules[rules["mem_used_mb"] > 0].sort_values("mem_used_mb", ascending=False)
        figure = style.new_figure(height=0.9 + 0.19 * max(1, len(known)))
        axes = figure.subplots()
        at = range(len(known))
        axes.hlines(at, 0, known["mem_asked_mb"], color=style.MUTED, linewidth=5, alpha=0.35)
        axes.scatter(known["mem_used_mb"], at, s=26, color=style.colour(0), label="used at most")
        axes.scatter(
            known["mem_asked_mb"], at, s=40, marker="|", color=style.colour(1), label="asked for"
        )
        axes.set_yticks(at, known["rule"])
        axes.set_ylim(len(known) - 0.5, -0.5)
        axes.set_xlim(left=0)
        axes.set_xlabel("memory, MB")
        axes.grid(axis="x")
        axes.legend(loc="lower right", ncols=2)
        idle = int((known["mem_share"] < IDLE).sum())
        return style.Plot(
            figure,
            known[["rule", "jobs", "mem_used_mb", "mem_asked_mb"]],
            "Memory asked for and used",
            f"{idle} of {len(known)} rules used less than {IDLE:.0%} of what they asked for.",
            "A dot for the memory used and a tick for the memory asked, one row per rule.",
        )

    return draw()


def _unit(seconds: float) -> tuple[float, str]:
    if seconds > 2 * 3600:
        return 3600.0, "hours"
    return (60.0, "minutes") if seconds > 120 else (1.0, "seconds")


def build_page(jobs: pd.DataFrame, run: str) -> Any:
    """Return the page of a run's jobs."""
    from .page import Card, Cards, Code, Page, Section, Table, Text, figure_of

    rules = by_rule(jobs)
    hours = jobs["wall_s"].sum() / 3600
    asked = (jobs["mem_asked_mb"] * jobs["wall_s"]).sum()
    used = (jobs["mem_used_mb"] * jobs["wall_s"]).sum()
    cores = (jobs["wall_s"] * jobs["threads"]).sum()
    cards = [
        Card("jobs", len(jobs), f"{len(rules)} rules"),
        Card("job hours", round(hours, 3), "wall time of all jobs"),
        Card("CPU hours", round(jobs["cpu_s"].sum() / 3600, 3)),
        Card("cores used", _share(jobs["cpu_s"].sum(), cores), "CPU time of the time held"),
        Card("memory used", _share(used, asked), "of the memory held over time"),
    ]
    told = [f"{row.rule}: {row.advice}" for row in rules.itertuples() if row.advice]
    fitted = " ".join(a.removeprefix("--set-resources ") for a in rules["advice"] if a)
    blocks = [Text(["Each request fits what its jobs used."])]
    if told:
        blocks = [
            Text(
                [
                    f"{len(told)} rules use less than {IDLE:.0%} or more than {TIGHT:.0%} of the "
                    f"memory they ask for. The values below are {HEADROOM} times the largest job "
                    "of this run; data of another size need others."
                ]
            ),
            Code("For the next run on data like these", f"--set-resources {fitted}"),
        ]
    sections = [
        Section("Numbers", [Cards(cards)]),
        Section("Timeline", [figure_of(timeline(jobs), "timeline")]),
        Section("Memory", [figure_of(memory(rules), "memory"), *blocks]),
        Section(
            "Rules",
            [
                Table(
                    "rules",
                    "What each rule took",
                    rules.drop(columns=["domain", "advice"]),
                    caption="Seconds and MB; shares are of the cores and the memory held.",
                    file="execution.tsv",
                    rows=200,
                )
            ],
        ),
    ]
    return Page(
        title=f"Execution of run {run}",
        lead=f"{len(jobs)} jobs took {hours:.2f} hours of wall time in all.",
        sections=sections,
        footer="From the benchmark files of the run; a job that failed leaves none.",
    )


def _share(part: float, whole: float) -> str:
    return f"{part / whole:.0%}" if whole > 0 else "not recorded"


def write_report(results: str | Path) -> Path:
    """Write ``execution.html`` and ``execution.tsv`` into a run's folder; return the page."""
    from .io import write_table, write_text
    from .page import render_page

    results = Path(results)
    jobs = read_jobs(results / "benchmarks")
    write_table(results / "execution.tsv", jobs.round(3))
    write_text(results / "execution.html", render_page(build_page(jobs, results.name)))
    return results / "execution.html"


def main(arguments: Sequence[str]) -> int:
    """Write the report of ``results/RUN``; say where it is, or why not."""
    if len(arguments) != 1:
        print("usage: python -m headwater.core.execution RUN", file=sys.stderr)
        return 2
    try:
        print(f"Open {write_report(Path('results') / arguments[0]).resolve()}")
    except InputError as error:
        print(f"Error: {error.line()}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
