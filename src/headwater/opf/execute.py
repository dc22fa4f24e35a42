"""Run the answers to requests, on every strategy, and say how each run ended.

A row has ``id, sample, strategy, dialect, extracted, block, binding, ran, converged, objective,
refused_wrong_direction, recovered_patch, error_class, message, sandbox_s, isolation``.
`error_class` is empty or one of ``not_extracted denied arguments syntax runtime timeout memory
output_limit process_limit missing_result invalid_patch not_converged``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from headwater.core.errors import InputError
from headwater.core.sandbox import Limits, run

from .answers import bind_arguments, denied, extract, parse_patch, signature, wrong_direction
from .case import Case, write_case
from .difference import patch_of
from .engine import Options, solve
from .findings import errors
from .octave_runs import Run, run_matlab
from .record import complete, patched

PYTHON_DRIVER = """import json, runpy, sys
space = runpy.run_path("answer.py")
arguments = json.loads(sys.argv[1])
found = space["run_opf"](*arguments) if arguments is not None else space["result"]
value = found.get("objective")
value = None if value is None else float(value)
status = str(found.get("status", "")).lower()
with open("hw_result.json", "w") as stream:
    json.dump({"objective": value, "converged": status in ("optimal", "ok", "success")}, stream)
"""


def limits_of(settings: Mapping[str, Any]) -> Limits:
    """Return the limits of the sandbox from the configuration."""
    return Limits(
        cpu_s=settings["cpu_s"], wall_s=settings["wall_s"], memory_mb=settings["memory_mb"]
    )


def values_of(record: Mapping[str, Any], strategy: int) -> list[float] | None:
    """Return the test values of the placeholders; None for a concrete request."""
    bindings = record.get("bindings") or []
    return [float(b["values"][strategy]) for b in bindings] if bindings else None


def count_strategies(record: Mapping[str, Any]) -> int:
    """Return how many sets of test values a request has."""
    return max([len(b.get("values") or []) for b in record.get("bindings") or []] + [1])


def execute_reference(
    record: Mapping[str, Any], cases: Mapping[str, Case], limits: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Run a record's own MATPOWER program, every strategy: ``id, strategy, objective, ...``."""
    case = cases[record["base_system"]]
    rows = []
    for strategy in range(count_strategies(record)):
        found = run_matlab(
            record["reference_matpower_code"], case, values_of(record, strategy), limits_of(limits)
        )
        rows.append(
            {
                "id": record["id"],
                "strategy": strategy,
                "objective": found.objective,
                "converged": found.converged,
                "error": found.message if found.error_class else "",
            }
        )
    return rows


def execute_answer(
    record: Mapping[str, Any],
    answer: Mapping[str, Any],
    case: Case,
    dialect: str,
    limits: Limits,
) -> list[dict[str, Any]]:
    """Run one answer on every strategy of its request.

    Parameters
    ----------
    record : mapping
        The request; of it only base system, placeholders and their test values are used.
    answer : mapping
        ``id, sample, text``.
    case : Case
        Base system of the request.
    dialect : str
        ``matpower``, ``python`` or ``patch``.
    """
    bindings = record.get("bindings") or []
    program = extract(answer.get("text") or "", dialect, abstract=bool(bindings))
    head = {
        "id": record["id"],
        "sample": answer.get("sample", 0),
        "dialect": dialect,
        "extracted": bool(program.code),
        "block": program.block,
    }
    job = _Job(record, case, program.code, dialect, limits)
    fault = job.fault()
    refused = None
    if not fault and bindings:
        refused = all(job.refuses(k) for k in range(len(bindings)))
    rows = []
    for strategy in range(count_strategies(record)):
        found = dict(fault) if fault else job.run(values_of(record, strategy))
        row = {**EMPTY, **head, "strategy": strategy, **found}
        rows.append(row | {"refused_wrong_direction": refused})
    return rows


EMPTY: dict[str, Any] = {
    "binding": None,
    "ran": False,
    "converged": False,
    "objective": None,
    "recovered_patch": None,
    "error_class": "",
    "message": "",
    "sandbox_s": 0.0,
    "isolation": [],
}


