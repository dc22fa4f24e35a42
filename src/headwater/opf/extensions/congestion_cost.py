"""Price on the mean loading of the branches with a rating."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca

from ._common import keep, reporter, take
from ._schema import positive

if TYPE_CHECKING:
    from ..model import Model

NAME = "congestion_cost"
GROUP = "objective"
APPLIES_TO = ("ACOPF", "DCOPF", "SOCP")
PARAMETERS = {
    "price": positive("Price of a mean loading of 1", "$ per hour"),
}
REQUIRED = ("price",)
DEFINES = ("loading",)


def apply(model: Model, values: dict[str, Any]) -> None:
    """Add price mean_l u_l, with u_l at least the loading of both ends of a rated branch.

    The loading is |P| / RATE in DC and |S| / RATE in AC. A price pushes u down onto it; the
    variable keeps the problem smooth where a flow is zero.
    """
    n = model.network
    rate = take(model.rate, n.rated)
    loading = model.program.variable("loading", len(n.rated), 0.0, start=0.5)
    ends = [[take(flow, n.rated) for flow in end] for end in _ends(model)]
    for end in ends:
        if model.formulation == "DCOPF":
            model.program.constrain("loading", end[0] - rate * loading, upper=0.0)
            model.program.constrain("loading", -end[0] - rate * loading, upper=0.0)
        elif model.formulation == "SOCP":
            model.program.cone(ca.horzcat(*end), rate * loading)
        else:
            squared = end[0] ** 2 + end[1] ** 2
            model.program.constrain("loading", squared / rate**2 - loading**2, upper=0.0)
    model.program.cost(NAME, values["price"] * ca.sum1(loading) / max(1, len(n.rated)))
    keep(model, NAME, "loading", loading)


def _ends(model: Model) -> list[tuple[Any, ...]]:
    if model.formulation == "DCOPF":
        return [(model.pf,)]
    return [(model.pf, model.qf), (model.pt, model.qt)]


report = reporter(NAME)
