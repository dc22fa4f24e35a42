"""A record in sentences: one for the formulation, one for each change and each extension."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .case import Case
from .extensions import REGISTRY
from .fields import FIELDS, Field
from .locate import ANY, Fault, locate, number
from .patch import current
from .structure import RESERVED, allowed_operations, items

FORMULATIONS = {
    "ACOPF": "AC optimal power flow",
    "DCOPF": "DC optimal power flow",
    "ED": "Economic dispatch without a network",
    "SOCP": "Second-order cone relaxation of the AC optimal power flow",
}
# Amounts of which the sum over all buses or units means something.
SUMMED = ("PD", "QD", "PMAX", "QMAX", "PMIN", "QMIN")


def explain(record: Mapping[str, Any], case: Case | None = None) -> list[str]:
    """Return what a record asks for, one sentence each.

    Parameters
    ----------
    record : mapping
        Its changes should have been checked; one that cannot be read is quoted.
    case : Case, optional
        The base system; with it the sentences say the values before and after.
    """
    structure = record.get("structure") or {}
    formulation = structure.get("formulation", "ACOPF")
    title = FORMULATIONS.get(formulation, formulation)
    found = [f"{title} of {record.get('base_system', 'the network')}."]
    found += [explain_change(c, case) for c in record.get("parameters") or []]
    found += [explain_binding(b, case) for b in record.get("bindings") or []]
    return found + [explain_extension(item) for _, item in items(structure)]


def explain_change(change: Mapping[str, Any], case: Case | None = None) -> str:
    """Return a sentence for an explicit change."""
    try:
        field, value = FIELDS[change["component"], change["field"]], change["value"]
        subject = f"the {field.title} {_of(change, field)}"
        if field.switch:
            state = "put in service" if value == 1 else "switched off"
            return _sentence(f"{_object(change)} is {state}")
        if change["op"] == "scale":
            text = f"{subject} is multiplied by {number(value)}"
        else:
            text = f"{subject} is set to {_amount(value, field)}"
        return _sentence(text + _before(change, field, case))
    except (KeyError, TypeError, OverflowError):
        return f"A change that cannot be read: {change!r}."


def explain_binding(binding: Mapping[str, Any], case: Case | None = None) -> str:
    """Return a sentence for a placeholder."""
    try:
        field = FIELDS[binding["component"], binding["field"]]
        subject = f"the {field.title} {_of(binding, field)}"
        words = {"increase": "goes up", "decrease": "goes down", "set_zero": "becomes zero"}
        text = f"{subject} {words[binding['direction']]}"
        default = binding.get("default")
        if default is None and case is not None:
            default = _present(binding, field, case)
        if default is not None:
            text += f" from {_amount(default, field)}"
        values = [number(v) for v in binding.get("values") or [] if v is not None]
        if values and binding["direction"] != "set_zero":
            text += f"; tried with {' and '.join(values)}"
        return _sentence(text)
    except (KeyError, TypeError, OverflowError):
        return f"A placeholder that cannot be read: {binding!r}."


def explain_extension(item: Mapping[str, Any]) -> str:
    """Return a sentence for an extension and its parameters with their units."""
    name = item.get("name")
    module = REGISTRY.get(name) if isinstance(name, str) else None
    if module is None:
        return f"An extension that is not known: {item.get('name')!r}."
    operation = item.get("op", allowed_operations(module)[0])
    start = "In place of the generation cost" if operation == "replace" else "Added"
    doc = (module.__doc__ or module.NAME).split("\n")[0].rstrip(".")
    parts = []
    for key, value in item.items():
        part = module.PARAMETERS.get(key, {})
        usual = key == "unit" and value == part.get("default")
        if key not in RESERVED and not usual:
            parts.append(f"{key} {_shown(value)}{_unit(part)}")
    return _sentence(
        f"{start}: {doc[0].lower() + doc[1:]}{'; ' if parts else ''}{', '.join(parts)}"
    )


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _object(change: Mapping[str, Any]) -> str:
    if change["component"] == "branch":
        if change["fbus"] == ANY and change["tbus"] == ANY:
            return "every branch"
        circuit = f", circuit {change['circuit']}" if "circuit" in change else ""
        return f"branch {change['fbus']}-{change['tbus']}{circuit}"
    every = change["bus"] == ANY
    if change["component"] == "gen":
        return "every unit" if every else f"the unit at bus {change['bus']}"
    return "every bus" if every else f"bus {change['bus']}"


def _of(change: Mapping[str, Any], field: Field) -> str:
    return f"{'at' if field.component == 'bus' else 'of'} {_object(change)}"


def _amount(value: Any, field: Field) -> str:
    return f"{number(value)} {field.unit}".rstrip()


def _present(change: Mapping[str, Any], field: Field, case: Case) -> float | None:
    values = _values(change, field, case)
    return float(values[0]) if len(values) and (values == values[0]).all() else None


def _values(change: Mapping[str, Any], field: Field, case: Case) -> Any:
    try:
        return current(case, locate(case, change, field))
    except Fault:
        return ()


def _before(change: Mapping[str, Any], field: Field, case: Case | None) -> str:
    old = _values(change, field, case) if case is not None else ()
    if not len(old):
        return ""
    factor = change["value"] if change["op"] == "scale" else None
    same = bool((old == old[0]).all())
    if same:
        after = "" if factor is None else f" to {number(float(old[0]) * factor)}"
        each = f" at each of {len(old)}" if len(old) > 1 else ""
        return f" (from {number(old[0])}{after} {field.unit}{each})".replace(" )", ")")
    if field.name in SUMMED and factor is not None:
        return f" (in total from {number(old.sum())} to {number(old.sum() * factor)} {field.unit})"
    return f" (from {number(old.min())} to {number(old.max())} {field.unit} on {len(old)} rows)"


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {_shown(v)}" for k, v in value.items())
    if isinstance(value, Iterable) and not isinstance(value, str):
        return "[" + "; ".join(_shown(v) for v in value) + "]"
    return value if isinstance(value, str) else number(value)


def _unit(part: Mapping[str, Any]) -> str:
    unit = re.search(r"\(([^()]+)\)(?:;|,|$)", part.get("description", ""))
    return f" {unit.group(1)}" if unit and unit.group(1) != "1" else ""
