"""Preventive N-1 security: every branch within its rating after any single outage.

    |P_l + LODF_lc P_c| <= kappa RATE_l   for all rated l and all c that do not split the network

(A. J. Wood, B. F. Wollenberg, Power Generation, Operation and Control, chapter 11). Of the many
rows few bind: those that a solution violates are added, and it is solved again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..sensitivity import DcGrid, lodf, network_grid
from ._common import branch_indices, branch_names, take
from ._schema import branches, positive

if TYPE_CHECKING:
    from ..model import Model
    from ..network import Network
    from ..program import Raw

NAME = "n1_security"
GROUP = "constraints"
APPLIES_TO = ("DCOPF",)
PARAMETERS = {
    "contingencies": branches("Branches that may fail one at a time", "all_non_islanding_branches"),
    "emergency_factor": positive(
        "Share of the rating allowed after an outage", "1", exclusiveMinimum=0, default=1.0
    ),
}
REQUIRED = ()
EXCLUDES = ("transmission_switching",)
OVERLOAD = 1e-8  # p.u.; a smaller one is not a violated row
ROWS = 2000  # most rows that one solution adds


def apply(model: Model, values: dict[str, Any]) -> None:
    """Add nothing yet: see `refine`."""
    branch_indices(model.network, values["contingencies"], f"{NAME}, contingencies")


def refine(models: Sequence[Model], values: dict[str, Any], raw: Raw) -> bool:
    """Add the rows that a solution violates; True when there were any."""
    added = False
    for model in models:
        pairs = _violated(model, values, np.asarray(raw.value(model.pf)).ravel())
        if len(pairs):
            _add(model, values, pairs)
            added = True
    return added


def report(model: Model, raw: Raw) -> dict[str, Any]:
    """Return how many outages were looked at, which would split the network, and the rows."""
    n = model.network
    every, islanding = model.__dict__.get("n1_outages", ([], []))
    return {
        "contingencies": len(every),
        "islanding": branch_names(n, islanding),
        "rows": model.__dict__.get("n1_rows", 0),
    }


def _violated(model: Model, values: dict[str, Any], flow: np.ndarray) -> np.ndarray:
    """Return (branch, outage) of the rows that flows violate, the worst first."""
    n = model.network
    with n.unwatched():
        chosen = branch_indices(n, values["contingencies"], NAME)
        factors, every, islanding = _factors(network_grid(n, model.convention), tuple(chosen))
        rate = values["emergency_factor"] * n.values()["rate"]
    model.__dict__["n1_outages"] = (every, islanding)
    after = flow[n.rated, None] + factors[n.rated] * flow[every]
    over = np.abs(after) - rate[:, None]
    over[n.rated[:, None] == every[None, :]] = -np.inf
    line, outage = np.nonzero(over > OVERLOAD)
    order = np.argsort(-over[line, outage], kind="stable")[:ROWS]
    return np.column_stack([n.rated[line[order]], every[outage[order]]])


def _add(model: Model, values: dict[str, Any], pairs: np.ndarray) -> None:
    """Add the rows of (branch, outage); their factors follow the numbers of the network."""
    count = model.__dict__.get("n1_rows", 0)
    model.__dict__["n1_rows"] = count + len(pairs)
    convention = model.convention

    def factors(network: Network) -> np.ndarray:
        outages = tuple(np.unique(pairs[:, 1]))
        found, kept, _ = _factors(network_grid(network, convention), outages)
        return found[pairs[:, 0], np.searchsorted(kept, pairs[:, 1])]

    factor = model.parameter(f"n1_factors_{count}", factors)
    flow = take(model.pf, pairs[:, 0]) + factor * take(model.pf, pairs[:, 1])
    limit = values["emergency_factor"] * take(model.rate, pairs[:, 0])
    model.program.constrain(NAME, flow, -limit, limit)


def _factors(grid: DcGrid, outages: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return `lodf`, kept for the last few networks."""
    arrays = (grid.f, grid.t, grid.b, grid.references)
    return _cached(tuple(a.tobytes() for a in arrays), grid.buses, outages)


@lru_cache(maxsize=8)
def _cached(
    arrays: tuple[bytes, ...], buses: int, outages: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    kinds = (int, int, float, int)
    read = [np.frombuffer(a, dtype=kind) for a, kind in zip(arrays, kinds, strict=True)]
    return lodf(DcGrid(*read, buses), outages)
