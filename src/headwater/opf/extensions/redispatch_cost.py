"""Least cost of moving units away from a schedule, in place of the cost of generation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ._common import dot, keep, per_row, reporter
from ._schema import each, listed, number, positive

if TYPE_CHECKING:
    from ..model import Model
    from ..network import Network

NAME = "redispatch_cost"
GROUP = "objective"
APPLIES_TO = ("ACOPF", "DCOPF", "ED", "SOCP")
PARAMETERS = {
    "up": each(positive("Price of a rise", "$/MW per hour")),
    "down": each(number("Price of a fall, negative where it earns", "$/MW per hour")),
    "schedule_mw": listed(number("Scheduled output; PG of the case by default", "MW")),
}
REQUIRED = ("up", "down")
DEFINES = ("redispatch",)
OPERATIONS = ("replace", "add")


def check(values: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield prices with which moving up and down at once would earn without end."""
    both = np.atleast_1d(values["up"]) + np.atleast_1d(values["down"])
    if (both < 0).any():
        yield "down", f"up + down = {both.min():g}", "at least 0"


def apply(model: Model, values: dict[str, Any]) -> None:
    """Write p_g = p0_g + u_g - d_g with u, d >= 0, at up u + down d."""
    n, program = model.network, model.program
    scheduled = values.get("schedule_mw")

    def schedule(network: Network) -> np.ndarray:
        chosen = network.case.gen["PG"].to_numpy() if scheduled is None else scheduled
        return per_row(network, chosen) / network.base

    start = model.parameter("schedule", schedule)
    up = program.variable("redispatch_up", n.ng, 0.0, start=0.0)
    down = program.variable("redispatch_down", n.ng, 0.0, start=0.0)
    program.constrain("redispatch", model.pg - start - up + down, 0.0, 0.0)
    prices = [per_row(n, values[k]) for k in ("up", "down")]
    program.cost(NAME, n.base * (dot(prices[0], up) + dot(prices[1], down)))
    keep(model, NAME, "up_mw", n.base * up)
    keep(model, NAME, "down_mw", n.base * down)


report = reporter(NAME)
