"""Power bought at a price: a virtual generator at a bus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._common import bus_index, dot, keep, reporter
from ._schema import bus, number, objects, positive

if TYPE_CHECKING:
    from ..model import Model

NAME = "procurement_cost"
GROUP = "variables"
APPLIES_TO = ("ACOPF", "DCOPF", "ED", "SOCP")
PARAMETERS = {
    "offers": objects(
        "Offers of power",
        {
            "bus": bus("Bus where it is injected"),
            "max_mw": positive("Largest power", "MW"),
            "price": number("Price", "$/MWh"),
        },
        ("bus", "max_mw", "price"),
    ),
}
REQUIRED = ("offers",)
DEFINES = ("procured",)


def apply(model: Model, values: dict[str, Any]) -> None:
    """Inject 0 <= p_k <= max_mw at the bus of each offer, at price p_k."""
    offers = values["offers"]
    at = [bus_index(model.network, o["bus"], f"{NAME}, offers") for o in offers]
    most = [o["max_mw"] / model.network.base for o in offers]
    bought = model.program.variable("procured", len(offers), 0.0, most, start=0.0)
    model.inject_p(at, bought)
    model.program.cost(NAME, model.network.base * dot([o["price"] for o in offers], bought))
    keep(model, NAME, "procured_mw", model.network.base * bought)


report = reporter(NAME)
