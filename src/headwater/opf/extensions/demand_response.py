"""Demand goes down against payment."""

from __future__ import annotations

from ._schema import bus, choice, objects, positive

NAME = "demand_response"
GROUP = "variables"
APPLIES_TO = ("ACOPF", "DCOPF", "ED", "SOCP")
PARAMETERS = {
    "bids": objects(
        "Offers to reduce a demand",
        {
            "bus": bus("Bus of the demand"),
            "max_mw": positive("Largest reduction", "MW"),
            "price": positive("Payment", "$/MWh"),
        },
        ("bus", "max_mw", "price"),
    ),
    "power_factor": choice(
        "Reactive demand goes down with the real demand, or stays", "constant", "unchanged"
    ),
}
REQUIRED = ("bids",)
DEFINES = ("response",)
