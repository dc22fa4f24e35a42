"""Storage units that carry energy from one period to the next.

Charging and discharging at once is not forbidden: with losses it never pays at positive prices,
and where prices are negative it is a way to burn energy that a real unit may not have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca

from ._common import bus_index, column, keep, kept, reporter
from ._schema import bus, number, objects, positive

if TYPE_CHECKING:
    from ..model import Model

NAME = "storage"
GROUP = "variables"
APPLIES_TO = ("ACOPF", "DCOPF", "ED", "SOCP")
PARAMETERS = {
    "units": objects(
        "Storage units",
        {
            "bus": bus("Bus where it is connected"),
            "energy_mwh": positive("Capacity", "MWh"),
            "charge_mw": positive("Largest charging power", "MW"),
            "discharge_mw": positive("Largest discharging power; charge_mw by default", "MW"),
            "charge_efficiency": number(
                "Stored share of the charged energy",
                "1",
                exclusiveMinimum=0,
                maximum=1,
                default=1.0,
            ),
            "discharge_efficiency": number(
                "Delivered share of the stored energy",
                "1",
                exclusiveMinimum=0,
                maximum=1,
                default=1.0,
            ),
            "initial_mwh": positive("Energy at the start and at the end", "MWh", default=0.0),
        },
        ("bus", "energy_mwh", "charge_mw"),
    ),
}
REQUIRED = ("units",)
DEFINES = ("charge", "discharge", "energy")
NEEDS = ("horizon",)


def apply(model: Model, values: dict[str, Any]) -> None:
    """Inject discharge less charge at the bus of every unit."""
    units, n = values["units"], model.network
    at = [bus_index(n, u["bus"], f"{NAME}, units") for u in units]
    most = {
        "charge": column([u["charge_mw"] for u in units]) / n.base,
        "discharge": column([u.get("discharge_mw", u["charge_mw"]) for u in units]) / n.base,
        "energy": column([u["energy_mwh"] for u in units]) / n.base,
    }
    for name, upper in most.items():
        symbol = model.program.variable(name, len(units), 0.0, upper, start=0.1 * upper)
        keep(model, NAME, f"{name}_mw" + "h" * (name == "energy"), n.base * symbol)
    power = kept(model, NAME, "discharge_mw") - kept(model, NAME, "charge_mw")
    model.inject_p(at, power / n.base)


def couple(models: Sequence[Model], values: dict[str, Any]) -> None:
    """Require E_t = E_(t-1) + hours (eta_c c_t - d_t / eta_d), and E at the end as at the start."""
    units, base = values["units"], models[0].network.base
    first = column([u.get("initial_mwh", 0.0) for u in units])
    stored = column([u.get("charge_efficiency", 1.0) for u in units])
    given = column([u.get("discharge_efficiency", 1.0) for u in units])
    before = ca.SX(first)
    for model in models:
        charge, discharge, energy = (
            kept(model, NAME, name) for name in ("charge_mw", "discharge_mw", "energy_mwh")
        )
        change = model.hours * (stored * charge - discharge / given)
        model.program.constrain("storage", (energy - before - change) / base, 0.0, 0.0)
        before = energy
    models[-1].program.constrain("storage_end", (before - first) / base, 0.0, 0.0)


report = reporter(NAME)
