"""Corrective N-1 security: after an outage units may move so far, at no cost, to relieve it.

A. Monticelli, M. V. F. Pereira, S. Granville, IEEE Transactions on Power Systems 2 (1987) 175.
The program has a copy of the network for every outage; voltages may be set anew in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._common import column, per_row
from ._outages import copy, described, outages
from ._schema import branches, each, positive

if TYPE_CHECKING:
    from ..model import Model
    from ..program import Raw

NAME = "corrective_security"
GROUP = "constraints"
APPLIES_TO = ("ACOPF", "DCOPF")
PARAMETERS = {
    "contingencies": branches("Branches that may fail one at a time", "all_non_islanding_branches"),
    "corrective_mw": each(positive("Largest change of a unit after an outage", "MW")),
    "emergency_factor": positive(
        "Share of the rating allowed after an outage", "1", exclusiveMinimum=0, default=1.0
    ),
}
REQUIRED = ("corrective_mw",)
DEFINES = ("outage",)
EXCLUDES = (
    "tap_phase_optimisation",
    "transmission_switching",
    "soft_line_limits",
    "unit_commitment",
)


def apply(model: Model, values: dict[str, Any]) -> None:
    """Choose the outages; the copies come when all injections are known."""
    model.__dict__["outages"] = outages(model, values["contingencies"], NAME)


def couple(models: Sequence[Model], values: dict[str, Any]) -> None:
    """Add the network after every outage, with units that may move so far."""
    for model in models:
        n = model.network
        reach = column(per_row(n, values["corrective_mw"]) / n.base)
        for number, branch in enumerate(model.__dict__["outages"][0]):
            after = copy(model, int(branch), number)
            after.rate = values["emergency_factor"] * after.rate
            after.program.constrain("moved", after.pg - model.pg, -reach, reach)
            after.finish()


def report(model: Model, raw: Raw) -> dict[str, Any]:
    """Return the outages that were looked at, and those that would split the network."""
    return described(model, *model.__dict__["outages"])
