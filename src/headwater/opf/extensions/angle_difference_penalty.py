"""Penalty on the squared angle difference along every branch in service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca

from ._common import take
from ._schema import choice, positive

if TYPE_CHECKING:
    from ..model import Model

NAME = "angle_difference_penalty"
GROUP = "objective"
APPLIES_TO = ("ACOPF", "DCOPF")
PARAMETERS = {
    "beta": positive("Price of the squared angle difference", "$/rad^2 per hour"),
    "unit": choice("Unit of beta", "$/rad^2"),
}
REQUIRED = ("beta",)


def apply(model: Model, values: dict[str, Any]) -> None:
    """Add beta sum_l (theta_f - theta_t)^2 over the branches in service, radians."""
    difference = take(model.va, model.network.f) - take(model.va, model.network.t)
    model.program.cost(NAME, values["beta"] * ca.sumsqr(difference))
