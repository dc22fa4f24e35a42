"""Parameter changes of a ProOPF record as changes and placeholders of ours."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from .bindings import moves, placeholder
from .case import POLYNOMIAL, Case
from .fields import ALIASES, FIELDS, names
from .findings import Finding
from .locate import Fault, closest, locate, number

COMPONENTS = {"bus": "bus", "gen": "gen", "generator": "gen", "gencost": "gen", "branch": "branch"}
COMPONENTS["line"] = "branch"
DIRECTIONS = {"increase": "increase", "decrease": "decrease", "setzero": "set_zero"}
STRATEGIES = ("parameter_value_strategy1", "parameter_value_strategy2")
INFERRED = ("direction", "default_value", *STRATEGIES)
KNOWN = ("component", "bus_id", "fbus", "tbus", "target_parameter", "operation", "value")


def is_inferred(item: Any) -> bool:
    """Return whether a change has a direction in the place of a value."""
    return isinstance(item, Mapping) and any(k in item for k in INFERRED)


def parameter_of(item: Any, where: str, findings: list[Finding]) -> dict[str, Any]:
    """Return an explicit change.

    Raises
    ------
    Fault
        ``null_value``, ``wrong_type``, ``missing_key``, ``unknown_component``,
        ``unknown_field``, ``unknown_operation``, ``nan_or_inf``.
    """
    found = _key(item, where, findings)
    op = str(item.get("operation") or "").strip().lower()
    if op not in ("set", "scale"):
        raise Fault("unknown_operation", where, repr(item.get("operation")), "Set or Scale")
    value = _value(item, "value", where)
    if value is None:
        raise Fault("null_value", f"{where}, value", "nothing", "a number", "Nothing to apply.")
    return {**found, "op": op, "value": value}


def binding_of(item: Any, where: str, case: Case | None, findings: list[Finding]) -> dict[str, Any]:
    """Return a placeholder with its test values in the order of the file.

    A missing value becomes an error ``null_value`` among the findings, and no test value.

    Raises
    ------
    Fault
        As `parameter_of`; also ``unknown_direction``.
    """
    found = _key(item, where, findings)
    word = re.sub(r"[^a-z]", "", str(item.get("direction") or "").lower())
    if word not in DIRECTIONS:
        expected = "Increase, Decrease or Set zero"
        raise Fault("unknown_direction", where, repr(item.get("direction")), expected)
    default = _value(item, "default_value", where)
    values = [_value(item, key, where) for key in STRATEGIES]
    if None in values:
        absent = [k for k, v in zip(STRATEGIES, values, strict=True) if v is None]
        hint = "A program that takes it as an argument cannot run."
        findings.append(
            Finding("error", "null_value", f"{where}, {absent[0]}", "nothing", "a number", hint)
        )
    numbers = [v for v in values if v is not None]
    binding = {"name": placeholder(found), **found, "direction": DIRECTIONS[word]}
    if default is not None:
        binding["default"] = default
    rows = _rows(found, case)
    if rows is not None:
        binding["rows"] = len(rows)
    binding["values"] = numbers if len(numbers) == len(values) else []
    return binding


def corrected(
    binding: dict[str, Any], where: str, case: Case | None, findings: list[Finding]
) -> dict[str, Any]:
    """Return a placeholder whose test values lie in its direction.

    A percentage of a negative default moves it the wrong way: 5 % "down" from -20 is -19. The
    rule is default -+ share |default|; the published values stay beside ours.
    """
    default, values = binding.get("default"), binding["values"]
    if default is None or not values:
        return binding
    steps = [abs(v - default) for v in values]
    if len(values) == 2 and steps[0] > steps[1] * (1 + 1e-9) and binding["direction"] != "set_zero":
        hint = "The order of the file is kept: the published score takes the first."
        found = f"{number(values[0])} before {number(values[1])}"
        expected = "the smaller step first"
        findings.append(Finding("warning", "strategy_order", where, found, expected, hint))
    field = FIELDS[binding["component"], binding["field"]]
    old = np.array([float(default)])
    wrong = any(moves(field, old, v, binding["direction"]) == "wrong" for v in values)
    if default >= 0 or not wrong or binding["direction"] == "set_zero":
        return binding
    sign = 1.0 if binding["direction"] == "increase" else -1.0
    ours = [default + sign * step for step in steps]
    hint = "Published values are kept for compat scores; ours follow the direction."
    found = f"{number(values[0])} as a {binding['direction']} of {number(default)}"
    expected = f"{number(ours[0])}: a share of |default|"
    findings.append(Finding("warning", "negative_default", where, found, expected, hint))
    return {**binding, "values": ours, "published_values": values}


def _key(item: Any, where: str, findings: list[Finding]) -> dict[str, Any]:
    """Return component, object and field of a change."""
    if not isinstance(item, Mapping):
        raise Fault("wrong_type", where, repr(item)[:80], "an object")
    for name in item:
        if name not in KNOWN + INFERRED:
            hint = closest(name, KNOWN + INFERRED) or "It is left out."
            found = repr(item[name])[:80]
            where_ = f"{where}, {name}"
            findings.append(Finding("warning", "unknown_key", where_, found, "no such key", hint))
    component = COMPONENTS.get(str(item.get("component") or "").strip().lower())
    if component is None:
        raise Fault("unknown_component", where, repr(item.get("component")), "bus, gen or branch")
    found = {"component": component}
    keys = {"fbus": "fbus", "tbus": "tbus"} if component == "branch" else {"bus": "bus_id"}
    for ours, theirs in keys.items():
        found[ours] = _bus(item, theirs, where, findings)
    return {**found, "field": _field(item, component, where, findings)}


def _bus(item: Mapping[str, Any], key: str, where: str, findings: list[Finding]) -> int:
    value = item.get(key)
    if value is None:
        raise Fault("missing_key", where, f"no {key!r}", "a bus number")
    if isinstance(value, str) and value.strip().isdigit():
        hint = "It is read as a number."
        where_ = f"{where}, {key}"
        findings.append(Finding("warning", "wrong_type", where_, repr(value), "a number", hint))
        value = int(value)
    whole = isinstance(value, int | float) and not isinstance(value, bool)
    if not whole or not math.isfinite(value) or value != int(value) or value < 1:
        raise Fault("wrong_type", f"{where}, {key}", repr(value), "a bus number")
    return int(value)


def _field(item: Mapping[str, Any], component: str, where: str, findings: list[Finding]) -> str:
    theirs = str(item.get("target_parameter") or "").strip()
    name = ALIASES.get(theirs.upper(), theirs.upper())
    where = f"{where}, target_parameter"
    if (component, name) not in FIELDS:
        known = names(component)
        raise Fault("unknown_field", where, repr(theirs), ", ".join(known), closest(name, known))
    if theirs.upper().startswith("COST_PARAMS"):
        hint = f"Taken as {name}: C<k> multiplies P^k everywhere, C2 is the quadratic term."
        expected = "the published records use C3 for the cubic and for the quadratic term"
        findings.append(
            Finding("warning", "cost_name_ambiguity", where, repr(theirs), expected, hint)
        )
    return name


def _value(item: Mapping[str, Any], key: str, where: str) -> float | None:
    value = item.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Fault("wrong_type", f"{where}, {key}", repr(value)[:80], "a number")
    if not math.isfinite(value):
        raise Fault("nan_or_inf", f"{where}, {key}", str(value), "a finite number")
    return value


def _rows(item: Mapping[str, Any], case: Case | None) -> np.ndarray | None:
    try:
        field = FIELDS[item["component"], item["field"]]
        return None if case is None else locate(case, item, field).rows
    except Fault:
        return None


def program_columns(record: Mapping[str, Any], program: str, case: Case | None) -> list[Finding]:
    """Return where the published program writes another cost coefficient than it should.

    A fixed column of ``gencost`` (``5`` is the first coefficient, the highest power) is held
    against NCOST of the units that the record changes.
    """
    columns = {int(c) for c in re.findall(r"gencost\(\s*[\w:]+\s*,\s*(\d+)\s*\)\s*=", program)}
    found = []
    changes = [*record["parameters"], *record["bindings"]]
    for item in changes if case is not None and columns else []:
        power = FIELDS[item["component"], item["field"]].power
        rows = _rows(item, case) if power is not None else None
        for row in [] if rows is None else rows:
            cost = case.gencost[row]  # type: ignore[union-attr]
            if cost[0] != POLYNOMIAL or power is None:
                continue
            right = 4 + int(cost[3]) - power
            if right not in columns:
                wrong = min(columns)
                found.append(_column(item, wrong, 4 + int(cost[3]) - wrong, right))
                break
    return found


def _column(item: Mapping[str, Any], column: int, power: int, right: int) -> Finding:
    what = f"the coefficient of P^{power}" if power >= 0 else "nothing that counts"
    return Finding(
        "warning",
        "cost_column",
        f"published program, unit at bus {item['bus']}, {item['field']}",
        f"column {column} of gencost, {what}",
        f"column {right}",
        "The published objective belongs to that program; it is kept for compat scores.",
    )
