"""Price on the active losses of the branches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca

from ._common import keep, reporter
from ._schema import positive

if TYPE_CHECKING:
    from ..model import Model

NAME = "active_power_loss"
GROUP = "objective"
APPLIES_TO = ("ACOPF", "SOCP")
PARAMETERS = {
    "price": positive("Price of a loss", "$/MWh", default=1.0),
}
REQUIRED = ()


def apply(model: Model, values: dict[str, Any]) -> None:
    """Add price sum_l (P_f + P_t), MW."""
    loss = model.network.base * (ca.sum1(model.pf) + ca.sum1(model.pt))
    keep(model, NAME, "loss_mw", loss, total=True)
    model.program.cost(NAME, values["price"] * loss)


report = reporter(NAME)
