"""Largest common growth of the loads that the network can serve (transfer capability).

The loads of some buses become PD (1 + g), in every limit of the formulation, and g is largest
(G. D. Irisarri, X. Wang, J. Tong, S. Mokhtari, IEEE Transactions on Power Systems 12 (1997) 140).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ._common import bus_index, keep, reporter, take
from ._schema import buses, choice, positive

if TYPE_CHECKING:
    from ..model import Model

NAME = "transfer_capability"
GROUP = "objective"
APPLIES_TO = ("ACOPF", "DCOPF", "ED", "SOCP")
PARAMETERS = {
    "buses": buses("Buses whose load grows; all by default"),
    "power_factor": choice(
        "Reactive demand grows with the real demand, or stays", "constant", "unchanged"
    ),
    "weight": positive("Worth of a doubling of the loads", "$/h", exclusiveMinimum=0, default=1.0),
}
REQUIRED = ()
DEFINES = ("growth",)
OPERATIONS = ("replace", "add")


def apply(model: Model, values: dict[str, Any]) -> None:
    """Draw g times the load at every bus, and take weight g off the cost."""
    n = model.network
    at = [bus_index(n, b, f"{NAME}, buses") for b in values.get("buses", ())]
    at = at or np.arange(n.nb)
    growth = model.program.variable("growth", 1, 0.0, start=0.1)
    more = growth * ca.fmax(take(model.pd, at), 0)
    model.inject_p(at, -more)
    if model.qg is not None and values["power_factor"] == "constant":
        reactive = ca.if_else(take(model.pd, at) > 0, take(model.qd, at), 0)
        model.inject_q(at, -growth * reactive)
    model.program.cost(NAME, -values["weight"] * growth)
    keep(model, NAME, "growth", growth, total=True)
    keep(model, NAME, "transfer_mw", n.base * ca.sum1(more), total=True)


report = reporter(NAME)
