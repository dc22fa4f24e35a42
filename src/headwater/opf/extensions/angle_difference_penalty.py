"""Penalty on the squared angle difference along every branch in service."""

from __future__ import annotations

from ._schema import choice, positive

NAME = "angle_difference_penalty"
GROUP = "objective"
APPLIES_TO = ("ACOPF", "DCOPF")
PARAMETERS = {
    "beta": positive("Price of the squared angle difference", "$/rad^2 per hour"),
    "unit": choice("Unit of beta", "$/rad^2"),
}
REQUIRED = ("beta",)
