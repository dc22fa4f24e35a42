"""One attempt at an instance: a structure, existing objects, values; not solved yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..bindings import placeholder
from ..fields import FIELDS
from ..language import bank
from ..patch import replacing
from ..structure import empty
from . import structures
from .candidates import Candidate, candidates
from .effect import estimate
from .plan import DRAW, Settings, Slot, stream
from .system import Point, System
from .values import abstract, concrete

# How often a field is tried where no scenario decides; 1 by default.
FIELD_WEIGHTS = {
    "PD": 2.0,
    "PMAX": 2.0,
    "COST_C1": 2.5,
    "RATE_A": 2.0,
    "PMIN": 1.5,
    "BR_STATUS": 1.2,
}
# Estimated relative effect from which on a change is tried where every item has to be active.
FELT = 2e-4
PLAIN_DC_SHARE = 0.25
TRIES = 40
OBJECTS_TRIED = 20
STATUS = ("BR_STATUS", "GEN_STATUS")
# Fields of one object that may change together.
TOGETHER = ({"PD", "QD"}, {"RATE_A", "BR_R"}, {"COST_C1", "PMAX"}, {"COST_C1", "PMIN"})


@dataclass
class Draft:
    """What an attempt drew, or why it drew nothing (`reason`)."""

    slot: Slot
    attempt: int
    system: str
    structure: dict[str, Any] = field(default_factory=empty)
    parameters: list[dict[str, Any]] = field(default_factory=list)
    bindings: list[dict[str, Any]] = field(default_factory=list)
    scenario: str = ""
    reason: str = ""

    def record(self) -> dict[str, Any]:
        """Return the parts of a record that say what is asked."""
        return {
            "base_system": self.system,
            "parameters": self.parameters,
            "bindings": self.bindings,
            "structure": self.structure,
            "solver": {"violation": self.slot.violation},
        }


def draw(settings: Settings, system: System, slot: Slot, attempt: int) -> Draft:
    """Return an attempt at an instance; it depends on (seed, n, attempt) and the network alone."""
    rng = stream(settings.seed, slot.n, DRAW, attempt)
    draft = Draft(slot, attempt, system.name)
    if slot.level > 2:
        drawn = structures.draw(system, rng, slot.level)
        if drawn is None:
            draft.reason = "no_structure_fits"
            return draft
        draft.structure, draft.parameters = drawn[0], list(drawn[1])
    elif rng.random() < PLAIN_DC_SHARE:
        draft.structure = empty("DCOPF")
    formulation = draft.structure["formulation"]
    point = system.point(formulation)
    if point is None:
        draft.reason = "base_not_optimal"
        return draft
    pool = dict(candidates(system, formulation, settings.dc_convention))
    if replacing(draft.structure):
        pool = {k: v for k, v in pool.items() if not k.startswith("COST_")}
    if slot.scenario != "none":
        draft.scenario = _scenario(pool, rng, slot.scenario == "held_out")
    _fill(draft, system, point, pool, rng)
    return draft


def _scenario(pool: dict[str, list[Candidate]], rng: np.random.Generator, held_out: bool) -> str:
    names = [
        s.name
        for s in bank.scenarios().values()
        if s.held_out == held_out and any(e.field in pool for e in s.effects)
    ]
    return names[int(rng.integers(len(names)))]


def _fill(
    draft: Draft,
    system: System,
    point: Point,
    pool: dict[str, list[Candidate]],
    rng: np.random.Generator,
) -> None:
    """Add changes until there are as many as wanted, or none is found any more."""
    taken: dict[tuple, set[str]] = {}
    for item in draft.parameters:  # those that came with the structure
        if item.get("bus") == "*":
            pool = {k: v for k, v in pool.items() if k != item["field"]}
        else:
            key = tuple((k, item[k]) for k in ("bus", "fbus", "tbus") if k in item)
            taken[item["component"], key] = {item["field"]}
    moves = _moves(draft.scenario, pool, system)
    if not moves:
        draft.reason = "no_field"
        return
    weight = np.array([1.0 if draft.scenario else FIELD_WEIGHTS.get(m.field, 1.0) for m in moves])
    weight = weight / weight.sum()
    wanted, left = draft.slot.changes, TRIES
    while wanted and left:
        left -= 1
        move = moves[int(rng.choice(len(moves), p=weight))]
        if _add(draft, system, point, move, taken, rng):
            wanted -= 1
    if wanted == draft.slot.changes:
        draft.reason = "nothing_felt"


@dataclass(frozen=True)
class Move:
    """A field, the direction that a scenario wants (empty for any), and its candidates."""

    field: str
    direction: str
    group: list[Candidate]


def _moves(scenario: str, pool: dict[str, list[Candidate]], system: System) -> list[Move]:
    if not scenario:
        return [Move(name, "", group) for name, group in pool.items()]
    found = []
    for effect in bank.scenarios()[scenario].effects:
        group = pool.get(effect.field, [])
        if effect.only:
            wanted = effect.only == "transformer"
            group = [one for one in group if system.transformer[one.rows[0]] == wanted]
        if group:
            found.append(Move(effect.field, effect.direction, group))
    return found


def _add(
    draft: Draft,
    system: System,
    point: Point,
    move: Move,
    taken: dict[tuple, set[str]],
    rng: np.random.Generator,
) -> bool:
    """Try some objects of a field; add the first that fits."""
    group, direction = move.group, move.direction
    tried = rng.choice(len(group), size=min(OBJECTS_TRIED, len(group)), replace=False)
    for k in tried:
        one = group[int(k)]
        if not _free(one, taken):
            continue
        if draft.slot.level in (2, 4):
            found = _binding(draft, system, point, one, direction)
        else:
            found = _parameter(draft, system, point, one, direction, rng)
        if found is not None:
            kind = "bindings" if "direction" in found else "parameters"
            getattr(draft, kind).append(found)
            taken.setdefault((one.component, one.key), set()).add(one.field)
            return True
    return False


def _free(one: Candidate, taken: dict[tuple, set[str]]) -> bool:
    """Return whether a change can stand beside the others."""
    if one.field in STATUS and any(f & set(STATUS) for f in taken.values()):
        return False
    there = taken.get((one.component, one.key))
    if there is None:
        return True
    return one.field not in there and any(there | {one.field} == pair for pair in TOGETHER)


def _parameter(
    draft: Draft,
    system: System,
    point: Point,
    one: Candidate,
    direction: str,
    rng: np.random.Generator,
) -> dict[str, Any] | None:
    mild = draft.slot.changes > 3
    found = concrete(system, point, one, rng, direction, mild)
    if found is None:
        return None
    old = np.array(one.values)
    new = old * found["value"] if found["op"] == "scale" else np.full(len(old), found["value"])
    limits = FIELDS[one.component, one.field]
    if not ((new >= limits.low) & (new <= limits.high)).all():
        return None
    return found if _felt(draft, system, point, one, new) else None


def _binding(
    draft: Draft, system: System, point: Point, one: Candidate, direction: str
) -> dict[str, Any] | None:
    if not np.isfinite(one.default) or one.parallel or not direction:
        return None
    values = abstract(one, direction)
    new = np.full(len(one.rows), values[0])
    if not _felt(draft, system, point, one, new):
        return None
    item = one.item
    return {
        "name": placeholder(item),
        **item,
        "direction": direction,
        "default": one.default,
        "rows": len(one.rows),
        "values": values,
    }


def _felt(draft: Draft, system: System, point: Point, one: Candidate, new: np.ndarray) -> bool:
    if not draft.slot.strict and draft.attempt == 0:
        return True
    return estimate(system, point, one, new) >= FELT
