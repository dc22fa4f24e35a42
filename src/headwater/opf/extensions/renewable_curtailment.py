"""Renewable injections that may be curtailed at a price."""

from __future__ import annotations

from ._schema import bus, objects, positive

NAME = "renewable_curtailment"
GROUP = "variables"
APPLIES_TO = ("ACOPF", "DCOPF", "ED", "SOCP")
PARAMETERS = {
    "units": objects(
        "Renewable injections, besides the generators of the case",
        {
            "bus": bus("Bus where it is connected"),
            "forecast_mw": positive("Available power", "MW"),
            "price": positive("Price of curtailed power", "$/MWh", default=0.0),
        },
        ("bus", "forecast_mw"),
    ),
}
REQUIRED = ("units",)
DEFINES = ("renewable",)