class _Job:
    """One program, to be run with several sets of values."""

    def __init__(
        self, record: Mapping[str, Any], case: Case, code: str, dialect: str, limits: Limits
    ) -> None:
        self.record, self.case, self.code = record, case, code
        self.dialect, self.limits = dialect, limits
        self.bindings = record.get("bindings") or []

    def fault(self) -> dict[str, Any]:
        """Return why nothing can be run, empty where it can."""
        if not self.code:
            return {"error_class": "not_extracted", "message": "no program in the answer"}
        word = denied(self.code, self.dialect)
        if word:
            return {"error_class": "denied", "message": f"the program uses {word}"}
        if self.bindings and self.dialect != "patch":
            names = signature(self.code, self.dialect)
            if (
                names is None
                or bind_arguments(names, self.bindings, [0.0] * len(self.bindings)) is None
            ):
                wanted = ", ".join(b["name"] for b in self.bindings)
                found = "no function run_opf" if names is None else f"run_opf({', '.join(names)})"
                return {"error_class": "arguments", "message": f"{found}; wanted run_opf({wanted})"}
        return {}

    def run(self, values: list[float] | None) -> dict[str, Any]:
        """Return how the program ends with these values."""
        if self.dialect == "patch":
            return self._patch(values)
        how = None
        if values is not None:
            names = signature(self.code, self.dialect) or []
            bound = bind_arguments(names, self.bindings, values)
            assert bound is not None
            values, how = bound
        found = self._matlab(values) if self.dialect == "matpower" else self._python(values)
        return found | {"binding": how}

    def refuses(self, k: int) -> bool:
        """Return whether the program refuses a value of placeholder k that goes the wrong way."""
        values = values_of(self.record, 0) or []
        values[k] = wrong_direction(self.bindings[k])
        found = {**EMPTY, **self.run(values)}
        return not found["converged"] and found["error_class"] in ("runtime", "invalid_patch")

    def _matlab(self, values: list[float] | None) -> dict[str, Any]:
        found: Run = run_matlab(self.code, self.case, values, self.limits)
        handed = found.handed
        return {
            "ran": not found.error_class,
            "converged": found.converged,
            "objective": found.objective,
            "recovered_patch": None if handed is None else patch_of(self.case, handed),
            "error_class": found.error_class or ("" if found.converged else "not_converged"),
            "message": found.message,
            "sandbox_s": round(found.result.wall_s, 3),
            "isolation": list(found.result.isolation),
        }

    def _python(self, values: list[float] | None) -> dict[str, Any]:
        files = {
            "answer.py": self.code,
            "driver.py": PYTHON_DRIVER,
            f"{self.case.name}.m": write_case(self.case),
        }
        paths = [p for p in sys.path if p]
        result = run(
            [sys.executable, "driver.py", json.dumps(values)],
            files,
            self.limits,
            environment={"PYTHONPATH": ":".join(paths)},
            keep=["hw_result.json"],
        )
        found: dict[str, Any] = {
            "sandbox_s": round(result.wall_s, 3),
            "isolation": list(result.isolation),
        }
        data = result.files.get("hw_result.json")
        if data is not None and result.status == "ok":
            value = json.loads(data)
            good = bool(value["converged"]) and value["objective"] is not None
            return found | {
                "ran": True,
                "converged": good,
                "objective": value["objective"],
                "error_class": "" if good else "not_converged",
            }
        limited = ("timeout", "memory", "output_limit", "process_limit")
        kind = result.status if result.status in limited else "runtime"
        last = (result.stderr.strip().splitlines() or [""])[-1]
        if last.startswith("SyntaxError") or "SyntaxError" in last:
            kind = "syntax"
        elif last.startswith("KeyError: 'result'"):
            kind = "missing_result"
        return found | {"error_class": kind, "message": last[:300]}

    def _patch(self, values: list[float] | None) -> dict[str, Any]:
        try:
            answer = parse_patch(self.code)
            answer["id"] = self.record["id"]
            _put_values(answer["bindings"], self.bindings, values)
            answer = complete(answer)
            if answer["base_system"] != self.case.name:
                raise ValueError(f"base_system {answer['base_system']!r}, not {self.case.name!r}")
            case, findings = patched(self.case, answer)
            wrong = errors(findings)
            if wrong:
                raise ValueError(wrong[0].message)
            violation = (answer.get("solver") or {}).get("violation") or 1e-8
            solution = solve(case, answer["structure"], Options(violation=float(violation)))
        except InputError as error:
            return {"error_class": "invalid_patch", "message": error.line()[:300]}
        except Exception as error:  # an answer may hold anything
            text = " ".join(str(error).split())[:300]
            return {"error_class": "invalid_patch", "message": text or type(error).__name__}
        return {
            "ran": True,
            "converged": solution.optimal,
            "objective": solution.objective,
            "recovered_patch": {
                "changes": patch_of(self.case, case)["changes"],
                "structure": answer["structure"],
            },
            "error_class": "" if solution.optimal else "not_converged",
            "message": "" if solution.optimal else solution.status,
        }


def _put_values(
    found: Sequence[dict[str, Any]], wanted: Sequence[Mapping[str, Any]], values: list[float] | None
) -> None:
    """Give the placeholders of a patch answer their test values, by name.

    Raises
    ------
    ValueError
        If the placeholders are not those of the request.
    """
    by_name = dict(zip((b["name"] for b in wanted), values or [], strict=True))
    names = [b.get("name") for b in found]
    if sorted(map(str, names)) != sorted(by_name):
        raise ValueError(f"placeholders {names}, not {sorted(by_name)}")
    for binding in found:
        binding["values"] = [by_name[binding["name"]]]
