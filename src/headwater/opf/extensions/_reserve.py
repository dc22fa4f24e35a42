"""Room above the output of the units, held for a requirement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ._common import bus_index, dot, keep, per_row, take

if TYPE_CHECKING:
    from ..model import Model


def hold(model: Model, kind: str, name: str, values: dict[str, Any]) -> None:
    """Add what every unit holds, its limits, the requirements and the price.

    0 <= R_g <= cap_g; sum of R >= requirement, also over the units of each zone. That p_g plus
    all that it holds stays below PMAX is the model's capacity constraint: two products cannot
    be sold out of the same room.

    Parameters
    ----------
    model : Model
    kind : str
        Name of the variable, ``spinning`` or ``regulation_up``.
    name : str
        Name of the extension.
    values : dict
        ``unit_cap_mw``, ``requirement_mw``, ``price``, and perhaps ``zones``.
    """
    n = model.network
    cap = per_row(n, values["unit_cap_mw"]) / model.network.base
    held = model.program.variable(kind, n.ng, 0.0, cap)
    model.use_capacity(held)
    required = values["requirement_mw"] / model.network.base
    model.program.constrain(f"{kind}_requirement", ca.sum1(held), lower=required)
    for zone in values.get("zones", ()):
        buses = [bus_index(n, number, f"{name}, zones") for number in zone["buses"]]
        inside = take(held, np.flatnonzero(np.isin(n.at, buses)))
        required = zone["requirement_mw"] / model.network.base
        model.program.constrain(f"{kind}_zone_requirement", ca.sum1(inside), lower=required)
    price = per_row(n, values["price"])
    if price.any():
        model.program.cost(name, model.network.base * dot(price, held))
    keep(model, name, "held_mw", model.network.base * held)
