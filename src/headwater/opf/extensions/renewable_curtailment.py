"""Renewable injections that may be curtailed at a price."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._common import bus_index, column, dot, keep, reporter
from ._schema import bus, objects, positive

if TYPE_CHECKING:
    from ..model import Model

NAME = "renewable_curtailment"
GROUP = "variables"
APPLIES_TO = ("ACOPF", "DCOPF", "ED", "SOCP")
PARAMETERS = {
    "units": objects(
        "Renewable injections, besides the generators of the case",
        {
            "bus": bus("Bus where it is connected"),
            "forecast_mw": positive("Available power", "MW"),
            "price": positive("Price of curtailed power", "$/MWh", default=0.0),
        },
        ("bus", "forecast_mw"),
    ),
}
REQUIRED = ("units",)
DEFINES = ("renewable",)


def apply(model: Model, values: dict[str, Any]) -> None:
    """Inject 0 <= p_w <= forecast at its bus, at price (forecast - p_w)."""
    units = values["units"]
    at = [bus_index(model.network, u["bus"], f"{NAME}, units") for u in units]
    forecast = column([u["forecast_mw"] for u in units])
    power = model.program.variable("renewable", len(units), 0.0, forecast / model.network.base)
    model.inject_p(at, power)
    curtailed = forecast - model.network.base * power
    model.program.cost(NAME, dot([u.get("price", 0.0) for u in units], curtailed))
    keep(model, NAME, "renewable_mw", model.network.base * power)
    keep(model, NAME, "curtailed_mw", curtailed)


report = reporter(NAME)
