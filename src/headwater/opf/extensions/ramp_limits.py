"""Limits on the change of output from one period to the next."""

from __future__ import annotations

from ._schema import each, listed, number, positive

NAME = "ramp_limits"
GROUP = "constraints"
APPLIES_TO = ("ACOPF", "DCOPF", "ED", "SOCP")
PARAMETERS = {
    "up_mw": each(positive("Largest rise in a period", "MW")),
    "down_mw": each(positive("Largest fall in a period; up_mw by default", "MW")),
    "initial_mw": listed(number("Output before the first period; free by default", "MW")),
}
REQUIRED = ("up_mw",)
NEEDS = ("horizon",)
