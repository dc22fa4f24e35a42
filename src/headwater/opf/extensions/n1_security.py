"""Preventive N-1 security: every branch within its rating after any single outage."""

from __future__ import annotations

from ._schema import branches, positive

NAME = "n1_security"
GROUP = "constraints"
APPLIES_TO = ("DCOPF",)
PARAMETERS = {
    "contingencies": branches("Branches that may fail one at a time", "all_non_islanding_branches"),
    "emergency_factor": positive(
        "Share of the rating allowed after an outage", "1", exclusiveMinimum=0, default=1.0
    ),
}
REQUIRED = ()
