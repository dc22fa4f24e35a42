"""Demand may be shed at a price."""

from __future__ import annotations

from ._schema import choice, each, positive

NAME = "load_shedding"
GROUP = "variables"
APPLIES_TO = ("ACOPF", "DCOPF", "ED", "SOCP")
PARAMETERS = {
    "voll": each(positive("Value of lost load", "$/MWh"), "bus"),
    "power_factor": choice(
        "Reactive demand goes down with the real demand, or stays", "constant", "unchanged"
    ),
    "max_fraction": positive("Largest share of a load", "1", maximum=1, default=1.0),
}
REQUIRED = ("voll",)
DEFINES = ("shed",)
