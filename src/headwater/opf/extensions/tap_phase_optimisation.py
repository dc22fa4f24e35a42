"""Ratios and phase shifts of transformers as bounded variables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from headwater.core.errors import InputError

from ._common import branch_indices, keep, places, reporter, take
from ._schema import number, objects, positive

if TYPE_CHECKING:
    from ..model import Model

END = {"type": "integer", "minimum": 1}
NAMED = {"fbus": END, "tbus": END, "circuit": END}
NAME = "tap_phase_optimisation"
GROUP = "variables"
APPLIES_TO = ("ACOPF", "DCOPF")
PARAMETERS = {
    "ratios": objects(
        "Transformers with a variable ratio, AC only",
        NAMED
        | {
            "min": positive("Smallest ratio", "1", exclusiveMinimum=0),
            "max": positive("Largest ratio", "1", exclusiveMinimum=0),
        },
        ("fbus", "tbus", "min", "max"),
        "branch",
    ),
    "shifts": objects(
        "Transformers with a variable phase shift",
        NAMED
        | {
            "min_deg": number("Smallest shift", "degrees"),
            "max_deg": number("Largest shift", "degrees"),
        },
        ("fbus", "tbus", "min_deg", "max_deg"),
        "branch",
    ),
}
REQUIRED = ()
DEFINES = ("tap", "shift")
LIMITS = {"ratios": ("min", "max"), "shifts": ("min_deg", "max_deg")}


def check(values: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield crossed ranges, and that there is nothing to control."""
    if not values.get("ratios") and not values.get("shifts"):
        yield "ratios", "neither ratios nor shifts", "at least one transformer"
    for key, (low, high) in LIMITS.items():
        for k, one in enumerate(values.get(key, ())):
            if one[low] > one[high]:
                yield (
                    f"{key}[{k}]",
                    f"{low} {one[low]:g} > {high} {one[high]:g}",
                    f"{low} <= {high}",
                )


def apply(model: Model, values: dict[str, Any]) -> None:
    """Put variables in the place of ratios and shifts.

    Raises
    ------
    InputError
        If the flow of the formulation does not depend on what is to be varied.
    """
    dc = model.formulation == "DCOPF"
    if dc and values.get("ratios"):
        raise _needless("ratios", "ACOPF: the DC model has no voltage to regulate")
    if dc and model.convention != "matpower":
        raise _needless("shifts", "dc_convention matpower: the other one has no shifts")
    if values.get("ratios"):
        model.tap = _replaced(model, model.tap, "tap", values["ratios"], "ratios", 1.0)
        keep(model, NAME, "tap", model.tap)
    if values.get("shifts"):
        before = model.shift
        model.shift = _replaced(model, before, "shift", values["shifts"], "shifts", np.pi / 180)
        if dc:
            through = model.data["br_x"] * model.data["tap"]
            model.pf = model.pf + (before - model.shift) / through
        keep(model, NAME, "shift_deg", model.shift * (180 / np.pi))


def _needless(key: str, expected: str) -> InputError:
    return InputError(None, f"extension_not_applicable, {NAME}, {key}", "values", expected)


def _replaced(
    model: Model, column: ca.SX, name: str, wanted: list[dict[str, Any]], key: str, unit: float
) -> ca.SX:
    n = model.network
    low, high = LIMITS[key]
    rows, lower, upper = [], [], []
    for one in wanted:
        end = {k: one[k] for k in NAMED if k in one}
        for k in branch_indices(n, [end], f"{NAME}, {key}"):
            rows.append(int(k))
            lower.append(one[low] * unit)
            upper.append(one[high] * unit)
    symbol = model.program.variable(name, len(rows), lower, upper)
    others = np.ones(n.nl)
    others[rows] = 0.0
    put = places(rows, n.nl)
    return ca.DM(others) * column + put @ take(symbol, range(len(rows)))


report = reporter(NAME)
