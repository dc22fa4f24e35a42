"""Why there is no solution, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .case import Case
from .findings import Finding
from .network import Network

if TYPE_CHECKING:
    from .elastic import Point

WORDS = {
    "unbounded": "the objective has no lower bound",
    "iteration_limit": "the solver stopped at its limit of iterations",
    "time_limit": "the solver stopped at its time limit",
    "numerical_error": "the solver failed",
}
NEXT = {
    "unbounded": "Look for a cost that falls without end, or for a missing limit.",
    "iteration_limit": "Raise max_iterations.",
    "time_limit": "Raise time_limit_s.",
    "numerical_error": "Look at the units of the numbers that were changed last.",
}
SHOWN = 10
UNKNOWN = "no point satisfies all constraints"


def diagnosis(
    case: Case, network: Network, status: str, point: Point | None, loads: np.ndarray | None = None
) -> list[Finding]:
    """Return what can be said about a problem without a solution.

    Parameters
    ----------
    case, network
    status : str
        Of the solver.
    point : Point or None
        The point nearest to feasibility.
    loads : ndarray (nb), optional
        Largest demand of every bus over the periods, MW; that of the case by default.
    """
    if status != "infeasible":
        text, hint = WORDS.get(status, status), NEXT.get(status, "")
        return [Finding("status", status, case.name, text, "an optimum", hint)]
    found = list(_capacity(case, network, loads))
    if point is not None and not point.feasible:
        found.append(_missing(case, network, point))
    if not found:
        hint = "Loosen limits of voltages, flows, angles or of the extensions, one kind at a time."
        found.append(Finding("status", status, case.name, UNKNOWN, "a feasible problem", hint))
    return found


def _capacity(case: Case, network: Network, loads: np.ndarray | None) -> list[Finding]:
    """Compare demand with capacity, island by island."""
    demand = case.column("bus", "PD")[network.bus_rows] if loads is None else loads
    most, least = (case.column("gen", name)[network.gen_rows] for name in ("PMAX", "PMIN"))
    found = []
    count = int(network.island.max(initial=-1)) + 1
    for k in range(count):
        here = network.island == k
        need = float(demand[here].sum())
        units = here[network.at]
        high, low = float(most[units].sum()), float(least[units].sum())
        place = ""
        if count > 1:
            numbers = network.numbers[here]
            shown = ", ".join(map(str, numbers[:SHOWN])) + (", ..." if len(numbers) > SHOWN else "")
            place = f" of the island of bus {shown}"
        total = "total demand" if count == 1 else "demand"
        if need > high + 1e-6:
            found.append(
                Finding(
                    "status",
                    "infeasible",
                    case.name,
                    f"{total} of {need:.6g} MW{place} exceeds the installed capacity of"
                    f" {high:.6g} MW",
                    "capacity for demand and losses",
                    "Lower the demand, add capacity, or allow load_shedding.",
                )
            )
        elif low > need + 1e-6 and low > 0:
            found.append(
                Finding(
                    "status",
                    "infeasible",
                    case.name,
                    f"minimum output of {low:.6g} MW{place} exceeds the demand of {need:.6g} MW",
                    "PMIN that demand takes up",
                    "Switch units off or lower their PMIN.",
                )
            )
    return found


def _missing(case: Case, network: Network, point: Point) -> Finding:
    words = {
        "missing_p": ("MW", "missing"),
        "over_p": ("MW", "too much"),
        "missing_q": ("MVAr", "missing"),
        "over_q": ("MVAr", "too much"),
    }
    parts = []
    for name, values in point.missing.items():
        unit, word = words[name]
        rows = np.argsort(-values, kind="stable")
        rows = rows[values[rows] * network.base > 1e-4][:SHOWN]
        if len(rows):
            total = values.sum() * network.base
            listed = ", ".join(
                f"{values[k] * network.base:.6g} at bus {network.numbers[k]}" for k in rows
            )
            parts.append(f"{total:.6g} {unit} {word} ({listed})")
    return Finding(
        "status",
        "infeasible",
        case.name,
        "even the nearest point has " + "; ".join(parts),
        "balances at every bus",
        "Limits of flows, voltages or angles keep power from these buses; loosen those around"
        " them, or allow load_shedding.",
    )
