"""Placeholders of abstract requests: their names, their directions, their test values.

A binding names a field of an object, ``bus_PD_18`` or ``branch_RATE_A_2_3``; it holds the value
after the change and says in which direction that value lies.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .fields import ALIASES, FIELDS, Field

DIRECTIONS = ("increase", "decrease", "set_zero")
# Shares of |default| by which the two test values of a placeholder move.
SHARES = (0.05, 0.10)
VOLTAGE_SHARES = (0.01, 0.02)
_NAME = re.compile(r"(bus|gen|branch)_([A-Z][A-Z0-9_]*?)_(\d+)(?:_(\d+))?(?:_c(\d+))?$")


def placeholder(item: Mapping[str, Any]) -> str:
    """Return the name of the placeholder for a change: component, field and object.

    ``branch_BR_X_15_21_c2`` is the second of several circuits.
    """
    ends = [item["fbus"], item["tbus"]] if item["component"] == "branch" else [item["bus"]]
    name = "_".join([item["component"], item["field"], *map(str, ends)])
    return f"{name}_c{item['circuit']}" if "circuit" in item else name


def parse_placeholder(name: str) -> dict[str, Any] | None:
    """Return component, field and object that a placeholder names, or None if it is none.

    Other names of cost coefficients (``gen_GENCOST_C1_2``) mean the same field.
    """
    match = _NAME.match(name)
    if not match:
        return None
    component, field, first, second, circuit = match.groups()
    field = ALIASES.get(field, field)
    if (component, field) not in FIELDS or (second is not None) != (component == "branch"):
        return None
    found: dict[str, Any] = {"component": component, "field": field}
    found |= {"bus": int(first)} if second is None else {"fbus": int(first), "tbus": int(second)}
    return found | ({"circuit": int(circuit)} if circuit else {})


def shares_of(field: str) -> tuple[float, float]:
    """Return the two shares of the default by which test values of a field move."""
    return VOLTAGE_SHARES if field in ("VMAX", "VMIN") else SHARES


def strategy_values(
    default: float,
    direction: str,
    field: str = "",
    shares: Sequence[float] | None = None,
) -> list[float]:
    """Return test values: ``default + share |default|`` for an increase, minus for a decrease.

    The share is one of |default|: 10 % down from -20 is -22, never -18.
    """
    shares = shares_of(field) if shares is None else shares
    if direction == "set_zero":
        return [0.0 for _ in shares]
    sign = 1.0 if direction == "increase" else -1.0
    return [default + sign * abs(default) * share for share in shares]


def effective(field: Field, values: np.ndarray) -> np.ndarray:
    """Return what the numbers of a field act as: a tap ratio of 0 is 1, a rating of 0 infinite."""
    if field.name == "TAP":
        return np.where(values == 0, 1.0, values)
    if field.name == "RATE_A":
        return np.where(values == 0, np.inf, values)
    return values


def moves(field: Field, old: np.ndarray, value: float, direction: str) -> str:
    """Return ``right``, ``not`` or ``wrong``: how the value lies to the old ones.

    Every row has to lie in the direction; one that stays makes it ``not`` a change unless
    another moves.
    """
    if direction == "set_zero":
        return "right" if value == 0 and np.any(old != 0) else "not" if value == 0 else "wrong"
    before, after = effective(field, old), effective(field, np.array([value]))[0]
    with np.errstate(invalid="ignore"):
        step = np.where(before == after, 0.0, after - before)
    step = step if direction == "increase" else -step
    if np.any(step < 0):
        return "wrong"
    return "right" if np.all(step > 0) else "not"
