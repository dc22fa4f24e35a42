"""Limit on the voltage stability indicator L of every load bus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca

from ._common import keep, reporter
from ._l_index import squared
from ._schema import number

if TYPE_CHECKING:
    from ..model import Model

NAME = "l_index_limit"
GROUP = "constraints"
APPLIES_TO = ("ACOPF",)
PARAMETERS = {
    "l_max": number("Largest L", "1", exclusiveMinimum=0, maximum=1),
}
REQUIRED = ("l_max",)
DEFINES = ("l_index",)


def apply(model: Model, values: dict[str, Any]) -> None:
    """Require L_j <= l_max at every bus without a generator."""
    gap, voltage = squared(model)
    model.program.constrain(NAME, gap - values["l_max"] ** 2 * voltage, upper=0.0)
    keep(model, NAME, "l_index", ca.sqrt(gap / voltage))


report = reporter(NAME)
