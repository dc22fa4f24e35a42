"""Penalty on the squared deviation of every bus voltage from a reference."""

from __future__ import annotations

from ._schema import choice, positive

NAME = "voltage_deviation_penalty"
GROUP = "objective"
APPLIES_TO = ("ACOPF",)
PARAMETERS = {
    "beta": positive("Price of the squared deviation", "$/p.u.^2 per hour"),
    "v_ref": positive("Reference voltage", "p.u.", minimum=0.5, maximum=1.5, default=1.0),
    "unit": choice("Unit of beta", "$/p.u.^2"),
}
REQUIRED = ("beta",)
