"""Regulation-up: room above the output of units in service, enough for a requirement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._common import reporter
from ._reserve import hold
from ._schema import buses, each, number, objects, positive

if TYPE_CHECKING:
    from ..model import Model

NAME = "regulation_up_requirement"
GROUP = "constraints"
APPLIES_TO = ("ACOPF", "DCOPF", "ED", "SOCP")
PARAMETERS = {
    "unit_cap_mw": each(positive("Most that a unit may hold", "MW")),
    "requirement_mw": positive("Least sum over all units", "MW"),
    "price": each(number("Price of what is held", "$/MW per hour", default=0.0)),
    "zones": objects(
        "Requirements of groups of buses, besides that of the whole",
        {
            "buses": buses("Buses of the zone"),
            "requirement_mw": positive("Least sum over its units", "MW"),
        },
        ("buses", "requirement_mw"),
    ),
}
REQUIRED = ("unit_cap_mw", "requirement_mw")
DEFINES = ("regulation_up",)


def apply(model: Model, values: dict[str, Any]) -> None:
    """Hold R_g with 0 <= R_g <= cap, p_g + R_g <= PMAX and sum R >= requirement."""
    hold(model, "regulation_up", NAME, values)


report = reporter(NAME)
