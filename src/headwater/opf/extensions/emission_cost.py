"""Price on the emissions of all generators.

The polynomial and exponential curve is that of economic emission dispatch: J. H. Talaq,
F. El-Hawary, M. E. El-Hawary, IEEE Transactions on Power Systems 9 (1994) 1508.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ._common import dot, keep, per_row, reporter
from ._schema import each, number, positive

if TYPE_CHECKING:
    from ..model import Model

NAME = "emission_cost"
GROUP = "objective"
APPLIES_TO = ("ACOPF", "DCOPF", "ED", "SOCP")
PARAMETERS = {
    "price": positive("Price of an emission", "$/t"),
    "beta": each(number("Emission of an output", "t/MWh", default=0.0)),
    "alpha": each(positive("Emission of the squared output", "t/h per MW^2", default=0.0)),
    "gamma": each(number("Emission of a unit in service", "t/h", default=0.0)),
    "zeta": each(positive("Emission that grows exponentially, at no output", "t/h", default=0.0)),
    "lambda": each(number("Its rate of growth", "1/MW", default=0.0)),
}
REQUIRED = ("price",)


def apply(model: Model, values: dict[str, Any]) -> None:
    """Add price sum_g (alpha p^2 + beta p + gamma + zeta e^(lambda p)), p in MW."""
    n, p = model.network, model.network.base * model.pg
    emitted = dot(per_row(n, values["alpha"]), p**2) + dot(per_row(n, values["beta"]), p)
    emitted += per_row(n, values["gamma"]).sum()
    rate, growth = per_row(n, values["zeta"]), per_row(n, values["lambda"])
    for k in np.flatnonzero(rate):
        emitted += rate[k] * ca.exp(growth[k] * p[int(k)])
    keep(model, NAME, "emission_t_per_h", emitted, total=True)
    model.program.cost(NAME, values["price"] * emitted)


report = reporter(NAME)
