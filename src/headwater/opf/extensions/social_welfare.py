"""Elastic demand with bids: the benefit served is taken off the cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._common import bus_index, dot, keep, reporter
from ._schema import bus, objects

if TYPE_CHECKING:
    from ..model import Model

NAME = "social_welfare"
GROUP = "objective"
APPLIES_TO = ("ACOPF", "DCOPF", "ED", "SOCP")
PARAMETERS = {
    "bids": objects(
        "Elastic demand, besides that of the case",
        {
            "bus": bus("Bus of the demand"),
            "blocks": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "array",
                    "items": {"type": "number", "minimum": 0},
                    "minItems": 2,
                    "maxItems": 2,
                },
                "description": "Size (MW) and willingness to pay ($/MWh) of each block",
            },
        },
        ("bus", "blocks"),
    ),
}
REQUIRED = ("bids",)
DEFINES = ("elastic",)


def apply(model: Model, values: dict[str, Any]) -> None:
    """Draw 0 <= d_k <= size at the bus of each block, and take price d_k off the cost.

    Minimised is then the cost less the benefit: the negative of the social welfare.
    """
    blocks = [(b["bus"], *block) for b in values["bids"] for block in b["blocks"]]
    at = [bus_index(model.network, bus, f"{NAME}, bids") for bus, _, _ in blocks]
    sizes = [size / model.network.base for _, size, _ in blocks]
    served = model.program.variable("elastic", len(blocks), 0.0, sizes, start=0.0)
    model.inject_p(at, -served)
    model.program.cost(NAME, -model.network.base * dot([price for _, _, price in blocks], served))
    keep(model, NAME, "elastic_mw", model.network.base * served)


report = reporter(NAME)
