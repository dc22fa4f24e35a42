"""Demand may be shed at a price."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca

from ._common import dot, keep, per_row, reporter
from ._schema import choice, each, positive

if TYPE_CHECKING:
    from ..model import Model

NAME = "load_shedding"
GROUP = "variables"
APPLIES_TO = ("ACOPF", "DCOPF", "ED", "SOCP")
PARAMETERS = {
    "voll": each(positive("Value of lost load", "$/MWh"), "bus"),
    "power_factor": choice(
        "Reactive demand goes down with the real demand, or stays", "constant", "unchanged"
    ),
    "max_fraction": positive("Largest share of a load", "1", maximum=1, default=1.0),
}
REQUIRED = ("voll",)
DEFINES = ("shed",)


def apply(model: Model, values: dict[str, Any]) -> None:
    """Inject 0 <= s_i <= max_fraction PD_i at every bus with a demand, at voll s_i.

    With a constant power factor QD goes down by the same share.
    """
    n, load = model.network, model.pd
    demand = ca.fmax(load, 0)
    shed = model.program.variable("shed", n.nb, 0.0, values["max_fraction"] * demand, start=0.0)
    model.inject_p(range(n.nb), shed)
    if model.qg is not None and values["power_factor"] == "constant":
        model.inject_q(range(n.nb), shed * ca.if_else(load > 0, model.qd / load, 0))
    model.program.cost(NAME, model.network.base * dot(per_row(n, values["voll"], "bus"), shed))
    keep(model, NAME, "shed_mw", model.network.base * shed)


report = reporter(NAME)
