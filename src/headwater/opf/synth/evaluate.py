"""An attempt solved with all its variants, and accepted or rejected.

Solved are the patched problem for every strategy, the same with one item left out at a time, and
the unmodified network. Accepted is what is optimal, verified, and differs from the unmodified
optimum by more than a threshold; items that do not move the optimum are left out and the rest is
solved again, unless the instance may keep them.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headwater.core.errors import InputError

from ..case import Case
from ..engine import Engine, Options, Solution
from ..extensions import GROUPS, REGISTRY
from ..findings import Finding, errors
from ..network import ISOLATED
from ..patch import patch
from ..structure import check, empty, items
from .draw import Draft
from .plan import Settings
from .system import LIKE, System

# Warnings that a request may come with; every other one is a reason to reject it.
ACCEPTED_WARNINGS = ("several_generators",)
ENGINES_KEPT = 48
DIGITS = 10  # significant, of objectives
PRUNINGS = 2
# A solver that does not end is stopped; far more than any problem here takes.
SECONDS, ITERATIONS = 60.0, 150


@dataclass
class Outcome:
    """What became of an attempt.

    Attributes
    ----------
    draft : Draft
        Without the items that were left out.
    reason : str
        Why it was rejected; empty where it was accepted.
    objectives, solver
        One for each strategy.
    unmodified : float or None
        Objective of the structure with the numbers of the case, $/h.
    null : float
        Objective of the plain model of the unmodified network, $/h.
    effects : dict of str to float or None
        Relative change of the objective when one item is left out; None where nothing feasible
        is left.
    solves : int
    """

    draft: Draft
    reason: str = ""
    objectives: list[float] = field(default_factory=list)
    solver: str = ""
    unmodified: float | None = None
    null: float = 0.0
    effects: dict[str, float | None] = field(default_factory=dict)
    solves: int = 0
    pruned: int = 0

    def inactive(self, threshold: float) -> list[str]:
        """Return the items whose omission does not move the optimum."""
        return [k for k, v in self.effects.items() if v is not None and v <= threshold]


class Bench:
    """Base systems with their engines; engines of plain structures stay, others go in turn."""

    def __init__(self, cases: Mapping[str, Case], settings: Settings) -> None:
        self.settings = settings
        self.options = Options(
            dc_convention=settings.dc_convention,
            retry=False,
            max_iterations=ITERATIONS,
            time_limit_s=SECONDS,
        )
        self.systems = {
            name: System(name, case, lambda f, n=name: self.plain(n, f))
            for name, case in cases.items()
        }
        self.solves = 0
        self._engines: OrderedDict[tuple[str, str], Engine] = OrderedDict()
        self._plain: dict[tuple[str, str], Solution] = {}

    def engine(self, name: str, structure: Mapping[str, Any]) -> Engine:
        """Return the engine of a system and a structure."""
        key = (name, json.dumps(structure, sort_keys=True))
        if key in self._engines:
            self._engines.move_to_end(key)
        else:
            self._engines[key] = Engine(self.systems[name].case, structure, self.options)
            if len(self._engines) > ENGINES_KEPT:
                oldest = next(k for k in self._engines if "op" in k[1] and k != key)
                self._engines.pop(oldest)
        return self._engines[key]

    def solve(self, name: str, structure: Mapping[str, Any], case: Case) -> Solution:
        """Solve a case of a system."""
        self.solves += 1
        return self.engine(name, structure).solve(case, start=self._start(name, structure, case))

    def _start(
        self, name: str, structure: Mapping[str, Any], case: Case
    ) -> dict[str, np.ndarray] | None:
        """Return the unmodified optimum as the start of a single-period AC problem.

        The start is the same whatever was solved before, so that results are.
        """
        names = {item["name"] for _, item in items(structure)}
        if structure["formulation"] != "ACOPF" or "horizon" in names:
            return None
        if not names and case is self.systems[name].case:
            return None
        known = self.plain(name, "ACOPF")
        if not known.optimal:
            return None
        alive = case.bus["BUS_TYPE"].to_numpy() != ISOLATED
        live = set(case.bus["BUS_I"].to_numpy()[alive])
        on = (case.gen["GEN_STATUS"].to_numpy() > 0) & case.gen["GEN_BUS"].isin(live).to_numpy()
        return {
            "va": np.deg2rad(known.bus["VA"].to_numpy()[alive]),
            "vm": known.bus["VM"].to_numpy()[alive],
            "pg": known.gen["PG"].to_numpy()[on] / case.base_mva,
            "qg": known.gen["QG"].to_numpy()[on] / case.base_mva,
        }

    def plain(self, name: str, formulation: str) -> Solution:
        """Return the solution of the unmodified network, solved once."""
        key = (name, formulation)
        if key not in self._plain:
            self._plain[key] = self.solve(name, empty(formulation), self.systems[name].case)
        return self._plain[key]

    def evaluate(self, draft: Draft) -> Outcome:
        """Solve an attempt and its variants; see the module."""
        outcome = Outcome(draft, reason=draft.reason)
        before = self.solves
        if not outcome.reason:
            try:
                self._evaluate(outcome)
            except InputError as error:
                outcome.reason = f"refused:{error.where.split(',')[0] or 'input'}"
        outcome.solves = self.solves - before
        return outcome

    def _evaluate(self, outcome: Outcome) -> None:
        for _ in range(1 + PRUNINGS):
            outcome.reason, outcome.objectives, outcome.effects = "", [], {}
            self._once(outcome)
            idle = outcome.inactive(self.settings.threshold)
            if outcome.reason or not idle or not outcome.draft.slot.strict:
                break
            left = _without(outcome.draft, idle)
            outcome.reason = "item_inactive"
            if left is None:
                break
            outcome.pruned += len(idle)
            outcome.draft = left
        else:
            outcome.reason = "item_inactive"
        if not outcome.reason:
            self._unmodified(outcome)

    def _once(self, outcome: Outcome) -> None:
        draft, threshold = outcome.draft, self.settings.threshold
        record = draft.record()
        case = self.systems[draft.system].case
        plain = self.plain(draft.system, LIKE[draft.structure["formulation"]])
        if not plain.optimal:
            outcome.reason = "base_not_optimal"
            return
        outcome.null = float(plain.objective)
        for strategy in range(2 if draft.bindings else 1):
            changed, reason = self._patched(case, record, strategy)
            solution = None if reason else self.solve(draft.system, draft.structure, changed)
            outcome.reason = reason or _status(solution)
            if outcome.reason:
                return
            outcome.objectives.append(_rounded(solution.objective))
            outcome.solver = solution.solver
            if _relative(outcome.objectives[-1], outcome.null) <= threshold:
                outcome.reason = "objective_unchanged"
                return
            if strategy == 0 and not self._drops(outcome, record, case, changed):
                return
        first, last = outcome.objectives[0], outcome.objectives[-1]
        if draft.bindings and draft.slot.strict and _relative(last, first) <= threshold:
            outcome.reason = "strategies_coincide"

    def _drops(
        self, outcome: Outcome, record: Mapping[str, Any], case: Case, changed: Case
    ) -> bool:
        """Fill in the effects of single items; False where the structure is idle."""
        draft = outcome.draft
        for place, structure in dropped(draft.structure):
            effect = self._effect(outcome, structure, changed)
            outcome.effects[place] = effect
            if draft.slot.strict and effect is not None and effect <= self.settings.threshold:
                outcome.reason = "structure_inactive"
                return False
        for kind in ("parameters", "bindings"):
            for k in range(len(record[kind])):
                rest = {**record, kind: [x for j, x in enumerate(record[kind]) if j != k]}
                one_less, reason = self._patched(case, rest, 0)
                if reason:
                    outcome.reason = reason
                    return False
                effect = self._effect(outcome, draft.structure, one_less)
                outcome.effects[f"{kind}[{k}]"] = effect
        return True

    def _effect(self, outcome: Outcome, structure: Mapping[str, Any], case: Case) -> float | None:
        solution = self.solve(outcome.draft.system, structure, case)
        if not solution.optimal:
            return None
        return _significant(_relative(solution.objective, outcome.objectives[0]), 3)

    def _unmodified(self, outcome: Outcome) -> None:
        draft = outcome.draft
        name, structure = draft.system, draft.structure
        if structure == empty(structure["formulation"]):
            solution = self.plain(name, structure["formulation"])
        else:
            solution = self.solve(name, structure, self.systems[name].case)
        outcome.unmodified = _rounded(solution.objective) if solution.optimal else None

    def _patched(self, case: Case, record: Mapping[str, Any], strategy: int) -> tuple[Case, str]:
        """Return the changed case, and a reason to reject it."""
        values = [b["values"][strategy] for b in record["bindings"]]
        changed, found = patch(
            case,
            record["parameters"],
            record["bindings"],
            values,
            record["structure"],
            self.settings.dc_convention,
        )
        return changed, _refusal(found)


def _refusal(found: list[Finding]) -> str:
    wrong = [*errors(found), *(f for f in found if f.code not in ACCEPTED_WARNINGS)]
    return f"refused:{wrong[0].code}" if wrong else ""


def _status(solution: Solution) -> str:
    return "" if solution.optimal else f"not_optimal:{solution.status}"


def _relative(value: float, reference: float) -> float:
    return abs(value - reference) / (abs(reference) + 1e-10)


def _significant(value: float, digits: int) -> float:
    return float(f"{value:.{digits - 1}e}")


def _rounded(value: float) -> float:
    return _significant(float(value), DIGITS)


def dropped(structure: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return structures with the extensions left out: all (``structure``), and one by one.

    One by one only where there are several, and where the rest needs the one no longer. A
    formulation without extensions at levels 3 and 4 is dropped to that of the plain model.
    """
    formulation = structure["formulation"]
    there = items(structure)
    if not there:
        like = LIKE[formulation]
        return [("structure", empty(like))] if like != formulation else []
    found = [("structure", empty(formulation))]
    for place, one in there if len(there) > 1 else []:
        rest = {g: [x for x in structure.get(g) or [] if x is not one] for g in GROUPS}
        left = empty(formulation) | rest
        needs = [getattr(REGISTRY[x["name"]], "NEEDS", ()) for _, x in items(left)]
        names = {x["name"] for _, x in items(left)}
        if all(not n or names & set(n) for n in needs) and not check(left):
            found.append((place, left))
    return found


def _without(draft: Draft, idle: list[str]) -> Draft | None:
    """Return a draft without idle changes; None where a structure is idle or nothing is left."""
    left = deepcopy(draft)
    for kind in ("parameters", "bindings"):
        kept = [x for k, x in enumerate(getattr(draft, kind)) if f"{kind}[{k}]" not in idle]
        setattr(left, kind, kept)
    structural = any("[" not in place or place.split("[")[0] in GROUPS for place in idle)
    return None if structural or not (left.parameters or left.bindings) else left
