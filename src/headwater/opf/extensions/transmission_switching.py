"""Branches may be opened (optimal transmission switching)."""

from __future__ import annotations

from ._schema import branches

NAME = "transmission_switching"
GROUP = "variables"
APPLIES_TO = ("DCOPF",)
PARAMETERS = {
    "max_open": {
        "type": "integer",
        "minimum": 0,
        "description": "Most branches that may be open (1)",
    },
    "candidates": branches("Branches that may be opened", "all"),
}
REQUIRED = ("max_open",)
DEFINES = ("switch",)
