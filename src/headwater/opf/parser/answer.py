"""From a request to a patch: network, changes or placeholders, structure, solver."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from ..bindings import placeholder
from ..case import Case
from .lexicon import (
    ABSTRACT,
    BRANCH,
    BUS,
    DC,
    DOWN,
    ED,
    EVERY,
    FIELDS,
    GEN,
    SOCP,
    UP,
    VIOLATION,
    ZERO,
)
from .structure import structure_of
from .values import amount

Target = dict[str, Any]
_CUT = re.compile(r",|;|\band\b|\bwhile\b|\bthen\b|\bwhereas\b", re.I)


def parse(request: str, cases: Mapping[str, Case]) -> dict[str, Any]:
    """Return what a request asks, in the form of a record without answers.

    Parameters
    ----------
    request : str
    cases : mapping of name to Case
        Networks that it may be about; only names and numbers of their objects are looked up.
    """
    name = base_system(request, list(cases))
    case = cases.get(name)
    formulation = "ACOPF"
    for word, pattern in (("ED", ED), ("SOCP", SOCP), ("DCOPF", DC)):
        if pattern.search(request):
            formulation = word
            break
    abstract = bool(ABSTRACT.search(request))
    changes = [] if case is None else _changes(request, case, abstract)
    found = VIOLATION.search(request)
    violation = float(next(g for g in found.groups() if g)) if found else 1e-8
    return {
        "base_system": name,
        "parameters": [] if abstract else changes,
        "bindings": changes if abstract else [],
        "structure": structure_of(request, formulation),
        "solver": {"violation": violation},
    }


def answer(request: str, cases: Mapping[str, Case]) -> str:
    """Return the answer of the parser: a patch in a fenced block of JSON."""
    return f"```json\n{json.dumps(parse(request, cases), indent=1)}\n```\n"


def base_system(request: str, names: list[str]) -> str:
    """Return the name of the network that fits the words of a request best."""
    text = request.lower()

    def fit(name: str) -> tuple[int, int]:
        words = [w for w in re.split(r"_+", name.lower()) if w not in ("pglib", "opf")]
        score = 8 if name.lower() in text else 0
        for word in words:
            size = re.fullmatch(r"case(\d+)\D*", word)
            if size:
                n = size.group(1)
                score += 4 * bool(
                    re.search(rf"\b{n}[- ]bus|\bcase ?{n}(?!\d)|\bieee[- ]?{n}\b", text)
                )
            score += bool(re.search(rf"\b{re.escape(word)}\b|_{re.escape(word)}\b", text))
        return score + ("pglib" in name and "pglib" in text), -len(name)

    return max(names, key=fit) if names else ""


def _changes(request: str, case: Case, abstract: bool) -> list[Target]:
    found: list[Target] = []
    for sentence in re.split(r"(?<=[a-zA-Z\d])[.](?=\s|$)|[;:]\s", request):
        found += _of_sentence(sentence, case, abstract)
    unique: dict[tuple, Target] = {}
    for change in found:
        key = (
            change["component"],
            change.get("bus"),
            change.get("fbus"),
            change.get("tbus"),
            change["field"],
        )
        unique.setdefault(key, change)
    return list(unique.values())


def _of_sentence(sentence: str, case: Case, abstract: bool) -> list[Target]:
    mentions = _mentions(sentence)
    every = EVERY.search(sentence)
    if every and not mentions:
        mentions = [(every.start(), every.end(), {"component": "bus", "bus": "*"})]
    found: list[Target] = []
    for clause, at, target in _clauses(sentence, mentions):
        found += _of_clause(clause, at, target, case, abstract)
    return found


def _mentions(sentence: str) -> list[tuple[int, int, Target]]:
    """Return (start, end, target) of the objects of a sentence, from left to right."""
    found: list[tuple[int, int, Target]] = []
    for match in BRANCH.finditer(sentence):
        f, t = (int(g) for g in match.groups() if g)
        found.append((match.start(), match.end(), {"component": "branch", "fbus": f, "tbus": t}))
    for pattern, component in ((GEN, "gen"), (BUS, "bus")):
        for match in pattern.finditer(sentence):
            if all(match.end() <= s or match.start() >= e for s, e, _ in found):
                target = {"component": component, "bus": int(match.group(1))}
                found.append((match.start(), match.end(), target))
    return sorted(found, key=lambda m: m[0])


def _clauses(
    sentence: str, mentions: list[tuple[int, int, Target]]
) -> list[tuple[str, int, Target]]:
    """Return one clause for each object: the sentence cut at a connector between two of them."""
    cuts = [0]
    for (_, end, _), (start, _, _) in pairwise(mentions):
        between = list(_CUT.finditer(sentence, end, start))
        cuts.append(between[-1].end() if between else start)
    cuts.append(len(sentence))
    return [
        (sentence[a:b], start - a, target)
        for a, b, (start, _, target) in zip(cuts, cuts[1:], mentions, strict=False)
    ]


def _of_clause(clause: str, at: int, target: Target, case: Case, abstract: bool) -> list[Target]:
    """Return the changes of one object in its clause; most have one field, some two."""
    blank = _without_names(clause)
    component = target["component"]
    if component == "bus" and not _names_field(clause, "bus") and _names_field(clause, "gen"):
        component = "gen"
    target = {**target, "component": component}
    found = []
    for field, pattern in FIELDS[component]:
        match = re.search(pattern, clause, re.I)
        if not match:
            continue
        item = {**target, "field": field}
        if abstract:
            found.append(_binding(item, clause, case))
            break
        change = _change(item, blank, match.end())
        if change is not None:
            found.append(change)
        both = re.search(r"\b(?:real|active)\b", clause, re.I)
        if field != "COST_C2" and not (field == "QD" and both):
            break
    return found


def _names_field(clause: str, component: str) -> bool:
    return any(re.search(pattern, clause, re.I) for _, pattern in FIELDS[component])


def _without_names(clause: str) -> str:
    """Return a clause with the numbers of buses and systems blanked, lengths kept."""
    names = re.compile(
        r"\bbuses \d+ (?:and|to) \d+|\bbus \d+|\b\d+[- ]bus\b|\bcase ?\d+\w*"
        r"|\bbetween (?:buses )?\d+ and \d+|\bfrom \d+ to \d+"
        r"|\b(?:line|branch|circuit) \d+\s*[-–]\s*\d+"
        r"|\bC[012]\b|\bP\^?\d\b",
        re.I,
    )
    return names.sub(lambda m: " " * len(m.group(0)), clause)


def _change(item: Target, clause: str, after: int) -> Target | None:
    if item["field"] in ("BR_STATUS", "GEN_STATUS"):
        return {**item, "op": "set", "value": 0}
    found = amount(clause, after)
    if found is None:
        if item["field"] == "BS" and re.search(ZERO, clause, re.I):
            return {**item, "op": "set", "value": 0}
        return None
    return {**item, "op": found[0], "value": found[1]}


def _binding(item: Target, clause: str, case: Case) -> Target:
    direction = "increase"
    if re.search(ZERO, clause, re.I) and item["field"] in ("BS", "BR_STATUS", "GEN_STATUS"):
        direction = "set_zero"
    elif re.search(DOWN, clause, re.I) and not re.search(UP, clause, re.I):
        direction = "decrease"
    return {
        "name": placeholder(item),
        **item,
        "direction": direction,
        "default": _default(item, case),
    }


def _default(item: Target, case: Case) -> float:
    """Return the present value of a field, 0 where it cannot be looked up."""
    from ..fields import FIELDS as KNOWN
    from ..locate import locate
    from ..patch import current

    try:
        target = locate(case, item, KNOWN[item["component"], item["field"]])
        return float(current(case, target).ravel()[0])
    except Exception:  # no such object: the answer is wrong in any case
        return 0.0
