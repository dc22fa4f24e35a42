"""Frequency after the loss of a unit: its rate of change and its lowest point.

Loss of P MW leaves the stored energy E = sum H S of the other units (MW s). The rate of change is
f0 P / (2 E); with a response that rises to R within T the lowest point is
f0 P^2 T / (4 E R) below f0 (L. Badesa, F. Teng, G. Strbac, IEEE Transactions on Power Systems 34
(2019) 2845, without damping). The first is linear in P also when E depends on commitment; the
second is a cone in (P, R).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from headwater.core.errors import InputError

from ._common import column, keep, per_row, reporter
from ._schema import each, number, positive

if TYPE_CHECKING:
    from ..model import Model

NAME = "frequency_security"
GROUP = "constraints"
APPLIES_TO = ("ACOPF", "DCOPF", "ED", "SOCP")
PARAMETERS = {
    "inertia_s": each(positive("Inertia constant H of a unit", "s")),
    "rating_mva": each(positive("Rating S that H refers to", "MVA")),
    "max_rocof_hz_per_s": number("Largest rate of change", "Hz/s", exclusiveMinimum=0),
    "f0_hz": number("Nominal frequency", "Hz", exclusiveMinimum=0, default=50.0),
    "max_deviation_hz": number(
        "Largest deviation; not looked at by default", "Hz", exclusiveMinimum=0
    ),
    "response_mw": each(positive("Most that a unit responds with", "MW")),
    "delivery_s": number("Time of the full response", "s", exclusiveMinimum=0),
}
REQUIRED = ("inertia_s", "rating_mva", "max_rocof_hz_per_s")
DEFINES = ("response_up",)
TOGETHER = ("max_deviation_hz", "response_mw", "delivery_s")


def check(values: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield that only a part of what the lowest point needs is there."""
    given = [k for k in TOGETHER if k in values]
    if given and len(given) < len(TOGETHER):
        missing = next(k for k in TOGETHER if k not in values)
        yield missing, "nothing", f"a value, as {', '.join(given)} is given"


def apply(model: Model, values: dict[str, Any]) -> None:
    """Limit the output of every unit by what its loss would do."""
    n, base = model.network, model.network.base
    energy = per_row(n, values["inertia_s"]) * per_row(n, values["rating_mva"]) / base
    on = ca.SX.ones(n.ng) if model.commitment is None else model.commitment
    stored = column(energy) * on
    others = ca.sum1(stored) - stored
    most = 2 * values["max_rocof_hz_per_s"] / values["f0_hz"]
    model.program.constrain("rocof", model.pg - most * others, upper=0.0)
    if "max_deviation_hz" in values:
        _lowest_point(model, values, energy)
    keep(model, NAME, "stored_energy_mws", base * ca.sum1(stored), total=True)


def _lowest_point(model: Model, values: dict[str, Any], energy: np.ndarray) -> None:
    """Require p^2 <= 4 E R df / (f0 T) and p <= R, E and R those of the other units."""
    if model.commitment is not None:
        raise InputError(
            None,
            f"{NAME}, max_deviation_hz",
            "beside unit_commitment",
            "units in a fixed state: the product of two decisions is no linear program",
        )
    n = model.network
    cap = per_row(n, values["response_mw"]) / n.base
    response = model.program.variable("response_up", n.ng, 0.0, cap)
    model.use_capacity(response)
    left = ca.sum1(response) - response
    model.program.constrain("response_enough", model.pg - left, upper=0.0)
    factor = 4 * values["max_deviation_hz"] / (values["f0_hz"] * values["delivery_s"])
    per_response = column(factor * (energy.sum() - energy))
    if model.formulation == "ACOPF":
        row = model.pg**2 - per_response * left
        model.program.constrain("lowest_frequency", row, upper=0.0)
    else:  # p^2 <= y z as a cone: |(2 p, y - z)| <= y + z
        y = per_response
        model.program.cone(ca.horzcat(2 * model.pg, y - left), y + left)
    keep(model, NAME, "response_mw", n.base * response)


report = reporter(NAME)
