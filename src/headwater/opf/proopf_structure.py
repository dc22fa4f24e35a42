"""The structural change of a ProOPF record as a structure of our vocabulary."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import proopf_names as names
from .case import Case
from .extensions import REGISTRY
from .findings import Finding
from .structure import allowed_operations, check, empty

WHERE = "structural_modification"
SQUARED_MVAR = r"\$\s*/\s*\(?\s*MVAr\s*\)?\s*(\^\s*2|²)|\bMVAr\s*(\^\s*2|²)"
# The program multiplies the costs by the base power: after a list in brackets, or before.
SCALED = r"c_?Q\w*(\s*=\s*\[[^\]]*\])?[^;\n]*baseMVA|baseMVA[^;\n]*c_?Q"
UNITS_AT = r"generators?(?:\(s\))?\s+(?:located\s+|connected\s+)?(?:at|to|on)\s+bus(?:es)?\s+"


@dataclass
class Wanted:
    """An extension that is asked for: its operation and the numbers that came with it."""

    op: str = "add"
    place: str = WHERE
    numbers: dict[str, tuple[str, Any]] = field(default_factory=dict)


def import_structure(
    change: Any, text: str, code: str, case: Case | None
) -> tuple[dict[str, Any], list[Finding]]:
    """Return the structure that a structural change means, and what was found.

    Parameters
    ----------
    change : mapping
        ``problem``, ``objective_modification`` and ``constraint_modification`` (one or a list).
    text, code : str
        The request and the published program: they say what the change leaves open, the buses
        of a list of costs and the unit in which the program applies them.
    case : Case or None
        The base system.

    Returns
    -------
    dict, list of Finding
        Errors ``structure_not_expressible``, ``unknown_formulation`` and those of
        `headwater.opf.structure.check`; warnings ``parameter_ignored``, ``per_unit_label``,
        ``unit_assumed`` and ``order_mismatch``.
    """
    found: list[Finding] = []
    structure = empty()
    if not change:
        return structure, found
    if not isinstance(change, Mapping):
        fault = Finding("error", "wrong_type", WHERE, repr(change)[:80], "an object")
        return structure, [fault]
    problem = change.get("problem", "")
    formulation = names.first(names.FORMULATIONS, problem)
    if formulation is None:
        expected = "a name with DC, AC, SOCP or ED"
        found.append(
            Finding("error", "unknown_formulation", f"{WHERE}, problem", repr(problem), expected)
        )
    structure["formulation"] = formulation or "ACOPF"
    for target, wanted in _targets(change, problem, found).items():
        module = REGISTRY[target]
        item, left = _item(target, wanted)
        if target == "reactive_generation_cost" and "c2" in item:
            _reactive_cost(item, text, code, case, found)
        if target == "n1_security" and _rates_in_mw(code):
            found.append(_per_unit("flows per unit are compared with ratings in MVA"))
        found += [_ignored(wanted.place, name, value) for name, value in left]
        structure[module.GROUP].append(item)
    return structure, found + check(structure, case)


def _targets(change: Mapping[str, Any], problem: Any, found: list[Finding]) -> dict[str, Wanted]:
    wanted: dict[str, Wanted] = {}
    for part, table in (
        ("objective_modification", names.OBJECTIVES),
        ("constraint_modification", names.CONSTRAINTS),
    ):
        items = change.get(part) or []
        for item in items if isinstance(items, list) else [items]:
            place = f"{WHERE}, {part}"
            if not isinstance(item, Mapping):
                found.append(_foreign(place, item))
                continue
            _want(wanted, item, table, place, found)
    for target in names.every(names.PROBLEMS, problem):
        if target in REGISTRY:
            wanted.setdefault(target, Wanted(place=f"{WHERE}, problem"))
        else:
            found.append(_foreign(f"{WHERE}, problem", problem))
    return wanted


def _want(
    wanted: dict[str, Wanted],
    item: Mapping[str, Any],
    table: tuple[tuple[str, str], ...],
    place: str,
    found: list[Finding],
) -> None:
    name, op = item.get("name", ""), str(item.get("op", "add")).lower()
    known = isinstance(name, str) and name in REGISTRY
    target = name if known else names.first(table, name)
    if op == "none" or target == names.NOTHING:
        return
    if target not in REGISTRY:
        found.append(_foreign(place, name))
        return
    entry = wanted.setdefault(target, Wanted(place=place))
    if op in allowed_operations(REGISTRY[target]):
        entry.op = op
    for leaf, value in names.leaves({k: v for k, v in item.items() if k not in ("op", "name")}):
        entry.numbers.setdefault(names.key(leaf), (leaf, value))


def _foreign(place: str, name: Any) -> Finding:
    return Finding(
        "error",
        "structure_not_expressible",
        place,
        repr(name)[:120],
        "an extension of the vocabulary",
        "It has no counterpart here; the record is kept in quarantine.",
    )


def _ignored(place: str, name: str, value: Any) -> Finding:
    hint = "Check that it says nothing that the request depends on."
    return Finding(
        "warning", "parameter_ignored", f"{place}, {name}", repr(value)[:80], "no such number", hint
    )


def _item(target: str, wanted: Wanted) -> tuple[dict[str, Any], list[tuple[str, Any]]]:
    """Return the extension, and the numbers that it has no use for."""
    numbers = dict(wanted.numbers)
    item: dict[str, Any] = {"op": wanted.op, "name": target}
    for ours in REGISTRY[target].PARAMETERS:
        aliases = names.PARAMETERS.get(target, {}).get(ours, ())
        theirs = next((a for a in (*aliases, names.key(ours)) if a in numbers), None)
        if theirs is not None:
            item[ours] = numbers.pop(theirs)[1]
    if target == "reactive_reserve" and isinstance(item.get("weight"), int | float):
        item["weight"] = abs(item["weight"])  # theirs is a cost below zero, ours a reward
    return item, list(numbers.values())


def _rates_in_mw(code: str) -> bool:
    """Return whether a program with outage factors never divides a rating by the base power."""
    builds = re.search(r"makeLODF|LODF", code) and re.search(r"RATE_A", code)
    scaled = re.search(r"(RATE_A\s*\)|rate\w*|limit\w*)\s*\.?/\s*(mpc\.)?baseMVA", code, re.I)
    return bool(builds) and not scaled


def _per_unit(found: str) -> Finding:
    return Finding(
        "warning",
        "per_unit_label",
        f"{WHERE}, published program",
        found,
        "one unit on both sides",
        "The published objective is kept for compat scores; strict scores take our own.",
    )


def _reactive_cost(
    item: dict[str, Any], text: str, code: str, case: Case | None, found: list[Finding]
) -> None:
    """Give the cost of reactive output its unit, and a list of it the order of the file."""
    scaled = bool(re.search(SCALED, code))
    if re.search(SQUARED_MVAR, text, re.IGNORECASE):
        item["unit"] = "$/MVAr^2"
        if code and not scaled:
            base = case.base_mva if case else 100.0
            what = f"a cost per MVAr^2 is applied per unit, a factor of {base**2:g}"
            found.append(_per_unit(what))
    else:
        item["unit"] = "$/MVAr^2" if scaled else "$/p.u.^2"
        hint = "The text names no unit; this is how the published program applies it."
        where = f"{WHERE}, reactive_generation_cost"
        found.append(Finding("warning", "unit_assumed", where, "no unit", item["unit"], hint))
    if isinstance(item["c2"], list) and case is not None:
        item["c2"] = _by_generator(item["c2"], text, code, case, found)


def _by_generator(
    costs: list[float], text: str, code: str, case: Case, found: list[Finding]
) -> list[float]:
    """Return one cost for each generator; buses that are not named have none."""
    chosen = re.search(r"target_buses\s*=\s*\[([\d,;\s]+)\]", code)
    told = _buses_in(text)
    listed = [int(n) for n in re.findall(r"\d+", chosen.group(1))] if chosen else []
    buses = next((b for b in (told, listed) if len(b) == len(costs)), None)
    at = case.gen["GEN_BUS"].to_numpy().astype(int)
    if buses is None or not set(buses) <= set(at.tolist()):
        return costs  # its length is checked against the case afterwards
    values = dict(zip(buses, costs, strict=True))
    by_row = [float(values.get(int(n), 0.0)) for n in at]
    if not listed and len(costs) == len(at) and not np.allclose(by_row, costs):
        hint = "The published program takes them in the order of the file; we follow the text."
        where = f"{WHERE}, reactive_generation_cost"
        found_ = f"costs for buses {', '.join(map(str, buses))}"
        expected = f"the file's order {', '.join(map(str, at))}"
        found.append(Finding("warning", "order_mismatch", where, found_, expected, hint))
    return by_row


def _buses_in(text: str) -> list[int]:
    match = re.search(UNITS_AT + r"(\d+(?:\s*(?:,\s*and|,|and)\s*\d+)+)", text, re.IGNORECASE)
    return [int(n) for n in re.findall(r"\d+", match.group(1))] if match else []
