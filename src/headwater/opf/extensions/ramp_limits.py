"""Limits on the change of output from one period to the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._common import column, per_row
from ._schema import each, listed, number, positive

if TYPE_CHECKING:
    from ..model import Model

NAME = "ramp_limits"
GROUP = "constraints"
APPLIES_TO = ("ACOPF", "DCOPF", "ED", "SOCP")
PARAMETERS = {
    "up_mw": each(positive("Largest rise in a period", "MW")),
    "down_mw": each(positive("Largest fall in a period; up_mw by default", "MW")),
    "initial_mw": listed(number("Output before the first period; free by default", "MW")),
}
REQUIRED = ("up_mw",)
NEEDS = ("horizon",)


def apply(model: Model, values: dict[str, Any]) -> None:
    """Do nothing in a single period."""


def couple(models: Sequence[Model], values: dict[str, Any]) -> None:
    """Require -down <= p_t - p_(t-1) <= up, the first change from the initial output."""
    n = models[0].network
    up = per_row(n, values["up_mw"]) / n.base
    down = per_row(n, values.get("down_mw", values["up_mw"])) / n.base
    before = None
    if "initial_mw" in values:
        before = column(per_row(n, values["initial_mw"]) / n.base)
    for model in models:
        if before is not None:
            model.program.constrain("ramp", model.pg - before, -down, up)
        before = model.pg
