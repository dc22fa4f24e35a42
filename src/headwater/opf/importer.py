"""The public ProOPF files read into records of ours, with every fault of them reported.

A user fetches the files (they carry no licence); nothing of them is shipped. What cannot be
trusted is kept, in quarantine: the record says by which faults. Nothing is repaired silently.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.core.errors import InputError

from .case import Case
from .findings import Finding
from .locate import Fault, closest
from .patch import prefixed
from .proopf_changes import binding_of, corrected, is_inferred, parameter_of, program_columns
from .proopf_structure import import_structure
from .record import Record, canonical_hash, check_record, complete, lint_record, read_line
from .text_lint import text_findings

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("record", "code", "severity", "message")
# Faults that make the published objective the answer to something else than the text.
COMPAT = (
    "per_unit_label",
    "order_mismatch",
    "negative_default",
    "cost_column",
    "label_not_converged",
    "unknown_bus",
    "unknown_generator",
    "unknown_branch",
)
CLOSE = 1e-4  # objectives that a score cannot tell apart


def import_proopf(
    source: str | Path | Iterable[str],
    cases: Mapping[str, Case],
    name: str = "",
    base_objectives: Mapping[tuple[str, str], float] | None = None,
) -> tuple[list[Record], pd.DataFrame]:
    """Read a ProOPF file.

    Parameters
    ----------
    source : path or lines
    cases : mapping of str to Case
        Base systems by name.
    name : str
        Name of the set, the first part of every id; the file's by default.
    base_objectives : mapping of (str, str) to float, optional
        Optimum of a base system as it is, by name and formulation: labels equal to it say
        nothing about the changes.

    Returns
    -------
    list of dict
        Records of our schema. ``source`` holds file, line, ``quarantine`` (codes of the errors;
        empty where there is none), ``labels`` (``strict``, ``compat`` where the published
        objective belongs to a faulty program, ``none``) and ``duplicate_of``. A line that
        cannot be made a record is in the report only.
    DataFrame
        Columns ``record, code, severity, message``, in the order of the lines.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    import pandas as pd

    file, lines = _lines(source)
    name = re.sub(r"[^A-Za-z0-9._-]", "_", name or (Path(file).stem if file else "proopf"))
    records: list[Record] = []
    rows: list[dict[str, str]] = []
    first: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        id_ = f"{name}-{number:03d}"
        record, findings = _import_line(line, number, id_, cases)
        if record is not None:
            record["source"] = {"file": Path(file).name, "line": number, **record["source"]}
            findings += _labels(record, base_objectives or {})
            findings += _duplicate(record, first)
            _judge(record, findings)
            records.append(record)
        rows += [_row(id_, f) for f in dict.fromkeys(findings)]
    return records, pd.DataFrame(rows, columns=list(COLUMNS))


def _lines(source: str | Path | Iterable[str]) -> tuple[str, Sequence[str]]:
    if not isinstance(source, str | Path):
        return "", list(source)
    try:
        return str(source), Path(source).read_bytes().decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise InputError(source, f"byte {error.start}", "no UTF-8 text", "JSON lines") from None
    except OSError as error:
        raise InputError(source, "", error.strerror or "no file", "a file of records") from None


def _row(id_: str, finding: Finding) -> dict[str, str]:
    values = (id_, finding.code, finding.severity, finding.message)
    return dict(zip(COLUMNS, values, strict=True))


def _import_line(
    line: str, number: int, id_: str, cases: Mapping[str, Case]
) -> tuple[Record | None, list[Finding]]:
    try:
        raw = read_line(line, None, number)
        _check_shape(raw)
    except InputError as error:
        code = "malformed_json" if "JSON" in error.found else "malformed_record"
        return None, [_of_error(code, error, id_)]
    spec = raw["model_specification"]
    case = cases.get(spec["base_system"])
    text, program = raw["natural_language"], raw.get("matpower_code") or ""
    findings: list[Finding] = []
    if case is None:
        hint = closest(spec["base_system"], cases) or "Name the network in opf.cases."
        expected = "one of the networks at hand"
        found = repr(spec["base_system"])
        findings.append(
            Finding("error", "unknown_base_system", "base_system", found, expected, hint)
        )
    structure, found_there = import_structure(
        spec.get("structural_modification"), text, program, case
    )
    findings += found_there
    record = {"id": id_, "base_system": spec["base_system"], "request": text}
    record |= _changes(spec.get("parameter_modifications") or [], case, findings)
    findings += program_columns(record, program, case)
    record |= {"structure": structure, "solver": _solver(spec, findings)}
    record = complete(record)
    record |= _expected(raw, findings)
    if program:
        record["reference_matpower_code"] = program
    record["source"] = {"case_id": raw["case_id"]} if "case_id" in raw else {}
    findings = prefixed([*findings, *text_findings(record)], f"record {id_}")
    try:
        check_record(record)
    except InputError as error:
        return None, [*findings, _of_error("malformed_record", error, id_)]
    if case is not None:
        known = {(f.code, f.found) for f in findings}
        findings += [f for f in lint_record(record, case) if (f.code, f.found) not in known]
    return record, findings


def _of_error(code: str, error: InputError, id_: str) -> Finding:
    where = ", ".join(p for p in (f"record {id_}", error.where) if p)
    return Finding("error", code, where, error.found, error.expected, error.hint)


