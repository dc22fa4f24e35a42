"""Several periods one after another, with profiles of demand.

The program holds one copy of the model for each period; the costs of a period count its hours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.core.errors import InputError

from ._common import bus_index
from ._schema import bus, objects, positive

if TYPE_CHECKING:
    from ..model import Model
    from ..network import Network

NAME = "horizon"
GROUP = "variables"
APPLIES_TO = ("ACOPF", "DCOPF", "ED", "SOCP")
PARAMETERS = {
    "load_multipliers": {
        "type": "array",
        "items": {"type": "number", "minimum": 0},
        "minItems": 1,
        "description": "Factor on every demand, one for each period (1)",
    },
    "hours": positive("Length of a period", "h", exclusiveMinimum=0, default=1.0),
    "profiles": objects(
        "Demand of single buses, one value for each period",
        {
            "bus": bus("Bus"),
            "pd_mw": {
                "type": "array",
                "items": {"type": "number"},
                "minItems": 1,
                "description": "Real demand (MW); the reactive demand keeps the power factor",
            },
        },
        ("bus", "pd_mw"),
    ),
}
REQUIRED = ("load_multipliers",)
DEFINES = ("period",)


def periods(values: Mapping[str, Any]) -> int:
    """Return the number of periods.

    Raises
    ------
    InputError
        If a profile has another number of values.
    """
    count = len(values["load_multipliers"])
    for k, profile in enumerate(values.get("profiles", ())):
        if len(profile["pd_mw"]) != count:
            raise InputError(
                None,
                f"{NAME}, profiles[{k}].pd_mw",
                f"{len(profile['pd_mw'])} values",
                f"{count}, one for each load multiplier",
            )
    return count


def demand(
    network: Network, values: Mapping[str, Any], period: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return real and reactive demand of every bus in a period, p.u.

    A multiplier acts on every bus; a profile replaces the demand of its bus, whose reactive
    demand keeps its ratio to the real one.
    """
    numbers = network.values()
    factor = np.full(network.nb, float(values["load_multipliers"][period]))
    pd, qd = numbers["pd"] * factor, numbers["qd"] * factor
    for profile in values.get("profiles", ()):
        i = bus_index(network, profile["bus"], f"{NAME}, profiles")
        given, before = profile["pd_mw"][period] / network.base, numbers["pd"][i]
        qd[i] = numbers["qd"][i] * given / before if before else numbers["qd"][i]
        pd[i] = given
    return pd, qd


def apply(model: Model, values: dict[str, Any]) -> None:
    """Do nothing: the periods are there before the extensions are applied to each."""
