"""Changes of a request applied to a network: nothing is changed silently, nothing ignored.

A change sets or scales a field of an object; a binding sets one to a test value that has to lie
in its direction. Every change that does nothing, or that a formulation cannot feel, is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from .bindings import moves
from .case import Case
from .cost_rows import read_cost, write_cost
from .fields import Field, is_used
from .findings import Finding
from .lint import check_rows
from .locate import Fault, Target, locate, number, read_change, read_value

Changes = Sequence[Mapping[str, Any]]


def apply(
    case: Case,
    parameters: Changes,
    structure: Mapping[str, Any] | None = None,
    dc_convention: str = "matpower",
) -> tuple[Case, list[Finding]]:
    """Return the network with explicit changes, in their order, and what was found.

    Parameters
    ----------
    case : Case
        Left as it is.
    parameters : sequence of mapping
        ``component``, ``bus`` (or ``"*"``) or ``fbus`` and ``tbus`` (and ``circuit``),
        ``field``, ``op`` (``set`` or ``scale``) and ``value`` in the unit of the field.
    structure : mapping, optional
        Structure of the request; says which fields matter.
    dc_convention : str
        ``matpower`` or ``powermodels``.

    Returns
    -------
    Case
        A change with an error is left out of it.
    list of Finding
        Errors: ``unknown_bus``, ``unknown_generator``, ``unknown_branch``, ``unknown_field`` and
        the other faults of shape, ``nan_or_inf``, ``unit_out_of_range``, ``bounds_crossed``,
        ``zero_impedance``, ``cost_not_polynomial``. Warnings: ``no_effect``,
        ``field_unused_by_formulation``, ``parallel_branches``, ``several_generators``,
        ``reversed_branch``, ``unlimited_rating``, ``repeated_change``, ``negative_reactance``,
        ``nonconvex_cost``.
    """
    return patch(case, parameters, structure=structure, dc_convention=dc_convention)


def bind(
    case: Case,
    bindings: Changes,
    values: Mapping[str, float] | Sequence[float],
    structure: Mapping[str, Any] | None = None,
    dc_convention: str = "matpower",
) -> tuple[Case, list[Finding]]:
    """Return the network with values for the placeholders, and what was found.

    Parameters
    ----------
    bindings : sequence of mapping
        ``name``, key, ``field``, ``direction`` (``increase``, ``decrease``, ``set_zero``), and
        ``default`` and ``rows`` as the request supposes them.
    values : mapping or sequence
        By name, or in the order of the bindings.

    Returns
    -------
    Case, list of Finding
        As `apply`; also the errors ``direction_violated`` and ``missing_value`` and the warning
        ``default_mismatch``.
    """
    return patch(case, (), bindings, values, structure, dc_convention)


def patch(
    case: Case,
    parameters: Changes = (),
    bindings: Changes = (),
    values: Mapping[str, float] | Sequence[float] = (),
    structure: Mapping[str, Any] | None = None,
    dc_convention: str = "matpower",
) -> tuple[Case, list[Finding]]:
    """Return the network with changes first and placeholders then, checked once at the end."""
    work = _Work(case, structure or {}, dc_convention)
    for k, item in enumerate(_sequence(parameters, "parameters", work)):
        work.attempt(_parameter, item, f"{case.name}, parameters[{k}]")
    for k, item in enumerate(_sequence(bindings, "bindings", work)):
        work.attempt(_binding, item, f"{case.name}, bindings[{k}]", k, values)
    return work.finish()


def _sequence(items: Any, name: str, work: _Work) -> Changes:
    if isinstance(items, Sequence) and not isinstance(items, str):
        return items
    fault = Fault("wrong_type", f"{work.case.name}, {name}", repr(items), "a list of changes")
    work.findings.append(fault.finding)
    return ()


@dataclass
class _Work:
    """Tables under change: copied when first touched."""

    case: Case
    structure: Mapping[str, Any]
    dc_convention: str
    tables: dict[str, Any] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    touched: list[Target] = field(default_factory=list)
    seen: set[tuple] = field(default_factory=set)

    def attempt(self, change: Any, item: Any, where: str, *rest: Any) -> None:
        """Apply one change; a fault becomes a finding."""
        try:
            change(self, item, where, *rest)
        except Fault as fault:
            self.findings.append(fault.finding)

    def table(self, name: str) -> Any:
        """Return a table that may be written to."""
        if name not in self.tables:
            self.tables[name] = getattr(self.case, name).copy()
        return self.tables[name]

    def now(self) -> Case:
        """Return the network as it is so far."""
        return self.case.with_tables(**self.tables) if self.tables else self.case

    def warn(self, code: str, target: Target, found: str, expected: str, hint: str) -> None:
        """Keep a warning about a change."""
        where = _place(self.case, target)
        self.findings.append(Finding("warning", code, where, found, expected, hint))

    def read(self, target: Target) -> np.ndarray:
        """Return the present numbers of a field."""
        return current(self.now(), target)

    def write(self, target: Target, new: np.ndarray) -> None:
        """Write numbers of a field."""
        if target.field.power is None:
            table: pd.DataFrame = self.table(target.field.component)
            table.iloc[target.rows, table.columns.get_loc(target.field.name)] = new
        else:
            self.tables["gencost"] = write_cost(self.table("gencost"), target, new)

    def finish(self) -> tuple[Case, list[Finding]]:
        """Return the changed network and all findings."""
        case = self.now()
        for target in self.touched:
            self._out_of_service(case, target)
        return case, list(dict.fromkeys([*self.findings, *check_rows(case, self.touched)]))

    def _out_of_service(self, case: Case, target: Target) -> None:
        status = {"bus": "BUS_TYPE", "gen": "GEN_STATUS", "branch": "BR_STATUS"}
        component = target.field.component
        state = getattr(case, component)[status[component]].to_numpy()[target.rows]
        off = state == 4 if component == "bus" else state <= 0
        if not target.field.switch and len(off) and off.all():
            hint = "Put it into service, or change another one."
            self.warn("no_effect", target, f"{target.label} out of service", "one in service", hint)


def current(case: Case, target: Target) -> np.ndarray:
    """Return the numbers of a field in a network."""
    if target.field.power is not None:
        return read_cost(case.gencost, target, case)
    return getattr(case, target.field.component)[target.field.name].to_numpy()[target.rows]


def _place(case: Case, target: Target) -> str:
    return f"{case.name}, {target.label}, {target.field.name}"


def _parameter(work: _Work, item: Any, where: str) -> None:
    field_ = read_change(item, where)
    value = read_value(item, where)
    target = locate(work.case, item, field_)
    scale = item["op"] == "scale"
    if scale and field_.switch:
        raise Fault("unknown_operation", f"{where}, op", "'scale'", "set: a status is 0 or 1")
    check_value(work.case, target, value, scale)
    old = work.read(target)
    with np.errstate(over="ignore"):
        new = old * value if scale else np.full(len(old), value)
    if scale and np.any(np.isinf(new) & np.isfinite(old)):
        where = _place(work.case, target)
        raise Fault("nan_or_inf", where, f"a product with {number(value)}", "a finite number")
    work.findings += target.findings
    _repeated(work, target)
    _change(work, target, old, new, f"scaled by {number(value)}" if scale else "")


def _binding(
    work: _Work,
    item: Any,
    where: str,
    position: int,
    values: Mapping[str, float] | Sequence[float],
) -> None:
    field_ = read_change(item, where, binding=True)
    name = item.get("name")
    try:
        value = values[name if isinstance(values, Mapping) else position]
    except (KeyError, IndexError):
        value = None
    if value is None:
        raise Fault("missing_value", where, "none", f"a value for {name}") from None
    value = read_value({"value": value}, where)
    target = locate(work.case, item, field_)
    check_value(work.case, target, value, scale=False)
    old = work.read(target)
    _check_direction(work.case, target, old, value, item["direction"])
    work.findings += [f for f in target.findings if f.code != "several_generators"]
    _mismatch(work, target, old, item, where)
    _repeated(work, target)
    _change(work, target, old, np.full(len(old), value), "")


def check_value(case: Case, target: Target, value: float, scale: bool) -> None:
    """Refuse what is no number of the field.

    Raises
    ------
    Fault
        ``nan_or_inf`` or ``unit_out_of_range``.
    """
    name, where = target.field, _place(case, target)
    if np.isnan(value) or (np.isinf(value) and (scale or not name.limit)):
        expected = "a finite number" if scale or not name.limit else "a number, or Inf for no limit"
        raise Fault("nan_or_inf", where, number(value), expected, "Inf is for limits only.")
    zero_means_none = name.zero and value == 0
    inside = name.low <= value <= name.high or np.isinf(value) or zero_means_none
    if name.switch:
        inside = value in (0, 1)
    if not scale and not inside:
        raise Fault("unit_out_of_range", where, number(value), name.range, _unit_hint(name, value))


def _unit_hint(name: Field, value: float) -> str:
    if name.unit == "p.u." and name.low <= value / 100 <= name.high:
        return f"{number(value)} looks like percent; write {number(value / 100)} {name.unit}"
    if name.switch:
        return "1 is in service, 0 is out of service."
    return f"The unit of {name.name} is {name.unit}."


def _check_direction(
    case: Case, target: Target, old: np.ndarray, value: float, direction: str
) -> None:
    if moves(target.field, old, value, direction) != "wrong":
        return
    present = _span(old)
    if direction == "set_zero":
        expected = "0"
    else:
        expected = f"{'more' if direction == 'increase' else 'less'} than {present}"
    hint = f"The request asks for: {direction.replace('_', ' ')}; the value now is {present}."
    if target.field.name == "RATE_A" and np.any(old == 0):
        hint += " A rating of 0 is none at all: any other number is less."
    unit = f" {target.field.unit}".rstrip()
    found = f"{number(value)}{unit}"
    raise Fault("direction_violated", _place(case, target), found, expected + unit, hint)


def _span(values: np.ndarray) -> str:
    low, high = values.min(), values.max()
    return number(low) if low == high else f"{number(low)} to {number(high)}"


def _mismatch(
    work: _Work, target: Target, old: np.ndarray, item: Mapping[str, Any], where: str
) -> None:
    rows = item.get("rows")
    default = None if item.get("default") is None else read_value(item, where, "default")
    hint = "The request was written for another version of this network."
    if default is not None and not np.any(np.isclose(old, default, rtol=1e-9, atol=1e-12)):
        found = f"{_span(old)} in {work.case.name}"
        work.warn("default_mismatch", target, found, f"{number(default)} as the request says", hint)
    if rows is not None and rows != len(old):
        found = f"{len(old)} rows in {work.case.name}"
        work.warn("default_mismatch", target, found, f"{rows} as the request says", hint)


def _repeated(work: _Work, target: Target) -> None:
    keys = {(target.field.component, target.field.name, int(r)) for r in target.rows}
    if keys & work.seen:
        hint = "Changes apply in their order; a later set replaces an earlier one."
        work.warn("repeated_change", target, "an earlier change of it", "one change", hint)
    work.seen |= keys


def _change(work: _Work, target: Target, old: np.ndarray, new: np.ndarray, how: str) -> None:
    name = target.field
    if how and np.any((new < name.low) | (new > name.high)):
        _out_of_range_by_scale(work, target, old, new, how)
    if np.array_equal(old, new):
        _without_effect(work, target, old, how)
    elif name.name == "RATE_A" and np.any((new == 0) & (old != 0)):
        hint = "To close a branch to all flow, switch it off: BR_STATUS 0."
        work.warn("unlimited_rating", target, "0 MVA, which means no limit", "a rating", hint)
    _unused(work, target)
    work.write(target, new)
    work.touched.append(target)


def _out_of_range_by_scale(
    work: _Work, target: Target, old: np.ndarray, new: np.ndarray, how: str
) -> None:
    name = target.field
    outside = (new < name.low) | (new > name.high)
    outside &= (old >= name.low) & (old <= name.high) & np.isfinite(new)
    outside &= ~((new == 0) & bool(name.zero))
    if np.any(outside):
        found = f"{_span(new[outside])}, {_span(old[outside])} {how}"
        raise Fault("unit_out_of_range", _place(work.case, target), found, name.range)


def _without_effect(work: _Work, target: Target, old: np.ndarray, how: str) -> None:
    name = target.field
    present = f"{_span(old)} {name.unit}".rstrip()
    hint = "The change leaves the network as it is."
    if how and not np.any(old):
        zero = f", which means {name.zero}" if name.zero else ""
        hint = f"A multiple of zero is zero{zero}; set a value instead."
    found = f"{name.name} {present}" + (f", {how}" if how else " already")
    work.warn("no_effect", target, found, "a change", hint)


def _unused(work: _Work, target: Target) -> None:
    formulation = work.structure.get("formulation", "ACOPF")
    name = target.field
    if not is_used(name, formulation, work.dc_convention):
        users = " or ".join(name.used) if name.used else "no formulation"
        hint = f"The optimum of {formulation} does not depend on it."
        found = f"{name.name} with formulation {formulation}"
        work.warn("field_unused_by_formulation", target, found, users, hint)
    elif name.power is not None:
        for item in replacing(work.structure):
            found = f"{name.name} with the objective replaced by {item}"
            hint = "The cost of generation is not part of the objective."
            work.warn("field_unused_by_formulation", target, found, "the cost minimised", hint)


def replacing(structure: Mapping[str, Any]) -> list[str]:
    """Return the names of the extensions that stand in the place of the generation cost."""
    from .extensions import REGISTRY
    from .structure import allowed_operations

    items = structure.get("objective") or []
    found = []
    for item in items if isinstance(items, list) else []:
        name = item.get("name") if isinstance(item, Mapping) else None
        if name in REGISTRY and item.get("op", allowed_operations(REGISTRY[name])[0]) == "replace":
            found.append(name)
    return found


def prefixed(findings: Iterable[Finding], prefix: str) -> list[Finding]:
    """Return findings whose place starts with a prefix, for example the id of a record."""
    return [replace(f, where=f"{prefix}, {f.where}" if f.where else prefix) for f in findings]
