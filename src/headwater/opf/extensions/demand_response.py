"""Demand goes down against payment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca

from ._common import bus_index, dot, keep, reporter, take
from ._schema import bus, choice, objects, positive

if TYPE_CHECKING:
    from ..model import Model

NAME = "demand_response"
GROUP = "variables"
APPLIES_TO = ("ACOPF", "DCOPF", "ED", "SOCP")
PARAMETERS = {
    "bids": objects(
        "Offers to reduce a demand",
        {
            "bus": bus("Bus of the demand"),
            "max_mw": positive("Largest reduction", "MW"),
            "price": positive("Payment", "$/MWh"),
        },
        ("bus", "max_mw", "price"),
    ),
    "power_factor": choice(
        "Reactive demand goes down with the real demand, or stays", "constant", "unchanged"
    ),
}
REQUIRED = ("bids",)
DEFINES = ("response",)


def apply(model: Model, values: dict[str, Any]) -> None:
    """Inject 0 <= r_k <= max_mw at the bus of each offer, at price r_k.

    The reduction of a bus is at most its demand; with a constant power factor QD goes along.
    """
    n, bids = model.network, values["bids"]
    at = [bus_index(n, b["bus"], f"{NAME}, bids") for b in bids]
    reduction = model.program.variable(
        "response", len(bids), 0.0, [b["max_mw"] / model.network.base for b in bids], start=0.0
    )
    model.inject_p(at, reduction)
    load = take(model.pd, at)
    if model.qg is not None and values["power_factor"] == "constant":
        ratio = ca.if_else(load > 0, take(model.qd, at) / load, 0)
        model.inject_q(at, ratio * reduction)
    for i in sorted(set(at)):
        here = ca.sum1(take(reduction, [k for k, place in enumerate(at) if place == i]))
        model.program.constrain("response", here - ca.fmax(model.pd[i], 0), upper=0.0)
    model.program.cost(NAME, model.network.base * dot([b["price"] for b in bids], reduction))
    keep(model, NAME, "response_mw", model.network.base * reduction)


report = reporter(NAME)
