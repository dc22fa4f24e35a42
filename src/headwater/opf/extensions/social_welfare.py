"""Elastic demand with bids: the benefit served is taken off the cost."""

from __future__ import annotations

from ._schema import bus, objects

NAME = "social_welfare"
GROUP = "objective"
APPLIES_TO = ("ACOPF", "DCOPF", "ED", "SOCP")
PARAMETERS = {
    "bids": objects(
        "Elastic demand, besides that of the case",
        {
            "bus": bus("Bus of the demand"),
            "blocks": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "array",
                    "items": {"type": "number", "minimum": 0},
                    "minItems": 2,
                    "maxItems": 2,
                },
                "description": "Size (MW) and willingness to pay ($/MWh) of each block",
            },
        },
        ("bus", "blocks"),
    ),
}
REQUIRED = ("bids",)
DEFINES = ("elastic",)