def _check_shape(raw: Any) -> None:
    """Refuse what is no record of theirs at all.

    Raises
    ------
    InputError
        Naming the key.
    """
    wanted: list[tuple[str, type, str]] = [
        ("natural_language", str, "a text"),
        ("model_specification", dict, "an object"),
        ("model_specification.base_system", str, "the name of a network"),
    ]
    if not isinstance(raw, dict):
        raise InputError(None, "", repr(raw)[:80], "an object with model_specification")
    for path, kind, expected in wanted:
        value: Any = raw
        for part in path.split("."):
            value = value.get(part)
        if not isinstance(value, kind) or not value:
            raise InputError(None, path, repr(value)[:80], expected)
    changes = raw["model_specification"].get("parameter_modifications")
    if not isinstance(changes, list | None):
        where = "model_specification.parameter_modifications"
        raise InputError(None, where, repr(changes)[:80], "a list of changes")
    program = raw.get("matpower_code")
    if not isinstance(program, str | None):
        raise InputError(None, "matpower_code", repr(program)[:80], "a text")


def _changes(items: list[Any], case: Case | None, findings: list[Finding]) -> dict[str, list]:
    parameters, bindings = [], []
    for k, item in enumerate(items):
        where = f"parameter_modifications[{k}]"
        try:
            if is_inferred(item):
                binding = binding_of(item, where, case, findings)
                bindings.append(corrected(binding, where, case, findings))
            else:
                parameters.append(parameter_of(item, where, findings))
        except Fault as fault:
            findings.append(fault.finding)
    return {"parameters": parameters, "bindings": bindings}


def _solver(spec: Mapping[str, Any], findings: list[Finding]) -> dict[str, Any]:
    wanted = spec.get("solving_requirements")
    wanted = wanted if isinstance(wanted, Mapping) else {}
    violation = wanted.get("opf_violation")
    found: dict[str, Any] = {}
    number = isinstance(violation, int | float) and not isinstance(violation, bool)
    if number and 0 < violation <= 1e-3:
        found["violation"] = float(violation)
    elif violation is not None:
        where, expected = "solving_requirements, opf_violation", "more than 0, at most 0.001 p.u."
        hint = "The tolerance of the configuration is taken."
        findings.append(Finding("warning", "bad_tolerance", where, repr(violation), expected, hint))
    if isinstance(wanted.get("solver"), str):
        found["name"] = wanted["solver"]
    return found


def _expected(raw: Mapping[str, Any], findings: list[Finding]) -> dict[str, Any]:
    """Return the published objectives, one for each strategy; nothing where there is none."""
    keys = [k for k in ("results", "results_strategy1", "results_strategy2") if k in raw]
    answers, known = [], 0
    for name in keys:
        result = raw[name] if isinstance(raw[name], Mapping) else {}
        value = result.get("objective_value")
        good = isinstance(value, int | float) and not isinstance(value, bool)
        known += good
        converged = result.get("converged")
        if good and converged is not True:
            hint = "Such an objective is no optimum; strict scores leave it out."
            found = f"converged {converged!r} with an objective"
            findings.append(Finding("warning", "label_not_converged", name, found, "true", hint))
        answers.append(
            {
                "status": "optimal" if good and converged is True else "unknown",
                "objective": float(value) if good else None,
                "unit": "$/h",
                "computed_with": {"published": float(value) if good else None},
            }
        )
    return {"expected": answers} if known else {}


def _labels(record: Record, base: Mapping[tuple[str, str], float]) -> list[Finding]:
    """Return where a published objective cannot tell a right answer from a wrong one."""
    values = [e["objective"] for e in record.get("expected", []) if e["objective"] is not None]
    findings = []
    steps = [b["values"] for b in record["bindings"]]
    moved = any(len(set(s)) > 1 for s in steps)
    if len(values) == 2 and moved and _close(values[0], values[1]):
        found = f"{values[0]:.10g} and {values[1]:.10g} for different values"
        findings.append(_weak(record, found, "objectives that differ"))
    unmodified = base.get((record["base_system"], record["structure"]["formulation"]))
    if unmodified is not None and values and all(_close(v, unmodified) for v in values):
        found = f"{values[0]:.10g}, the optimum of the unmodified network"
        findings.append(_weak(record, found, "an objective that feels the changes"))
    return findings


def _weak(record: Record, found: str, expected: str) -> Finding:
    hint = "A program that ignores the changes is scored right; see the null model."
    where = f"record {record['id']}, expected"
    return Finding("warning", "weak_label", where, found, expected, hint)


def _close(a: float, b: float) -> bool:
    return abs(a - b) <= CLOSE * (abs(b) + 1e-10)


def _duplicate(record: Record, first: dict[str, str]) -> list[Finding]:
    digest = canonical_hash(record)
    if digest not in first:
        first[digest] = record["id"]
        return []
    record["source"]["duplicate_of"] = first[digest]
    hint = "It stays for compat scores; splits and strict scores take the first."
    found = f"the same request as {first[digest]}"
    where = f"record {record['id']}"
    return [Finding("warning", "duplicate_record", where, found, "another request", hint)]


def _judge(record: Record, findings: Iterable[Finding]) -> None:
    """Write into a record what keeps it out of strict scores."""
    codes = {f.code for f in findings}
    errors = {f.code for f in findings if f.severity == "error"}
    labels = "none" if "expected" not in record else "strict"
    if labels == "strict" and codes & set(COMPAT):
        labels = "compat"
    record["source"] |= {"quarantine": sorted(errors), "labels": labels}
