"""Several periods one after another, with profiles of demand."""

from __future__ import annotations

from ._schema import bus, objects, positive

NAME = "horizon"
GROUP = "variables"
APPLIES_TO = ("ACOPF", "DCOPF", "ED", "SOCP")
PARAMETERS = {
    "load_multipliers": {
        "type": "array",
        "items": {"type": "number", "minimum": 0},
        "minItems": 1,
        "description": "Factor on every demand, one for each period (1)",
    },
    "hours": positive("Length of a period", "h", exclusiveMinimum=0, default=1.0),
    "profiles": objects(
        "Demand of single buses, one value for each period",
        {
            "bus": bus("Bus"),
            "pd_mw": {
                "type": "array",
                "items": {"type": "number"},
                "minItems": 1,
                "description": "Real demand (MW); the reactive demand keeps the power factor",
            },
        },
        ("bus", "pd_mw"),
    ),
}
REQUIRED = ("load_multipliers",)
DEFINES = ("period",)
