"""A network in all formulations, beside published optima.

S. Babaeinejadsarookolaee et al., The Power Grid Library for Benchmarking AC Optimal Power Flow
Algorithms, arXiv 1908.02788: AC and DC optimum (DC without taps and shifts), and the gap of the
second-order cone relaxation, (AC - SOC) / AC in percent.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .case import Case
from .engine import Options, solve
from .solution import Solution

if TYPE_CHECKING:
    import pandas as pd

FORMULATIONS = {
    "ac": ("ACOPF", "matpower"),
    "dc_matpower": ("DCOPF", "matpower"),
    "dc_powermodels": ("DCOPF", "powermodels"),
    "socp": ("SOCP", "matpower"),
}
FIVE_DIGITS = 5e-5  # half a unit of the last of five digits
GAP_POINTS = 0.03
COLUMNS = ("case", "quantity", "ours", "published", "difference", "agrees", "status", "solve_s")


def solve_formulations(
    case: Case,
    options: Options | None = None,
    log: logging.Logger | None = None,
    names: Sequence[str] = tuple(FORMULATIONS),
) -> dict[str, Solution]:
    """Return the solutions of a case: ``ac``, ``dc_matpower``, ``dc_powermodels``, ``socp``."""
    options = options or Options()
    found = {}
    for name in names:
        formulation, convention = FORMULATIONS[name]
        chosen = replace(options, dc_convention=convention)
        found[name] = solve(case, {"formulation": formulation}, chosen)
        if log is not None:
            log.info("%s %s: %s %s", case.name, name, found[name].status, found[name].objective)
    return found


def gap(ac: float | None, relaxed: float | None) -> float | None:
    """Return the gap of a relaxation in percent."""
    return None if ac is None or relaxed is None else 100 * (ac - relaxed) / ac


def baseline_check(
    solutions: Mapping[str, Mapping[str, Solution]], published: Mapping[str, Mapping[str, float]]
) -> pd.DataFrame:
    """Return one row for each case and quantity: ours, published, and whether they agree.

    Parameters
    ----------
    solutions : mapping
        By case, what `solve_formulations` returns.
    published : mapping
        By case: ``ac``, ``dc`` ($/h, infinite where infeasible) and ``soc_gap`` (percent).

    Returns
    -------
    DataFrame
        ``difference`` is relative for objectives, percentage points for the gap.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for case, found in solutions.items():
        known = published[case]
        for quantity, name in (("ac", "ac"), ("dc", "dc_powermodels")):
            if name in found:
                rows.append(_objective(case, quantity, found[name], known[quantity]))
        if "socp" in found and "ac" in found:
            ours = gap(found["ac"].objective, found["socp"].objective)
            off = np.nan if ours is None else ours - known["soc_gap"]
            rows.append(
                _row(case, "soc_gap", ours, known["soc_gap"], off, GAP_POINTS, found["socp"])
            )
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _objective(case: str, quantity: str, found: Solution, known: float) -> dict[str, Any]:
    if np.isinf(known):
        row = _row(case, quantity, found.objective, known, np.nan, FIVE_DIGITS, found)
        return row | {"agrees": found.status == "infeasible"}
    off = np.nan if found.objective is None else found.objective / known - 1
    return _row(case, quantity, found.objective, known, off, FIVE_DIGITS, found)


def _row(
    case: str,
    quantity: str,
    ours: float | None,
    known: float,
    off: float,
    most: float,
    found: Solution,
) -> dict[str, Any]:
    return {
        "case": case,
        "quantity": quantity,
        "ours": ours,
        "published": known,
        "difference": off,
        "agrees": bool(abs(off) <= most),
        "status": found.status,
        "solve_s": found.times.get("solve_s", np.nan),
    }
