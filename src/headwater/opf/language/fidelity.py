"""Whether a text says what its record holds: numbers, buses, placeholders; nothing more or less.

`check` holds a request against its record, `survives` a paraphrase against the text it was made
from. Both look at numbers with what they count, so that a bus and a percentage that changed
places are seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..fields import FIELDS
from ..findings import Finding
from ..structure import items
from .numbers import SHOWN, Number, numbers, placeholders

Pair = tuple[float, str]


@dataclass(frozen=True)
class Fact:
    """One number of a record, and the ways in which a text may say it; none for what it may omit.

    A bare kind (empty) in a text agrees with any kind but ``bus`` and ``percent``.
    """

    where: str
    ways: tuple[Pair, ...]
    needed: bool = True


def facts(record: Mapping[str, Any]) -> list[Fact]:
    """Return the numbers of a record."""
    found: list[Fact] = []
    for k, item in enumerate(record.get("parameters") or []):
        found += [*_object(item, f"parameters[{k}]"), _value(item, f"parameters[{k}]")]
    for k, item in enumerate(record.get("bindings") or []):
        found += _object(item, f"bindings[{k}]")
    for where, item in items(record["structure"]):
        found += _extension(where, item)
    violation = record.get("solver", {}).get("violation")
    if violation:
        found.append(Fact("solver.violation", ((violation, ""),), needed=False))
    return found


def _object(item: Mapping[str, Any], where: str) -> list[Fact]:
    keys = [k for k in ("bus", "fbus", "tbus") if item.get(k, "*") != "*"]
    found = [Fact(f"{where}.{k}", ((float(item[k]), "bus"),)) for k in keys]
    if "circuit" in item:
        found.append(Fact(f"{where}.circuit", ((float(item["circuit"]), "circuit"),)))
    return found


def _value(item: Mapping[str, Any], where: str) -> Fact:
    value = float(item["value"])
    field = FIELDS[item["component"], item["field"]]
    where = f"{where}.value"
    if item["op"] == "scale":
        ways = [(value, ""), (100 * value, "percent"), (100 * abs(value - 1), "percent")]
        return Fact(where, tuple(ways))
    off = field.switch or (value == 0 and field.name == "BS")
    return Fact(where, ((value, SHOWN.get(field.unit, field.unit)),), needed=not off)


def _extension(where: str, item: Mapping[str, Any]) -> list[Fact]:
    found = []
    for key, value in item.items():
        if key in ("op", "name") or isinstance(value, str | bool):
            continue
        needed = not (key == "max_open" and value == 1)
        for place, number in _flat(f"{where}.{key}", value):
            found.append(Fact(place, tuple(_ways(place, float(number))), needed))
    if "load_multipliers" in item:
        count = len(item["load_multipliers"])
        found.append(Fact(f"{where}.periods", ((float(count), ""),), needed=False))
    return found


def _ways(place: str, value: float) -> Iterable[Pair]:
    name = place.rsplit(".", 1)[-1].split("[")[0]
    if name in ("bus", "buses", "fbus", "tbus"):
        return [(value, "bus")]
    if name == "epsilon":
        return [(value, ""), (100 * value, "percent"), (100 - 100 * value, "percent")]
    if name == "emergency_factor":
        return [(value, ""), (100 * value, "percent")]
    return [(value, "any")]


def _flat(where: str, value: Any) -> Iterable[tuple[str, float]]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _flat(f"{where}.{key}", part)
    elif isinstance(value, list):
        for k, part in enumerate(value):
            yield from _flat(f"{where}[{k}]", part)
    elif not isinstance(value, str | bool):
        yield where, value


def _agrees(number: Number, way: Pair) -> bool:
    value, kind = way
    if abs(number.value - value) > 1e-9 * max(1.0, abs(value)):
        return False
    if kind == number.kind:
        return True
    special = ("bus", "percent", "circuit", "size")
    if kind == "any":
        return number.kind not in special
    return number.kind == "" and kind not in special


def check(record: Mapping[str, Any], text: str | None = None) -> list[Finding]:
    """Return where a request and its record disagree.

    Parameters
    ----------
    record : mapping
    text : str, optional
        The request of the record by default.

    Returns
    -------
    list of Finding
        ``missing_in_text`` (a number or bus of the record), ``not_in_record`` (a number of the
        text), ``wrong_placeholder``, ``missing_base_system``.
    """
    text = record["request"] if text is None else text
    name = record["base_system"]
    there = [n for n in numbers(text, without=[name]) if n.kind != "size"]
    wanted = facts(record)
    found = []
    if name not in text:
        found.append(_finding("missing_base_system", record, "base_system", "no name", name))
    for fact in wanted:
        if fact.needed and not any(_agrees(n, way) for n in there for way in fact.ways):
            expected = " or ".join(f"{v:g} {k}".strip() for v, k in fact.ways)
            found.append(_finding("missing_in_text", record, fact.where, "nothing", expected))
    for number in there:
        if not any(_agrees(number, way) for fact in wanted for way in fact.ways):
            shown = f"{number.value:g} {number.kind}".strip()
            where = f"request, character {number.start + 1}"
            found.append(_finding("not_in_record", record, where, shown, "a number of the record"))
    return found + _names(record, text)


def _names(record: Mapping[str, Any], text: str) -> list[Finding]:
    given = set(placeholders(text))
    wanted = {b["name"] for b in record.get("bindings") or []}
    if given <= wanted and (given == wanted or not given):
        return []
    shown = ", ".join(sorted(given ^ wanted))
    return [_finding("wrong_placeholder", record, "request", shown, "the names of the bindings")]


def _finding(
    code: str, record: Mapping[str, Any], where: str, found: str, expected: str
) -> Finding:
    return Finding("error", code, f"record {record.get('id')}, {where}", found, expected)


def survives(before: str, after: str, names: Iterable[str] = ()) -> list[Finding]:
    """Return the numbers, buses and placeholders that a paraphrase lost, changed or invented.

    Parameters
    ----------
    before, after : str
        A text and its paraphrase.
    names : iterable of str
        Names that have to stay as they are, for example of the network.

    Returns
    -------
    list of Finding
        ``lost_in_paraphrase`` and ``new_in_paraphrase``.
    """
    names = list(names)
    old, new = (Counter(_keys(text, names)) for text in (before, after))
    found = []
    for code, gone in (("lost_in_paraphrase", old - new), ("new_in_paraphrase", new - old)):
        for (value, kind), count in sorted(gone.items(), key=str):
            shown = f"{value} {kind}".strip() + (f", {count} times" if count > 1 else "")
            found.append(Finding("error", code, "request", shown, "the same numbers and names"))
    for name in names:
        if name in before and name not in after:
            found.append(Finding("error", "lost_in_paraphrase", "request", name, "the same name"))
    return found


def _keys(text: str, names: list[str]) -> list[tuple[str, str]]:
    # kinds that only the sentence around decides are compared coarsely
    kept = [
        (f"{n.value:.10g}", n.kind if n.kind in ("bus", "percent", "circuit") else "")
        for n in numbers(text, without=names)
    ]
    return kept + [(name, "placeholder") for name in placeholders(text)]
