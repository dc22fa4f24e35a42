"""Units are switched on and off, with minimum times and start costs.

States u, starts v and stops w (D. Rajan, S. Takriti, IBM Research Report RC23628, 2005):

    u_t - u_(t-1) = v_t - w_t,  PMIN u <= p <= PMAX u,
    sum of v over the last min_up hours <= u_t,  sum of w over the last min_down hours <= 1 - u_t.

The constant c0 of a cost curve counts while a unit is on. Given binary states, starts and stops
need not be declared integer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ._common import column, keep, kept, per_row, reporter
from ._schema import each, listed, positive

if TYPE_CHECKING:
    from ..model import Model
    from ..network import Network

NAME = "unit_commitment"
GROUP = "variables"
APPLIES_TO = ("DCOPF", "ED")
PARAMETERS = {
    "startup_cost": each(positive("Cost of a start; STARTUP of the case by default", "$")),
    "shutdown_cost": each(positive("Cost of a stop; SHUTDOWN of the case by default", "$")),
    "min_up_h": each(positive("Least time on after a start", "h", default=0.0)),
    "min_down_h": each(positive("Least time off after a stop", "h", default=0.0)),
    "initial_on": {
        "type": "array",
        "items": {"enum": [0, 1]},
        "minItems": 1,
        "description": "State before the first period, in file order; free by default",
        "x-each": "gen",
    },
    "initial_hours": listed(
        positive("Hours in that state before the first period; long enough by default", "h")
    ),
}
REQUIRED = ()
DEFINES = ("commitment",)


def apply(model: Model, values: dict[str, Any]) -> None:
    """Make the range of every unit, and its constant cost, depend on its state."""
    on = model.program.variable("on", model.network.ng, 0, 1, start=1.0, integer=True)
    model.commit(on)
    keep(model, NAME, "on", on)


def couple(models: Sequence[Model], values: dict[str, Any]) -> None:
    """Add starts and stops between the periods, their costs and their minimum times."""
    n = models[0].network
    on = [kept(m, NAME, "on") for m in models]
    before: list[Any] = [None, *on[:-1]]
    if "initial_on" in values:
        before[0] = column(per_row(n, values["initial_on"]))
        _held(models, on, values)
    starts, stops = [], []
    for model, now, was in zip(models, on, before, strict=True):
        most = 0.0 if was is None else 1.0
        starts.append(model.program.variable("start", n.ng, 0.0, most))
        stops.append(model.program.variable("stop", n.ng, 0.0, most))
        if was is not None:
            model.program.constrain("switch", now - was - starts[-1] + stops[-1], 0.0, 0.0)
        keep(model, NAME, "start", starts[-1])
        keep(model, NAME, "stop", stops[-1])
    _switching_costs(models, {"startup_cost": starts, "shutdown_cost": stops}, values)
    _minimum(models, starts, on, per_row(n, values["min_up_h"]), "min_up")
    off = [1 - state for state in on]
    _minimum(models, stops, off, per_row(n, values["min_down_h"]), "min_down")


def _switching_costs(
    models: Sequence[Model], events: dict[str, list[ca.SX]], values: dict[str, Any]
) -> None:
    """Add the cost of starts and stops, $ each: the hours of a period do not count."""
    for k, (key, happened) in enumerate(events.items(), start=1):

        def price(network: Network, key: str = key, k: int = k) -> np.ndarray:
            listed = network.case.gencost[: len(network.case.gen), k]
            return per_row(network, values.get(key, listed))

        each_one = models[0].parameter(key, price)
        for event in happened:
            models[0].program.root.cost(key, ca.dot(each_one, event))


def _minimum(
    models: Sequence[Model],
    events: list[ca.SX],
    states: list[ca.SX],
    least: np.ndarray,
    family: str,
) -> None:
    """Require a state in every period that begins less than `least` hours after its event."""
    begins = np.concatenate([[0.0], np.cumsum([m.hours for m in models])])
    for t, model in enumerate(models):
        for g in np.flatnonzero(least > 0):
            recent = [s for s in range(t + 1) if begins[t] - begins[s] < least[g] - 1e-9]
            total = sum((events[s][int(g)] for s in recent), ca.SX(0))
            model.program.constrain(family, total - states[t][int(g)], upper=0.0)


def _held(models: Sequence[Model], on: list[ca.SX], values: dict[str, Any]) -> None:
    """Keep a unit in its first state for the rest of its minimum time."""
    n = models[0].network
    begins = np.concatenate([[0.0], np.cumsum([m.hours for m in models])])
    state = per_row(n, values["initial_on"])
    since = per_row(n, values.get("initial_hours", np.inf))
    least = np.where(state > 0.5, per_row(n, values["min_up_h"]), per_row(n, values["min_down_h"]))
    for t, model in enumerate(models):
        held = np.flatnonzero(least - since > begins[t] + 1e-9)
        for g in held:
            model.program.constrain("initial", on[t][int(g)], state[g], state[g])


report = reporter(NAME)
