"""Price on the mean loading of the branches with a rating."""

from __future__ import annotations

from ._schema import positive

NAME = "congestion_cost"
GROUP = "objective"
APPLIES_TO = ("ACOPF", "DCOPF", "SOCP")
PARAMETERS = {
    "price": positive("Price of a mean loading of 1", "$ per hour"),
}
REQUIRED = ("price",)
DEFINES = ("loading",)
