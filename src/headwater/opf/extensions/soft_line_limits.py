"""Branch limits that may be exceeded at a price."""

from __future__ import annotations

from ._schema import branches, positive

NAME = "soft_line_limits"
GROUP = "constraints"
APPLIES_TO = ("ACOPF", "DCOPF", "SOCP")
PARAMETERS = {
    "penalty": positive("Price of an excess", "$/MW per hour, $/MVA in AC"),
    "max_excess": positive("Largest excess; none by default", "MW, MVA in AC"),
    "branches": branches("Branches with a soft limit", "all"),
}
REQUIRED = ("penalty",)
DEFINES = ("rate_slack",)
