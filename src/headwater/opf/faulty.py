"""Requests with a planted fault: named, with the words that help, and nothing solved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headwater.core.metrics import metric_frame, metric_row, wilson_interval

from .solved import relative
from .solving import solve_record

if TYPE_CHECKING:
    import pandas as pd

    from .case import Case
    from .engine import Options

CLOSE = 1e-4  # the stated objectives have seven or eight digits
COLUMNS = ("id", "severity", "code", "named", "status", "objective", "expected", "message")


def refusal_table(
    records: Sequence[Mapping[str, Any]], cases: Mapping[str, Case], options: Options
) -> pd.DataFrame:
    """Return one row for each faulty request.

    ``named`` holds where a finding has the expected code and severity and all the expected
    words; where an objective is stated it must come out, and an error must not be solved.
    """
    import pandas as pd

    return pd.DataFrame([_row(r, cases, options) for r in records], columns=list(COLUMNS))


def _row(record: Mapping[str, Any], cases: Mapping[str, Case], options: Options) -> dict[str, Any]:
    row, _ = next(iter(solve_record(complete(record), cases, options)))
    wanted = record["expect"]
    matching = [
        f
        for f in row["findings"]
        if f["code"] == wanted["code"] and f["severity"] == wanted["severity"]
    ]
    message = matching[0]["message"] if matching else ""
    named = bool(matching) and all(word in message for word in wanted["must_mention"])
    if wanted["severity"] == "error":
        named = named and row["status"] == "refused"
    if wanted["severity"] == "status":
        named = named and row["status"] == wanted["code"] and row["objective"] is None
    if "objective" in wanted:
        difference = relative(row["objective"], wanted["objective"])
        named = named and difference is not None and abs(difference) <= CLOSE
    return {
        "id": record["id"],
        "severity": wanted["severity"],
        "code": wanted["code"],
        "named": named,
        "status": row["status"],
        "objective": row["objective"],
        "expected": wanted.get("objective"),
        "message": message or row["note"],
    }


def complete(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record with the parts that a faulty one may leave out."""
    structure = {"formulation": "ACOPF", "objective": [], "constraints": [], "variables": []}
    return {
        "bindings": [],
        "solver": {},
        **record,
        "structure": structure | dict(record.get("structure", {})),
    }


def refusal_scores(name: str, table: pd.DataFrame) -> pd.DataFrame:
    """Return the row of metrics.tsv that says how many faults were named."""
    named, total = int(table["named"].sum()), len(table)
    interval = wilson_interval(named, total)
    share = named / total
    row = metric_row(
        name, "engine", "faults_named_share", share, split="all", interval=interval, n=total
    )
    return metric_frame([row])
