"""Polynomial cost of the reactive output of every generator."""

from __future__ import annotations

from ._schema import choice, each, number, positive

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
