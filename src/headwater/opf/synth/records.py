"""An accepted attempt as a record: text, programs, answers, and what was drawn for it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from ..case import Case
from ..code import NotExpressible, matpower_code, python_code
from ..language import compose, fidelity
from ..structure import items
from .evaluate import Outcome
from .plan import WORDS, Settings, stream

SCORE, REGRESSION = 1e-4, 1e-5


def name(settings: Settings, n: int) -> str:
    """Return the id of an instance."""
    return f"syn-{settings.seed}-{n:06d}"


def record(settings: Settings, case: Case, outcome: Outcome) -> dict[str, Any]:
    """Return the record of an accepted attempt.

    Its key ``synthesis`` holds what was drawn: number and attempt, scenario, relative change of
    the objective from that of the plain unmodified network, and the idle items.

    Raises
    ------
    AssertionError
        If the text does not say what the record holds; a fault of the bank.
    """
    draft = outcome.draft
    slot = draft.slot
    asked = draft.record()
    rng = stream(settings.seed, slot.n, WORDS, draft.attempt)
    found = {
        "id": name(settings, slot.n),
        "level": slot.level,
        "regime": "abstract" if slot.level in (2, 4) else "concrete",
        "base_system": draft.system,
        "request": compose.request(asked, case, rng, draft.scenario),
        **{k: asked[k] for k in ("parameters", "bindings", "structure", "solver")},
        "expected": [_answer(value, outcome.solver) for value in outcome.objectives],
        "objective_unmodified_parameters": outcome.unmodified,
        "drop_one_relative_effect": outcome.effects,
        "tolerance": {"score_relative": SCORE, "regression_relative": REGRESSION},
    }
    wrong = fidelity.check(found)
    if wrong:
        raise AssertionError("; ".join(f.message for f in wrong))
    found |= programs(found)
    change = (outcome.objectives[0] - outcome.null) / abs(outcome.null)
    found["synthesis"] = {
        "n": slot.n,
        "attempt": draft.attempt,
        "strict": slot.strict,
        "scenario": draft.scenario,
        "objective_plain_network": outcome.null,
        "relative_change": float(f"{change:.4g}"),
        "inactive": outcome.inactive(settings.threshold),
    }
    return found


def programs(asked: dict[str, Any]) -> dict[str, str]:
    """Return the reference programs; that of MATPOWER where MATPOWER can express the problem."""
    found = {}
    with suppress(NotExpressible):
        found["reference_matpower_code"] = matpower_code(asked)
    return found | {"reference_python_code": python_code(asked)}


def _answer(objective: float, solver: str) -> dict[str, Any]:
    return {
        "status": "optimal",
        "objective": objective,
        "unit": "$/h",
        "computed_with": {solver: objective},
    }


def rejection(outcome: Outcome) -> dict[str, Any]:
    """Return an attempt that was not accepted as a row of the table of rejects."""
    draft = outcome.draft
    names = "+".join(item["name"] for _, item in items(draft.structure))
    return {
        "n": draft.slot.n,
        "attempt": draft.attempt,
        "level": draft.slot.level,
        "base_system": draft.system,
        "formulation": draft.structure["formulation"],
        "structure": names,
        "reason": outcome.reason,
    }
