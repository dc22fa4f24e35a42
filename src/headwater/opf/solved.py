"""Solutions of a set of requests beside the answers that came with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headwater.core.metrics import metric_frame, metric_row, wilson_interval

if TYPE_CHECKING:
    import pandas as pd

# Two solvers of one problem agree to this; answers of a model are scored less strictly.
REGRESSION = 1e-5
COLUMNS = (
    "id",
    "level",
    "base_system",
    "formulation",
    "structure",
    "strategy",
    "status",
    "objective",
    "expected",
    "relative_difference",
    "matpower",
    "matpower_difference",
    "agrees",
    "note",
)


def relative(value: float | None, reference: float | None) -> float | None:
    """Return ``(value - reference) / |reference|``; None where one of them is missing."""
    if value is None or reference is None:
        return None
    return (value - reference) / (abs(reference) + 1e-10)


def structure_names(structure: Mapping[str, Any]) -> str:
    """Return the names of a record's structural changes, in the order of the schema."""
    items = [
        i for group in ("objective", "constraints", "variables") for i in structure.get(group, [])
    ]
    return ", ".join(i["name"] for i in items)


def objective_table(
    records: Sequence[Mapping[str, Any]],
    solutions: Iterable[Mapping[str, Any]],
    references: Iterable[Mapping[str, Any]],
) -> pd.DataFrame:
    """Return one row for every record and strategy: ours, expected, MATPOWER's.

    Parameters
    ----------
    records : sequence of mapping
        Checked records with their ``expected`` answers.
    solutions : iterable of mapping
        ``id, strategy, status, objective, note`` of the engine.
    references : iterable of mapping
        ``id, strategy, objective, converged`` of the records' own programs in MATPOWER; empty
        where it was not at hand.
    """
    import pandas as pd

    ours = {(s["id"], s["strategy"]): s for s in solutions}
    theirs = {(r["id"], r["strategy"]): r for r in references}
    rows = []
    for record in records:
        for strategy, wanted in enumerate(record.get("expected") or [{}]):
            key = (record["id"], strategy)
            found, program = ours.get(key, {}), theirs.get(key, {})
            rows.append(_row(record, strategy, wanted, found, program))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(
    record: Mapping[str, Any],
    strategy: int,
    wanted: Mapping[str, Any],
    found: Mapping[str, Any],
    program: Mapping[str, Any],
) -> dict[str, Any]:
    expected, objective = wanted.get("objective"), found.get("objective")
    difference = relative(objective, expected)
    if expected is None:
        agrees = found.get("status") == wanted.get("status")
    else:
        agrees = difference is not None and abs(difference) <= REGRESSION
    matpower = program.get("objective") if program.get("converged") else None
    return {
        "id": record["id"],
        "level": record["level"],
        "base_system": record["base_system"],
        "formulation": record["structure"]["formulation"],
        "structure": structure_names(record["structure"]),
        "strategy": strategy + 1,
        "status": found.get("status", "not solved"),
        "objective": objective,
        "expected": expected,
        "relative_difference": difference,
        "matpower": matpower,
        "matpower_difference": relative(objective, matpower),
        "agrees": agrees,
        "note": found.get("note", ""),
    }


def solved_scores(name: str, table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of metrics.tsv that say how many answers came out, and how exactly."""
    rows = []
    for level, part in [("all", table), *table.groupby("level")]:
        right = int(part["agrees"].sum())
        options: dict[str, Any] = {"setting": {"level": level}, "split": "all", "n": len(part)}
        interval = wilson_interval(right, len(part))
        share = right / len(part)
        rows.append(metric_row(name, "engine", "solved_share", share, interval=interval, **options))
        for column in ("relative_difference", "matpower_difference"):
            sizes = part[column].dropna().abs()
            if len(sizes):
                options["n"] = len(sizes)
                rows.append(
                    metric_row(name, "engine", f"{column}_max", float(sizes.max()), **options)
                )
    return metric_frame(rows)
