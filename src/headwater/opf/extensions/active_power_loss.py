"""Price on the active losses of the branches."""

from __future__ import annotations

from ._schema import positive

NAME = "active_power_loss"
GROUP = "objective"
APPLIES_TO = ("ACOPF", "SOCP")
PARAMETERS = {
    "price": positive("Price of a loss", "$/MWh", default=1.0),
}
REQUIRED = ()
