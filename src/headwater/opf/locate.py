"""Changes of a request read and their objects found in a network, every fault named."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from headwater.core.config import nearest

from .bindings import DIRECTIONS
from .case import Case
from .fields import ALIASES, COMPONENTS, FIELDS, Field, names, owner
from .findings import Finding

OPERATIONS = ("set", "scale")
ANY = "*"
MOST = 2**53  # numbers of buses are kept as floats
COMMON = ("component", "bus", "fbus", "tbus", "circuit", "field")
PARAMETER = ("op", "value")
BINDING = ("name", "direction", "default", "rows", "values", "published_values")
LARGEST = 10**300
INFINITE = {"Inf": math.inf, "-Inf": -math.inf}


class Fault(Exception):
    """A change that cannot be read or applied."""

    def __init__(
        self, code: str, where: str, found: str, expected: str = "", hint: str = ""
    ) -> None:
        self.finding = Finding("error", code, where, found, expected, hint)
        super().__init__(self.finding.message)


@dataclass(frozen=True)
class Target:
    """A field of an object that was found in a network.

    Attributes
    ----------
    field : Field
    rows : int array
        Rows of the component's table.
    label : str
        The object in words: ``bus 7``, ``unit at bus 2``, ``branch 15-21``.
    findings : list of Finding
        What a reader should know about the choice of rows.
    """

    field: Field
    rows: np.ndarray
    label: str
    findings: tuple[Finding, ...] = ()


def closest(word: Any, known: Iterable[str]) -> str:
    """Return a hint with the known word that is meant, empty where none is close."""
    hint = nearest(str(word), known)
    return "" if hint.startswith("known") else hint


def number(value: Any) -> str:
    """Return a number as short text with up to ten digits."""
    if isinstance(value, int | float | np.floating) and abs(value) < LARGEST:
        return f"{value:.10g}"
    return str(value) if isinstance(value, float) else repr(value)[:40]


def read_value(item: Mapping[str, Any], where: str, key: str = "value") -> float:
    """Return the number of a change; ``"Inf"`` and ``"-Inf"`` are the infinities.

    Raises
    ------
    Fault
        ``wrong_type`` where it is no number.
    """
    value = item[key]
    if isinstance(value, str) and value in INFINITE:
        return INFINITE[value]
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise Fault("wrong_type", f"{where}, {key}", repr(value), "a number")
    if isinstance(value, int) and abs(value) > LARGEST:
        raise Fault("wrong_type", f"{where}, {key}", repr(value)[:40], "a number below 1e300")
    return float(value)


def read_change(item: Any, where: str, binding: bool = False) -> Field:
    """Return the field that a change is about, after a check of its shape.

    Raises
    ------
    Fault
        ``wrong_type``, ``unknown_key``, ``missing_key``, ``unknown_component``,
        ``unknown_field``, ``unknown_operation`` or ``unknown_direction``.
    """
    if not isinstance(item, Mapping):
        raise Fault("wrong_type", where, repr(item), "an object with component, field and value")
    allowed = COMMON + (BINDING if binding else PARAMETER)
    for key in item:
        if key not in allowed:
            raise Fault(
                "unknown_key",
                f"{where}, {key}",
                repr(item[key]),
                ", ".join(allowed),
                closest(key, allowed),
            )
    component = item.get("component")
    if component not in COMPONENTS:
        hint = closest(component, COMPONENTS)
        raise Fault("unknown_component", where, repr(component), "bus, gen or branch", hint)
    for key in COMMON[1:5]:
        if key in item:
            _check_key(item[key], component, key, where)
    needed = ["fbus", "tbus"] if component == "branch" else ["bus"]
    needed += ["field", *(["direction"] if binding else PARAMETER)]
    for key in needed:
        if key not in item:
            raise Fault("missing_key", where, f"no {key!r}", "each of " + ", ".join(needed))
    if binding:
        _choice(item["direction"], DIRECTIONS, "unknown_direction", f"{where}, direction")
    else:
        _choice(item["op"], OPERATIONS, "unknown_operation", f"{where}, op")
    return _field(component, item["field"], where)


def _choice(value: Any, known: Iterable[str], code: str, where: str) -> None:
    if value not in tuple(known):
        raise Fault(code, where, repr(value), " or ".join(known), closest(value, known))


def _check_key(value: Any, component: str, key: str, where: str) -> None:
    wrong = key not in (("fbus", "tbus", "circuit") if component == "branch" else ("bus",))
    if wrong:
        hint = "A branch has fbus and tbus." if component == "branch" else "It has bus."
        raise Fault("unknown_key", f"{where}, {key}", repr(value), f"a key of a {component}", hint)
    if value == ANY and key != "circuit":
        return
    whole = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not whole or not 1 <= value <= MOST or value != int(value):
        expected = "a circuit number from 1" if key == "circuit" else 'a bus number, or "*" for all'
        raise Fault("wrong_type", f"{where}, {key}", repr(value)[:40], expected)


def _field(component: str, name: Any, where: str) -> Field:
    field = FIELDS.get((component, name)) if isinstance(name, str) else None
    if field is not None:
        return field
    where = f"{where}, field"
    other = owner(name) if isinstance(name, str) else None
    if other:
        hint = f"{name} is a field of {other}."
    elif isinstance(name, str) and name in ALIASES:
        hint = f"Write {ALIASES[name]}: the coefficient of P^{str(name)[-1]}."
    else:
        hint = closest(name, names(component))
    raise Fault("unknown_field", where, repr(name), ", ".join(names(component)), hint)


def locate(case: Case, item: Mapping[str, Any], field: Field) -> Target:
    """Return the rows that a change is about.

    Raises
    ------
    Fault
        ``unknown_bus``, ``unknown_generator`` or ``unknown_branch``, with what there is instead.
    """
    if field.component == "branch":
        return _branch(case, item, field)
    key = item["bus"]
    column = "BUS_I" if field.component == "bus" else "GEN_BUS"
    numbers = getattr(case, field.component)[column].to_numpy()
    if key == ANY:
        label = "all buses" if field.component == "bus" else "all units"
        return Target(field, np.arange(len(numbers)), label)
    key = int(key)
    rows = np.flatnonzero(numbers == key)
    if field.component == "bus":
        if not len(rows):
            raise _unknown_bus(case, key, field)
        return Target(field, rows, f"bus {key}")
    if not len(rows):
        raise _unknown_generator(case, key, field)
    label = f"unit at bus {key}"
    return Target(field, rows, label, tuple(_several(case, item, field, rows, label)))


def _several(
    case: Case, item: Mapping[str, Any], field: Field, rows: np.ndarray, label: str
) -> Iterable[Finding]:
    # A scale or a coefficient means the same for one unit and for each; an amount does not.
    amount = item.get("op") == "set" and field.power is None and not field.switch
    if amount and len(rows) > 1:
        yield Finding(
            "warning",
            "several_generators",
            f"{case.name}, {label}, {field.name}",
            f"{len(rows)} units at this bus",
            "one unit",
            f"Each of them gets {number(item.get('value'))} {field.unit}.",
        )


def _branch(case: Case, item: Mapping[str, Any], field: Field) -> Target:
    f, t = case.branch["F_BUS"].to_numpy(), case.branch["T_BUS"].to_numpy()
    if item["fbus"] == ANY and item["tbus"] == ANY:
        return Target(field, np.arange(len(f)), "all branches")
    if ANY in (item["fbus"], item["tbus"]):
        end = item["tbus"] if item["fbus"] == ANY else item["fbus"]
        rows = np.flatnonzero((f == int(end)) | (t == int(end)))
        if not len(rows):
            raise _unknown_bus(case, int(end), field)
        return Target(field, rows, f"all branches at bus {int(end)}")
    a, b = int(item["fbus"]), int(item["tbus"])
    rows = np.flatnonzero(((f == a) & (t == b)) | ((f == b) & (t == a)))
    label = f"branch {a}-{b}"
    if not len(rows):
        raise _unknown_branch(case, a, b, field)
    where = f"{case.name}, {label}, {field.name}"
    findings = []
    circuit = item.get("circuit")
    if circuit is not None:
        if circuit > len(rows):
            found = f"circuit {int(circuit)} of {label} in {case.name}"
            raise Fault("unknown_branch", where, found, f"a circuit from 1 to {len(rows)}")
        rows = rows[int(circuit) - 1 : int(circuit)]
        label += f" circuit {int(circuit)}"
    elif len(rows) > 1:
        hint = 'All are changed; name one by "circuit": 1 and so on, in the order of the file.'
        found = f"{len(rows)} circuits between bus {a} and bus {b}"
        findings.append(Finding("warning", "parallel_branches", where, found, "one", hint))
    if field.name in ("TAP", "SHIFT", "ANGMIN", "ANGMAX") and np.any(f[rows] != a):
        hint = f"{field.name} is the file's, from {b} to {a}; it is not turned round."
        found = f"a branch from {b} to {a}"
        findings.append(Finding("warning", "reversed_branch", where, found, f"{a} to {b}", hint))
    return Target(field, rows, label, tuple(findings))


def _listed(numbers: Iterable[float], most: int = 12) -> str:
    found = sorted({int(n) for n in numbers})
    return ", ".join(map(str, found[:most])) + (", …" if len(found) > most else "")


def _close(numbers: np.ndarray, key: int) -> str:
    order = np.argsort(np.abs(numbers - key), kind="stable")[:5]
    return _listed(numbers[order])


def _unknown_bus(case: Case, key: int, field: Field) -> Fault:
    numbers = case.bus["BUS_I"].to_numpy()
    return Fault(
        "unknown_bus",
        f"{case.name}, bus {key}, {field.name}",
        f"bus {key}, which {case.name} does not have",
        f"one of its {len(numbers)} buses, {numbers.min():g} to {numbers.max():g}",
        f"Numbers next to it: {_close(numbers, key)}.",
    )


def _unknown_generator(case: Case, key: int, field: Field) -> Fault:
    buses, at = case.bus["BUS_I"].to_numpy(), case.gen["GEN_BUS"].to_numpy()
    there = "no generator stands at" if key in buses else "there is no"
    return Fault(
        "unknown_generator",
        f"{case.name}, unit at bus {key}, {field.name}",
        f"{there} bus {key} of {case.name}",
        f"a bus with a generator: {_listed(at)}",
        f"Buses with one next to it: {_close(np.unique(at), key)}.",
    )


def _unknown_branch(case: Case, a: int, b: int, field: Field) -> Fault:
    f, t = case.branch["F_BUS"].to_numpy(), case.branch["T_BUS"].to_numpy()
    buses = case.bus["BUS_I"].to_numpy()
    texts = []
    for end in (a, b):
        near = np.concatenate([t[f == end], f[t == end]])
        if end not in buses:
            texts.append(f"{case.name} has no bus {end}")
        elif len(near):
            texts.append(f"bus {end} is connected to {_listed(near)}")
        else:
            texts.append(f"bus {end} has no branch")
    return Fault(
        "unknown_branch",
        f"{case.name}, branch {a}-{b}, {field.name}",
        f"branch {a}-{b}, which does not exist in {case.name}",
        "two buses that a branch joins",
        f"{'; '.join(texts)}."[0].upper() + f"{'; '.join(texts)}."[1:],
    )
