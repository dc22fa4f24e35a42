"""Branch limits that may be exceeded at a price."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ._common import branch_indices, keep, places, reporter
from ._schema import branches, positive

if TYPE_CHECKING:
    from ..model import Model

NAME = "soft_line_limits"
GROUP = "constraints"
APPLIES_TO = ("ACOPF", "DCOPF", "SOCP")
PARAMETERS = {
    "penalty": positive("Price of an excess", "$/MW per hour, $/MVA in AC"),
    "max_excess": positive("Largest excess; none by default", "MW, MVA in AC"),
    "branches": branches("Branches with a soft limit", "all"),
}
REQUIRED = ("penalty",)
DEFINES = ("rate_slack",)


def apply(model: Model, values: dict[str, Any]) -> None:
    """Raise limits by 0 <= s_l, at penalty s_l."""
    n, base = model.network, model.network.base
    soft = np.intersect1d(n.rated, branch_indices(n, values["branches"], NAME))
    most = values.get("max_excess", np.inf) / base
    excess = model.program.variable("rate_slack", len(soft), 0.0, most, start=0.0)
    model.rate_slack += places(soft, n.nl) @ excess
    model.program.cost(NAME, values["penalty"] * base * ca.sum1(excess))
    keep(model, NAME, "excess_mva", base * (places(soft, n.nl) @ excess))


report = reporter(NAME)
