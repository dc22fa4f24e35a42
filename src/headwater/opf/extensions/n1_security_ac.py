"""Preventive N-1 security in AC: one dispatch that holds after any single outage.

The program has a copy of the network for every outage (O. Alsac, B. Stott, IEEE Transactions on
Power Apparatus and Systems 93 (1974) 745). In it units keep their real power and their voltage;
those at the reference bus take up the change of losses, reactive power is free within limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._common import take
from ._outages import copy, described, outages
from ._schema import branches, positive

if TYPE_CHECKING:
    from ..model import Model
    from ..program import Raw

NAME = "n1_security_ac"
GROUP = "constraints"
APPLIES_TO = ("ACOPF",)
PARAMETERS = {
    "contingencies": branches("Branches that may fail one at a time", "all_non_islanding_branches"),
    "emergency_factor": positive(
        "Share of the rating allowed after an outage", "1", exclusiveMinimum=0, default=1.0
    ),
    "voltage_margin": positive(
        "How far beyond its limits a voltage may be after an outage", "p.u.", default=0.0
    ),
}
REQUIRED = ()
DEFINES = ("outage",)
EXCLUDES = ("tap_phase_optimisation", "soft_line_limits")


def apply(model: Model, values: dict[str, Any]) -> None:
    """Choose the outages; the copies come when all injections are known."""
    model.__dict__["outages"] = outages(model, values["contingencies"], NAME)


def couple(models: Sequence[Model], values: dict[str, Any]) -> None:
    """Add the network after every outage, with the units tied to their dispatch."""
    for model in models:
        n = model.network
        free = np.isin(n.at, n.reference)
        follow = np.flatnonzero(~free)
        held = np.unique(n.at)
        for number, branch in enumerate(model.__dict__["outages"][0]):
            after = copy(model, int(branch), number)
            after.rate = values["emergency_factor"] * after.rate
            after.vmin -= values["voltage_margin"]
            after.vmax += values["voltage_margin"]
            change = take(after.pg, follow) - take(model.pg, follow)
            after.program.constrain("kept_power", change, 0.0, 0.0)
            change = take(after.vm, held) - take(model.vm, held)
            after.program.constrain("kept_voltage", change, 0.0, 0.0)
            after.finish()


def report(model: Model, raw: Raw) -> dict[str, Any]:
    """Return the outages that were looked at, and those that would split the network."""
    return described(model, *model.__dict__["outages"])
