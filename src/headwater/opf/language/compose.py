"""The request of a record in words, drawn from the bank.

A request is made of an opening that names the network, a scenario where there is one, a
sentence for each change, sentences for the structure, and a closing that names the problem and
its tolerance. Abstract requests say what moves and in which direction, without numbers, and
name the placeholders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..bindings import parse_placeholder
from ..case import Case
from ..extensions import GROUPS
from ..fields import FIELDS
from . import bank
from .bank import pick
from .numbers import percent, plain, tolerance, with_unit
from .wording import structure_sentences

Item = Mapping[str, Any]
DIRECTED = ("ANGMIN", "ANGMAX", "SHIFT")


def request(
    record: Mapping[str, Any],
    case: Case,
    rng: np.random.Generator,
    scenario: str = "",
) -> str:
    """Return a request that asks for what a record holds.

    Parameters
    ----------
    record : mapping
        ``base_system, parameters, bindings, structure, solver``; `level` is not needed.
    case : Case
        The base system: tells lines from transformers and counts the units at a bus.
    rng : Generator
        Every choice of words is drawn from it.
    scenario : str
        Name of a scenario; needed by a record with bindings, whose effects it words.

    Raises
    ------
    ValueError
        If the scenario has no effect for the field and direction of a binding.
    """
    parts = bank.frames()
    bindings = list(record.get("bindings") or [])
    used: set[str] = set()
    clauses = [change(case, item, rng, used) for item in record.get("parameters") or []]
    lead = []
    if scenario:
        lead = [pick(rng, bank.scenarios()[scenario].lead)]
        clauses += [effect(case, item, scenario, rng, used) for item in bindings]
    body = _joined(clauses, rng)
    structure = structure_sentences(record["structure"], rng)
    problem = pick(rng, parts["solve"][record["structure"]["formulation"]])
    names = _placeholders(bindings, rng)
    texts = _frame(record, case, problem, lead, body, structure, rng)
    return " ".join([_sentence(t) for t in [*texts, *names] if t])


def _frame(
    record: Mapping[str, Any],
    case: Case,
    problem: str,
    lead: list[str],
    body: list[str],
    structure: list[str],
    rng: np.random.Generator,
) -> list[str]:
    """Return the sentences in one of the orders in which people put them."""
    parts = bank.frames()
    violation = record.get("solver", {}).get("violation")
    tol = tolerance(violation, rng) if violation else ""
    name = system(record["base_system"], case, rng)
    style = int(rng.integers(3))
    if style == 0:  # the problem first
        text = pick(rng, parts["first"]).format(solve=problem, s=name)
        end = pick(rng, parts["tolerance"]).format(tol=tol) if tol else ""
        return [text, *structure, *lead, *body, end]
    end = pick(rng, parts["closing" if tol else "closing_plain"]).format(solve=problem, tol=tol)
    if style == 1 and body and not lead:  # the network as part of the first change
        text = pick(rng, parts["lead_in"]).format(s=name)
        return [f"{text} {body[0]}", *body[1:], *structure, end]
    text = pick(rng, parts["opening"]).format(s=name)
    return [text, *lead, *body, *structure, end]


def system(name: str, case: Case, rng: np.random.Generator) -> str:
    """Return a network in words, with its name in full."""
    parts = bank.frames()
    texts = parts["system"] if rng.random() < 0.6 else parts["system_by_size"]
    return pick(rng, texts).format(name=name, nb=len(case.bus))


def change(case: Case, item: Item, rng: np.random.Generator, used: set[str] | None = None) -> str:
    """Return one explicit change as a clause, in a sentence not `used` if there is one."""
    forms = bank.fields()[item["field"]]
    target, value = thing(case, item, rng), item["value"]
    if item["op"] == "set":
        if value == 0 and "off" in forms:
            return pick(rng, forms["off"], used).format(o=target)
        unit = FIELDS[item["component"], item["field"]].unit
        return pick(rng, forms["set"], used).format(o=target, v=with_unit(value, unit, rng))
    share = round(100 * (value - 1), 9)
    usual = forms.get("up" if share > 0 else "down", [])
    text = pick(rng, [*usual, *forms["scale"]], used)
    ways = {
        "o": target,
        "p": percent(abs(share), rng),
        "f": plain(value),
        "t": _of_old(value, rng),
    }
    return text.format(**ways)


def _of_old(value: float, rng: np.random.Generator) -> str:
    style = ("{} percent", "{} %", "{}%")[int(rng.integers(3))]
    return style.format(plain(round(100 * value, 9)))


def effect(
    case: Case,
    item: Item,
    scenario: str,
    rng: np.random.Generator,
    used: set[str] | None = None,
) -> str:
    """Return what a scenario does to the object of a placeholder."""
    wanted = (item["field"], item["direction"])
    texts = [
        t
        for e in bank.scenarios()[scenario].effects
        if (e.field, e.direction) == wanted
        for t in e.text
    ]
    if not texts:
        raise ValueError(f"scenario {scenario} has no sentence for {wanted}")
    return pick(rng, texts, used).format(o=thing(case, item, rng))


def thing(case: Case, item: Item, rng: np.random.Generator) -> str:
    """Return the object of a change in words."""
    words = bank.frames()["objects"]
    if item["component"] == "branch":
        return pick(rng, words[_branch_kind(case, item)]).format(**item)
    if item.get("bus") == "*":
        return pick(rng, words["every_bus"])
    if item["component"] == "bus":
        return pick(rng, words["bus"]).format(**item)
    units = int((case.gen["GEN_BUS"] == item["bus"]).sum())
    return pick(rng, words["gens" if units > 1 else "gen"]).format(**item)


def _branch_kind(case: Case, item: Item) -> str:
    if "circuit" in item:
        return "circuit"
    ends = {item["fbus"], item["tbus"]}
    same = case.branch[["F_BUS", "T_BUS"]].isin(ends).all(axis=1).to_numpy()
    kind = "transformer" if (case.branch["TAP"].to_numpy()[same] != 0).any() else "line"
    return f"directed_{kind}" if item["field"] in DIRECTED else kind


def _placeholders(bindings: Sequence[Item], rng: np.random.Generator) -> list[str]:
    if not bindings:
        return []
    parts = bank.frames()
    by_rule = all(parse_placeholder(b["name"]) and "circuit" not in b for b in bindings)
    if by_rule and rng.random() < 0.25:
        return [pick(rng, parts["placeholders_by_rule"])]
    names = [b["name"] for b in bindings]
    text = names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
    return [pick(rng, parts["placeholders"]).format(names=text)]


def _joined(clauses: list[str], rng: np.random.Generator) -> list[str]:
    """Return clauses as sentences, some of them two in one."""
    found: list[str] = []
    for clause in clauses:
        glue = pick(rng, bank.frames()["joining"])
        if found and glue != ". " and not found[-1].count(glue):
            found[-1] += glue + clause
        else:
            found.append(clause)
    return found


def _sentence(text: str) -> str:
    text = text.strip()
    text = text[0].upper() + text[1:]
    return text if text[-1] in ".?!" else text + "."


def names_of(structure: Mapping[str, Any]) -> list[str]:
    """Return the names of the extensions of a structure, in the order of the groups."""
    return [item["name"] for group in GROUPS for item in structure.get(group) or []]
