"""Branch limits that hold with a probability under uncertain injections.

Phi^-1(1 - eps) standard deviations of the flow are taken off each limit; the flow's deviation
is H_lw times that of the injection, H with the reference bus as slack (D. Bienstock,
M. Chertkov, S. Harnett, SIAM Review 56 (2014) 461). With a proportional response the units
share the error by capacity, and their own limits hold with the same probability.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from ..sensitivity import network_grid, ptdf
from ._common import bus_index, column, keep, lengths, reporter, spread
from ._schema import bus, choice, number, one_or_more, positive

if TYPE_CHECKING:
    from ..model import Model
    from ..network import Network

NAME = "chance_line_limits"
GROUP = "constraints"
APPLIES_TO = ("DCOPF",)
PARAMETERS = {
    "bus": one_or_more(bus("Bus of an uncertain injection, or a list of them")),
    "mean_mw": one_or_more(number("Its expected value, injected there", "MW")),
    "std_mw": one_or_more(positive("Its standard deviation, Gaussian, independent", "MW")),
    "epsilon": number("Probability of a violation", "1", exclusiveMinimum=0, exclusiveMaximum=0.5),
    "sided": choice(
        "Each direction of a branch with epsilon, or both together",
        "individual one-sided",
        "individual two-sided",
    ),
    "response": choice(
        "Who takes up the forecast error: the reference bus, or all units by capacity",
        "reference",
        "proportional",
    ),
}
REQUIRED = ("bus", "mean_mw", "std_mw", "epsilon")
DEFINES = ("rate_margin",)
EXCLUDES = ("transmission_switching",)


def check(values: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield lists that do not go with the buses."""
    return lengths(values, "bus", "mean_mw", "std_mw")


def apply(model: Model, values: dict[str, Any]) -> None:
    """Inject the means and take Phi^-1(1 - eps) |H sigma| off the limits."""
    n, base, convention = model.network, model.network.base, model.convention
    at = [bus_index(n, b, f"{NAME}, bus") for b in np.atleast_1d(values["bus"])]
    mean, std = (spread(values[k], len(at)) / base for k in ("mean_mw", "std_mw"))
    model.inject_p(at, column(mean))
    tail = values["epsilon"] / (2 if values["sided"] == "individual two-sided" else 1)
    z = NormalDist().inv_cdf(1 - tail)
    together = values["response"] == "proportional"

    def margin(network: Network) -> np.ndarray:
        factors = ptdf(network_grid(network, convention), at)
        if together:
            share = shares(network, at)
            factors = factors - ptdf(network_grid(network, convention), network.at) @ share
        return z * np.sqrt(factors**2 @ std**2)

    taken = model.parameter("chance_margin", margin)
    model.rate_margin += taken
    keep(model, NAME, "rate_margin_mw", base * taken)
    if together:
        room = model.parameter("chance_room", lambda m: z * np.sqrt(shares(m, at) ** 2 @ std**2))
        model.use_capacity(room)
        model.use_capacity_down(room)
        keep(model, NAME, "unit_margin_mw", base * room)


def shares(network: Network, at: list[int]) -> np.ndarray:
    """Return what each unit takes up of an error at each bus: PMAX_g / sum PMAX of the island."""
    capacity = np.maximum(network.values()["pmax"], 0.0)
    share = capacity[:, None] * (network.island[network.at][:, None] == network.island[at][None, :])
    return share / np.maximum(share.sum(0), 1e-300)


report = reporter(NAME)
