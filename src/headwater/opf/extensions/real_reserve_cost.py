"""Price on the reserve or regulation that the units hold."""

from __future__ import annotations

from ._schema import each, positive

NAME = "real_reserve_cost"
GROUP = "objective"
APPLIES_TO = ("ACOPF", "DCOPF", "ED", "SOCP")
PARAMETERS = {
    "price": each(positive("Price of what is held", "$/MW per hour")),
}
REQUIRED = ("price",)
NEEDS = ("spinning_reserve_requirement", "regulation_up_requirement")
