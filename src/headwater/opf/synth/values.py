"""New values for a candidate: plausible, in range, and - where wanted - felt by the optimum.

A change is felt when it moves what binds at the unmodified optimum: a limit beyond the value that
the optimum takes, a demand at a bus with a price, a cost of a unit that runs. The estimates are
first-order, dJ = price times change; whether an item is active is decided by solving.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..bindings import strategy_values
from .candidates import Candidate
from .system import Point, System

SCALES = np.setdiff1d(np.round(np.arange(0.80, 1.2501, 0.01), 2), [1.0])
MILD = SCALES[(SCALES >= 0.85) & (SCALES <= 1.15)]


def nice(value: float, digits: int = 3) -> float:
    """Return a number with so many significant digits."""
    return float(f"{value:.{digits - 1}e}")


def _uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(rng.uniform(low, high))


def concrete(
    system: System,
    point: Point,
    one: Candidate,
    rng: np.random.Generator,
    direction: str = "",
    mild: bool = False,
) -> dict[str, Any] | None:
    """Return a change with its value, None where there is no sensible one.

    Parameters
    ----------
    direction : str
        ``increase``, ``decrease`` or ``set_zero``; empty for any.
    mild : bool
        Loads move by at most 15 percent, as there are many changes.
    """
    rule = RULES[one.field]
    found = rule(system, point, one, rng, direction, mild)
    if found is None:
        return None
    op, value = found
    if op == "set" and (np.isclose(value, one.default, rtol=1e-6) or not np.isfinite(value)):
        return None
    return {**one.item, "op": op, "value": float(value)}


def abstract(one: Candidate, direction: str) -> list[float]:
    """Return the two test values of a placeholder."""
    values = strategy_values(one.default, direction, one.field)
    return [float(f"{v:.12g}") for v in values]


# ---- drawing of values ----------------------------------------------------------------------


def _scale(rng: np.random.Generator, direction: str, choices: np.ndarray = SCALES) -> float:
    if direction == "increase":
        choices = choices[choices > 1]
    elif direction == "decrease":
        choices = choices[choices < 1]
    return float(rng.choice(choices))


def _amount(
    system: System, point: Point, one: Candidate, rng: Any, direction: str, mild: bool
) -> tuple[str, float] | None:
    """A quantity that is scaled, or set to a rounded multiple of what it was."""
    factor = _scale(rng, direction, MILD if mild else SCALES)
    if rng.random() < 0.6 or np.isnan(one.default):
        return "scale", factor
    return "set", nice(one.default * factor, 3 if abs(one.default) >= 1 else 2)


def _shunt(
    system: System, point: Point, one: Candidate, rng: Any, direction: str, mild: bool
) -> tuple[str, float] | None:
    if direction == "set_zero" or (not direction and rng.random() < 0.3):
        return "set", 0.0
    return _amount(system, point, one, rng, direction, mild)


def _voltage(
    system: System, point: Point, one: Candidate, rng: Any, direction: str, mild: bool
) -> tuple[str, float] | None:
    up = direction == "increase" if direction else one.field == "VMIN"
    share = _uniform(rng, 0.01, 0.02) * (1 if up else -1)
    return "set", round(one.default * (1 + share), 3)


def _pmax(
    system: System, point: Point, one: Candidate, rng: Any, direction: str, mild: bool
) -> tuple[str, float] | None:
    """A lower ceiling cuts into the output; a higher one helps a unit that is at it."""
    rows = list(one.rows)
    table = system.case.gen
    pg, high, low = point.pg[rows], table["PMAX"].to_numpy()[rows], table["PMIN"].to_numpy()[rows]
    at_limit = bool((pg > 0.98 * high).any())
    if direction == "increase" or (not direction and at_limit and rng.random() < 0.3):
        return "scale", _scale(rng, "increase")
    if np.isnan(one.default) or rng.random() < 0.5:
        factor = _scale(rng, "decrease")
        return ("scale", factor) if (high * factor >= low).all() else None
    target = max(pg.max(), 0.5 * one.default) * _uniform(rng, 0.75, 0.95)
    value = nice(target, 3 if target >= 100 else 2)
    return ("set", value) if (value >= low).all() and value < one.default else None


def _pmin(
    system: System, point: Point, one: Candidate, rng: Any, direction: str, mild: bool
) -> tuple[str, float] | None:
    """A higher floor pushes a unit up; a lower one frees a unit that sits on it."""
    if direction == "decrease" or (
        not direction and one.default > 0 and _at_floor(system, point, one) and rng.random() < 0.4
    ):
        return ("scale", _scale(rng, "decrease")) if one.default > 0 else None
    rows = list(one.rows)
    high = system.case.gen["PMAX"].to_numpy()[rows].min()
    base = max(point.pg[rows].max(), 0.0)
    value = nice(base + _uniform(rng, 0.15, 0.6) * (high - base), 2)
    return ("set", value) if base < value <= 0.95 * high else None


def _at_floor(system: System, point: Point, one: Candidate) -> bool:
    rows = list(one.rows)
    low = system.case.gen["PMIN"].to_numpy()[rows]
    return bool((point.pg[rows] < low + 0.01 * np.maximum(low, 1)).all())


def _reactive(
    system: System, point: Point, one: Candidate, rng: Any, direction: str, mild: bool
) -> tuple[str, float] | None:
    rows = list(one.rows)
    table = system.case.gen
    low, high = table["QMIN"].to_numpy()[rows], table["QMAX"].to_numpy()[rows]
    room = float((high - low).min())
    step = _uniform(rng, 0.1, 0.4) * room
    if one.field == "QMAX":
        value = nice(float(point.qg[rows].min()) - step, 2)
        return ("set", value) if (low <= value).all() and value < high.min() else None
    value = nice(float(point.qg[rows].max()) + step, 2)
    return ("set", value) if (value <= high).all() and value > low.max() else None


def _off(
    system: System, point: Point, one: Candidate, rng: Any, direction: str, mild: bool
) -> tuple[str, float] | None:
    return "set", 0.0


def _rating(
    system: System, point: Point, one: Candidate, rng: Any, direction: str, mild: bool
) -> tuple[str, float] | None:
    """Below the present flow for a derating; above for a line whose limit has a price."""
    (row,) = one.rows
    if direction == "increase" or (not direction and point.mu[row] > 0 and rng.random() < 0.4):
        return "scale", _scale(rng, "increase")
    flow = point.flow[row]
    if rng.random() < 0.4 or flow < 0.3 * one.default:
        return "scale", _scale(rng, "decrease")
    value = nice(min(flow, one.default) * _uniform(rng, 0.8, 0.97), 3 if flow >= 100 else 2)
    return "set", value


def _tap(
    system: System, point: Point, one: Candidate, rng: Any, direction: str, mild: bool
) -> tuple[str, float] | None:
    sign = {"increase": 1, "decrease": -1}.get(direction, int(rng.choice([-1, 1])))
    value = round(one.default + sign * float(rng.choice([0.02, 0.03, 0.04, 0.05, 0.06])), 3)
    return ("set", value) if 0.85 <= value <= 1.15 and value != 1 else None


def _shift(
    system: System, point: Point, one: Candidate, rng: Any, direction: str, mild: bool
) -> tuple[str, float] | None:
    step = float(rng.choice([1, 1.5, 2, 2.5, 3, 4, 5])) * int(rng.choice([-1, 1]))
    return "set", round(one.default + step, 3)


def _angle(
    system: System, point: Point, one: Candidate, rng: Any, direction: str, mild: bool
) -> tuple[str, float] | None:
    """Inside the angle difference that the optimum has."""
    (row,) = one.rows
    f, t = system.ends[row]
    present = point.va[f] - point.va[t]
    if (present > 0) != (one.field == "ANGMAX") or abs(present) < 0.5:
        return None
    return "set", nice(present * _uniform(rng, 0.8, 0.97), 2)


RULES = {
    **dict.fromkeys(("PD", "QD", "BR_R", "BR_X", "BR_B"), _amount),
    **dict.fromkeys(("COST_C0", "COST_C1", "COST_C2", "COST_C3"), _amount),
    **dict.fromkeys(("GS", "BS"), _shunt),
    **dict.fromkeys(("VMAX", "VMIN"), _voltage),
    **dict.fromkeys(("QMAX", "QMIN"), _reactive),
    **dict.fromkeys(("GEN_STATUS", "BR_STATUS"), _off),
    **dict.fromkeys(("ANGMIN", "ANGMAX"), _angle),
    "PMAX": _pmax,
    "PMIN": _pmin,
    "RATE_A": _rating,
    "TAP": _tap,
    "SHIFT": _shift,
}
