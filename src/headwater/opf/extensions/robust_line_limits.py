"""Branch limits that hold for every injection of a box.

The worst flow of branch l over |d_j| <= Delta_j is sum_j |H_lj| Delta_j away; when at most
`budget` injections deviate at a time it is the sum of the largest ones (D. Bertsimas, M. Sim,
Operations Research 52 (2004) 35). The reference bus takes up the imbalance.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..sensitivity import network_grid, ptdf
from ._common import bus_index, keep, lengths, reporter, spread
from ._schema import buses, one_or_more, positive

if TYPE_CHECKING:
    from ..model import Model
    from ..network import Network

NAME = "robust_line_limits"
GROUP = "constraints"
APPLIES_TO = ("DCOPF",)
PARAMETERS = {
    "buses": buses("Buses of the uncertain injections"),
    "delta_mw": one_or_more(positive("Largest deviation, one or one for each bus", "MW")),
    "budget": {
        "type": "integer",
        "minimum": 1,
        "description": "Most injections that deviate at a time (1); all by default",
    },
}
REQUIRED = ("buses", "delta_mw")
DEFINES = ("rate_margin",)
EXCLUDES = ("transmission_switching",)


def check(values: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield lists that do not go with the buses."""
    return lengths(values, "buses", "delta_mw")


def apply(model: Model, values: dict[str, Any]) -> None:
    """Take the largest flow deviation of the box, or of its budget, off the limits."""
    n, base, convention = model.network, model.network.base, model.convention
    at = [bus_index(n, b, f"{NAME}, buses") for b in values["buses"]]
    delta = spread(values["delta_mw"], len(at)) / base
    count = min(values.get("budget", len(at)), len(at))

    def margin(network: Network) -> np.ndarray:
        parts = np.abs(ptdf(network_grid(network, convention), at)) * delta
        return np.sort(parts, axis=1)[:, len(at) - count :].sum(1)

    taken = model.parameter("robust_margin", margin)
    model.rate_margin += taken
    keep(model, NAME, "rate_margin_mw", base * taken)


report = reporter(NAME)
