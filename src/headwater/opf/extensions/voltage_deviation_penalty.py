"""Penalty on the squared deviation of every bus voltage from a reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca

from ._schema import choice, positive

if TYPE_CHECKING:
    from ..model import Model

NAME = "voltage_deviation_penalty"
GROUP = "objective"
APPLIES_TO = ("ACOPF",)
PARAMETERS = {
    "beta": positive("Price of the squared deviation", "$/p.u.^2 per hour"),
    "v_ref": positive("Reference voltage", "p.u.", minimum=0.5, maximum=1.5, default=1.0),
    "unit": choice("Unit of beta", "$/p.u.^2"),
}
REQUIRED = ("beta",)


def apply(model: Model, values: dict[str, Any]) -> None:
    """Add beta sum_i (v_i - v_ref)^2 over the buses in service, per unit."""
    model.program.cost(NAME, values["beta"] * ca.sumsqr(model.vm - values["v_ref"]))
