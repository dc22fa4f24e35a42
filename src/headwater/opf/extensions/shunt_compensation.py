"""Controlled shunts: reactive power from an SVC or a STATCOM at a bus.

An SVC is a susceptance, so its range grows with the squared voltage: B_min v^2 <= q <= B_max v^2.
A STATCOM is a source with a fixed range (N. G. Hingorani, L. Gyugyi, Understanding FACTS, 2000).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ._common import bus_index, column, keep, reporter, take
from ._schema import bus, choice, number, objects

if TYPE_CHECKING:
    from ..model import Model

NAME = "shunt_compensation"
GROUP = "variables"
APPLIES_TO = ("ACOPF", "SOCP")
PARAMETERS = {
    "units": objects(
        "Controlled shunts",
        {
            "bus": bus("Bus where it is connected"),
            "kind": choice("Susceptance or source", "svc", "statcom"),
            "min_mvar": number("Least output at 1 p.u., negative where it draws", "MVAr"),
            "max_mvar": number("Largest output at 1 p.u.", "MVAr"),
        },
        ("bus", "min_mvar", "max_mvar"),
    ),
}
REQUIRED = ("units",)
DEFINES = ("compensation",)


def check(values: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield crossed ranges."""
    for k, unit in enumerate(values["units"]):
        low, high = unit["min_mvar"], unit["max_mvar"]
        if low > high:
            yield f"units[{k}]", f"min_mvar {low:g} > max_mvar {high:g}", "min_mvar <= max_mvar"


def apply(model: Model, values: dict[str, Any]) -> None:
    """Inject the reactive power of every unit."""
    n, units = model.network, values["units"]
    at = [bus_index(n, u["bus"], f"{NAME}, units") for u in units]
    low, high = (column([u[k] for u in units]) / n.base for k in ("min_mvar", "max_mvar"))
    power = model.program.variable("compensation", len(units))
    squared = model.w if model.vm is None else model.vm**2
    for k, unit in enumerate(units):
        grows = take(squared, [at[k]]) if unit.get("kind", "svc") == "svc" else 1.0
        model.program.constrain("compensation_max", power[k] - high[k] * grows, upper=0.0)
        model.program.constrain("compensation_min", power[k] - low[k] * grows, lower=0.0)
    model.inject_q(at, power)
    keep(model, NAME, "reactive_mvar", n.base * power)


report = reporter(NAME)
