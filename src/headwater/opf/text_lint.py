"""Where the words of a request and its changes do not go together: keywords only, no reading.

Every finding is a warning: only a reader can tell which of the two is right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .extensions import GROUPS
from .findings import Finding

NUMBER = re.compile(r"[-−]?\d+(?:\.\d+)?(?:[eE][-−+]?\d+)?")
WORDS = {
    r"\bdoubl|\btwice\b": (2.0,),
    r"\btripl": (3.0,),
    r"\bhal(f|ve)": (0.5, 1.5),
    r"\bquarter": (0.25, 0.75, 1.25),
    r"\bthird": (1 / 3, 2 / 3, 4 / 3),
    r"\bzero\b|\bno longer\b|\bignore": (0.0,),
    r"\boff\b|\bout\b|\bopen|\boutage|\btrip|\bdisconnect|\bremov": (0.0,),
    r"\bin[- ]service\b|\bclose|\brestor|\breconnect": (1.0,),
}
# Extensions that a text names by these words; ``without`` before them says that they are not.
STRUCTURES = {
    "n1_security": r"\bN[-−–‑ ]?1\b|\bcontingenc|security[- ]constrained",
    "unit_commitment": r"\bunit commitment\b|\bSCUC\b",
    "horizon": r"\bmulti-?period\b|\btime[- ]coupled\b",
    "transmission_switching": r"\btransmission[- ]switching\b|\bline switching\b|\bOTS\b",
    "load_shedding": r"\bload[- ]shedding\b",
    "spinning_reserve_requirement": r"\bspinning reserve",
    "regulation_up_requirement": r"\bregulation[- ]up\b|\bupward regulation\b",
    "voltage_deviation_penalty": r"voltage (magnitude )?deviation",
    "emission_cap": r"\b(emission|carbon|CO2) cap\b",
}
FORMULATIONS = {"DCOPF": r"\bDC[- ]?(OPF|optimal)", "ACOPF": r"\bAC[- ]?(OPF|optimal)"}
PRICE = r"\bfuel (price|cost)|\bcarbon (tax|price)|\bmarginal cost|\bbid(s|ding)?\b|\bcoal price"
LIMITS = {"VMAX": 1, "PMAX": 1, "QMAX": 1, "RATE_A": 1, "VMIN": -1, "PMIN": -1, "QMIN": -1}


def text_findings(record: Mapping[str, Any]) -> list[Finding]:
    """Return where words and changes of a record seem to disagree.

    Returns
    -------
    list of Finding
        Warnings ``object_not_in_text``, ``value_not_in_text``, ``text_mentions_structure`` and
        ``text_disagrees``.
    """
    text = record["request"].replace("−", "-")
    return [
        *_objects(text, record),
        *_values(text, record),
        *_structures(text, record),
        *_directions(text, record),
    ]


def _warning(code: str, where: str, found: str, expected: str) -> Finding:
    hint = "Read the text and the changes side by side; one of them is wrong."
    return Finding("warning", code, where, found, expected, hint)


def _changes(record: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for part in ("parameters", "bindings"):
        for k, item in enumerate(record.get(part) or []):
            yield f"{part}[{k}]", item


def _objects(text: str, record: Mapping[str, Any]) -> Iterator[Finding]:
    named = {int(n) for n in re.findall(r"\d+", text) if len(n) < 8}
    for place, item in _changes(record):
        keys = [item[k] for k in ("bus", "fbus", "tbus") if k in item]
        absent = [k for k in keys if isinstance(k, int) and k not in named]
        if absent:
            found = f"bus {' and bus '.join(map(str, absent))}, which the text does not name"
            yield _warning("object_not_in_text", place, found, "an object of the text")


def _numbers(text: str) -> set[float]:
    found = {float(n.replace("−", "-")) for n in NUMBER.findall(text)}
    for pattern, values in WORDS.items():
        if re.search(pattern, text, re.IGNORECASE):
            found |= set(values)
    return found


def _values(text: str, record: Mapping[str, Any]) -> Iterator[Finding]:
    numbers = _numbers(text)
    for k, item in enumerate(record.get("parameters") or []):
        value = item.get("value")
        if not isinstance(value, int | float):
            continue
        wanted = [value, -value] if item["op"] == "set" else [value]
        if item["op"] == "scale":
            wanted += [100 * (value - 1), 100 * (1 - value), 100 * value, value - 1, 1 - value]
        if not any(abs(n - w) <= 1e-9 + 1e-6 * abs(w) for n in numbers for w in wanted):
            found = f"{item['op']} {value:g}, which the text does not name"
            place = f"parameters[{k}], {item['field']}"
            yield _warning("value_not_in_text", place, found, "a value of the text")


def _structures(text: str, record: Mapping[str, Any]) -> Iterator[Finding]:
    structure = record.get("structure") or {}
    names = {i.get("name") for g in GROUPS for i in structure.get(g) or []}
    for name, pattern in STRUCTURES.items():
        match = re.search(rf"(?<!without )(?:{pattern})", text, re.IGNORECASE)
        if match and name not in names:
            found = f"{match.group(0)!r} in the text"
            yield _warning("text_mentions_structure", "structure", found, f"{name}, or no word")
    formulation = structure.get("formulation", "ACOPF")
    said = {f for f, p in FORMULATIONS.items() if re.search(p, text)}
    if said and formulation not in said and formulation in FORMULATIONS:
        found = f"{' and '.join(sorted(said))} in the text"
        yield _warning("text_mentions_structure", "structure, formulation", found, formulation)


def _step(item: Mapping[str, Any]) -> int:
    """Return 1 where a change loosens a limit, -1 where it tightens it, 0 where that is open."""
    sign = LIMITS.get(item.get("field", ""), 0)
    if "direction" in item:
        return sign * {"increase": 1, "decrease": -1}.get(item["direction"], 0)
    if item.get("op") == "scale" and isinstance(item["value"], int | float):
        return sign * ((item["value"] > 1) - (item["value"] < 1))
    return 0


def _directions(text: str, record: Mapping[str, Any]) -> Iterator[Finding]:
    changes = list(_changes(record))
    costs = [i for _, i in changes if str(i.get("field", "")).startswith("COST_C")]
    price = re.search(PRICE, text, re.IGNORECASE)
    if price and changes and not costs:
        found = f"{price.group(0)!r} in the text, and no cost is changed"
        yield _warning("text_disagrees", "parameters", found, "a change of a cost")
    says_tight = re.search(r"\btighten|\bstricter\b|\bderat", text, re.IGNORECASE)
    says_loose = re.search(r"\brelax|\bwiden|\bloosen|\brais(e|ed|es|ing)\b", text, re.IGNORECASE)
    steps = {place: _step(item) for place, item in changes if _step(item)}
    for words, wrong in ((says_tight, 1), (says_loose, -1)):
        other = says_loose if wrong == 1 else says_tight
        if words and not other and steps and all(s == wrong for s in steps.values()):
            kind = "loosens" if wrong == 1 else "tightens"
            found = f"{words.group(0)!r} in the text, and every limit that changes {kind}"
            yield _warning("text_disagrees", ", ".join(steps), found, "the same direction")
