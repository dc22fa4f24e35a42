"""Power bought at a price: a virtual generator at a bus."""

from __future__ import annotations

from ._schema import bus, number, objects, positive

NAME = "procurement_cost"
GROUP = "variables"
APPLIES_TO = ("ACOPF", "DCOPF", "ED", "SOCP")
PARAMETERS = {
    "offers": objects(
        "Offers of power",
        {
            "bus": bus("Bus where it is injected"),
            "max_mw": positive("Largest power", "MW"),
            "price": number("Price", "$/MWh"),
        },
        ("bus", "max_mw", "price"),
    ),
}
REQUIRED = ("offers",)
DEFINES = ("procured",)
