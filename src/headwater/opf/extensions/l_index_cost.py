"""Price on the largest voltage stability indicator L."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca

from ._common import keep, reporter
from ._l_index import squared
from ._schema import positive

if TYPE_CHECKING:
    from ..model import Model

NAME = "l_index_cost"
GROUP = "objective"
APPLIES_TO = ("ACOPF",)
PARAMETERS = {
    "price": positive("Price of L = 1", "$/h"),
}
REQUIRED = ("price",)
DEFINES = ("l_index",)


def apply(model: Model, values: dict[str, Any]) -> None:
    """Add price L with L at least that of every bus without a generator."""
    gap, voltage = squared(model)
    largest = model.program.variable("l_index", 1, 0.0, 1.0, start=0.5)
    model.program.constrain(NAME, gap - largest**2 * voltage, upper=0.0)
    model.program.cost(NAME, values["price"] * largest)
    keep(model, NAME, "l_index", ca.sqrt(gap / voltage))


report = reporter(NAME)
