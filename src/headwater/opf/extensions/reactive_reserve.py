"""Reward for reactive room below the upper limit of every generator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._common import dot, keep, per_row, reporter
from ._schema import each, positive

if TYPE_CHECKING:
    from ..model import Model

NAME = "reactive_reserve"
GROUP = "objective"
APPLIES_TO = ("ACOPF", "SOCP")
PARAMETERS = {
    "weight": each(positive("Reward of the room QMAX - q", "$/MVAr per hour")),
}
REQUIRED = ("weight",)


def apply(model: Model, values: dict[str, Any]) -> None:
    """Add - sum_g w_g (QMAX_g - q_g), MVAr."""
    n = model.network
    room = model.network.base * (model.qmax - model.qg)
    model.program.cost(NAME, -dot(per_row(n, values["weight"]), room))
    keep(model, NAME, "reactive_room_mvar", room)


report = reporter(NAME)
