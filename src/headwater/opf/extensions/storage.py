"""Storage units that carry energy from one period to the next."""

from __future__ import annotations

from ._schema import bus, number, objects, positive

NAME = "storage"
GROUP = "variables"
APPLIES_TO = ("ACOPF", "DCOPF", "ED", "SOCP")
PARAMETERS = {
    "units": objects(
        "Storage units",
        {
            "bus": bus("Bus where it is connected"),
            "energy_mwh": positive("Capacity", "MWh"),
            "charge_mw": positive("Largest charging power", "MW"),
            "discharge_mw": positive("Largest discharging power; charge_mw by default", "MW"),
            "charge_efficiency": number(
                "Stored share of the charged energy",
                "1",
                exclusiveMinimum=0,
                maximum=1,
                default=1.0,
            ),
            "discharge_efficiency": number(
                "Delivered share of the stored energy",
                "1",
                exclusiveMinimum=0,
                maximum=1,
                default=1.0,
            ),
            "initial_mwh": positive("Energy at the start and at the end", "MWh", default=0.0),
        },
        ("bus", "energy_mwh", "charge_mw"),
    ),
}
REQUIRED = ("units",)
DEFINES = ("charge", "discharge", "energy")
NEEDS = ("horizon",)
