"""Branch limits that hold for every injection of a box."""

from __future__ import annotations

from ._schema import buses, one_or_more, positive

NAME = "robust_line_limits"
GROUP = "constraints"
APPLIES_TO = ("DCOPF",)
PARAMETERS = {
    "buses": buses("Buses of the uncertain injections"),
    "delta_mw": one_or_more(positive("Largest deviation, one or one for each bus", "MW")),
    "budget": {
        "type": "integer",
        "minimum": 1,
        "description": "Most injections that deviate at a time (1); all by default",
    },
}
REQUIRED = ("buses", "delta_mw")
DEFINES = ("rate_margin",)
