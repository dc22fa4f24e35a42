"""Price on the emissions of all generators."""

from __future__ import annotations

from ._schema import each, number, positive

NAME = "emission_cost"
GROUP = "objective"
APPLIES_TO = ("ACOPF", "DCOPF", "ED", "SOCP")
PARAMETERS = {
    "price": positive("Price of an emission", "$/t"),
    "beta": each(number("Emission of an output", "t/MWh", default=0.0)),
    "alpha": each(positive("Emission of the squared output", "t/h per MW^2", default=0.0)),
    "gamma": each(number("Emission of a unit in service", "t/h", default=0.0)),
    "zeta": each(positive("Emission that grows exponentially, at no output", "t/h", default=0.0)),
    "lambda": each(number("Its rate of growth", "1/MW", default=0.0)),
}
REQUIRED = ("price",)
