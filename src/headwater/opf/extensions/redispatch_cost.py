"""Least cost of moving units away from a schedule, in place of the cost of generation."""

from __future__ import annotations

from ._schema import each, listed, number, positive

NAME = "redispatch_cost"
GROUP = "objective"
APPLIES_TO = ("ACOPF", "DCOPF", "ED", "SOCP")
PARAMETERS = {
    "up": each(positive("Price of a rise", "$/MW per hour")),
    "down": each(number("Price of a fall, negative where it earns", "$/MW per hour")),
    "schedule_mw": listed(number("Scheduled output; PG of the case by default", "MW")),
}
REQUIRED = ("up", "down")
DEFINES = ("redispatch",)
OPERATIONS = ("replace", "add")
