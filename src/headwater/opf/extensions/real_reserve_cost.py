"""Price on the reserve or regulation that the units hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._common import dot, kept, per_row
from ._schema import each, positive

if TYPE_CHECKING:
    from ..model import Model

NAME = "real_reserve_cost"
GROUP = "objective"
APPLIES_TO = ("ACOPF", "DCOPF", "ED", "SOCP")
PARAMETERS = {
    "price": each(positive("Price of what is held", "$/MW per hour")),
}
REQUIRED = ("price",)
NEEDS = ("spinning_reserve_requirement", "regulation_up_requirement")


def apply(model: Model, values: dict[str, Any]) -> None:
    """Add price sum of R over the reserves that other extensions hold, MW."""
    prices = per_row(model.network, values["price"])
    for owner in NEEDS:
        held = kept(model, owner, "held_mw")
        if held is not None:
            model.program.cost(NAME, dot(prices, held))
