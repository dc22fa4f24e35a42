"""Polynomial cost of the reactive output of every generator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._common import dot, per_row
from ._schema import choice, each, number, positive

if TYPE_CHECKING:
    from ..model import Model

NAME = "reactive_generation_cost"
GROUP = "objective"
APPLIES_TO = ("ACOPF", "SOCP")
PARAMETERS = {
    "c2": each(positive("Coefficient of q^2", "$/MVAr^2 per hour", default=0.0)),
    "c1": each(number("Coefficient of q", "$/MVAr per hour", default=0.0)),
    "c0": each(number("Constant of a generator in service", "$/h", default=0.0)),
    "unit": choice("Unit that q is measured in", "$/MVAr^2", "$/p.u.^2"),
}
REQUIRED = ("c2",)


def apply(model: Model, values: dict[str, Any]) -> None:
    """Add sum_g c2 q_g^2 + c1 q_g + c0, with q in the unit that is named.

    A cost in $/MVAr^2 applied to per-unit values would be too small by the squared base power.
    """
    n = model.network
    q = model.qg * (model.network.base if values["unit"] == "$/MVAr^2" else 1.0)
    constant = per_row(n, values["c0"]).sum()
    quadratic, linear = per_row(n, values["c2"]), per_row(n, values["c1"])
    model.program.cost(NAME, dot(quadratic, q**2) + dot(linear, q) + constant)
