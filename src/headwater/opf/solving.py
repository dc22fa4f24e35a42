"""Solve a set of requests: patch the network, bind the placeholders, solve, say what was found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headwater.core.errors import InputError

from .engine import Options, solve
from .findings import Finding, errors
from .record import patched

if TYPE_CHECKING:
    import pandas as pd

    from .case import Case
    from .engine import Solution


def options_of(record: Mapping[str, Any], options: Options) -> Options:
    """Return the options with the tolerance that the record asks for."""
    violation = record.get("solver", {}).get("violation")
    return options if violation is None else replace(options, violation=float(violation))


def base_case(record: Mapping[str, Any], cases: Mapping[str, Case]) -> Case:
    """Return the network of a record.

    Raises
    ------
    InputError
        If it is none of `cases`.
    """
    name = record["base_system"]
    if name not in cases:
        raise InputError(
            None,
            f"record {record['id']}, base_system",
            repr(name),
            "one of " + ", ".join(cases),
            "Name the network in opf.cases so that it is prepared.",
        )
    return cases[name]


def strategies(record: Mapping[str, Any]) -> range:
    """Return the numbers of the record's strategies: one for each test value of a binding."""
    bindings = record.get("bindings") or []
    return range(max([len(b.get("values") or []) for b in bindings] + [1]))


def solve_record(
    record: Mapping[str, Any], cases: Mapping[str, Case], options: Options
) -> Iterator[tuple[dict[str, Any], Solution | None]]:
    """Yield for every strategy a plain row, and the solution where there is one.

    The row has ``id, strategy, status, objective, parts, findings, note``; `status` is
    ``refused`` where a finding forbids a solve.
    """
    case = base_case(record, cases)
    for strategy in strategies(record):
        changed, findings = patched(
            case, record, strategy=strategy, dc_convention=options.dc_convention
        )
        if errors(findings):
            yield _row(record, strategy, findings, None), None
            continue
        solution = solve(changed, record.get("structure"), options_of(record, options))
        yield _row(record, strategy, [*findings, *solution.findings], solution), solution


def _row(
    record: Mapping[str, Any],
    strategy: int,
    findings: Sequence[Finding],
    solution: Solution | None,
) -> dict[str, Any]:
    return {
        "id": record["id"],
        "strategy": strategy,
        "status": solution.status if solution else "refused",
        "objective": solution.objective if solution else None,
        "parts": dict(solution.parts) if solution else {},
        "violations": dict(solution.violations) if solution else {},
        "findings": [f.as_dict() | {"message": f.message} for f in findings],
        "note": "; ".join(dict.fromkeys(f.code for f in findings)),
    }


def solve_records(
    records: Sequence[Mapping[str, Any]], cases: Mapping[str, Case], options: Options
) -> tuple[list[dict[str, Any]], pd.DataFrame]:
    """Return the rows of all records, and their bus, generator and branch results.

    Returns
    -------
    rows : list of dict
        As `solve_record` yields them.
    tables : DataFrame
        Long: id, strategy, table (bus, gen, branch), and the columns of each.
    """
    import pandas as pd

    rows, tables = [], []
    for record in records:
        if record.get("source", {}).get("quarantine"):
            continue  # its faults stand in the findings
        for row, solution in solve_record(record, cases, options):
            rows.append(row)
            for name, table in (solution.tables() if solution else {}).items():
                head = {"id": row["id"], "strategy": row["strategy"], "table": name}
                tables.append(table.reset_index(drop=True).assign(**head))
    columns = ["id", "strategy", "table"]
    long = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=columns)
    return rows, long[[*columns, *(c for c in long.columns if c not in columns)]]
