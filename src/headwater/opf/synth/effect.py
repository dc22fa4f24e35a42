"""First-order estimates of how much a change moves the optimum, relative to it."""

from __future__ import annotations

import numpy as np

from .candidates import COSTS, Candidate
from .system import Point, System

BINDING = 1e-3


def estimate(system: System, point: Point, one: Candidate, new: np.ndarray) -> float:
    """Return the estimated relative change of the optimum.

    Parameters
    ----------
    new : ndarray
        New values of the rows of the candidate.

    Returns
    -------
    float
        ``|price * change| / cost``; `BINDING` for a limit that would cut into what the optimum
        uses, where the price of the limit is not known; 0 for one that would not.
    """
    rows = list(one.rows)
    old = np.array(one.values)
    rule = {"bus": _bus, "gen": _gen, "branch": _branch}[one.component]
    change = rule(system, point, one.field, np.array(rows), old, new)
    return float(np.sum(np.abs(change))) / max(abs(point.cost), 1e-6)


def _bus(
    system: System, point: Point, field: str, rows: np.ndarray, old: np.ndarray, new: np.ndarray
) -> np.ndarray:
    v2 = point.vm[rows] ** 2
    if field in ("PD", "GS"):
        return point.price[rows] * (new - old) * (v2 if field == "GS" else 1.0)
    if field in ("QD", "BS"):
        return point.price_q[rows] * (new - old) * (v2 if field == "BS" else 1.0)
    return _limit(point, point.vm[rows], old, new, field, point.limit[field][rows])


def _limit(
    point: Point,
    used: np.ndarray,
    old: np.ndarray,
    new: np.ndarray,
    field: str,
    price: np.ndarray,
) -> np.ndarray:
    """Return the effect of moving a limit: its price, or `BINDING` where it is cut into anew."""
    sign = -1.0 if field.endswith("MIN") else 1.0
    cut = sign * used > sign * new
    return np.where(price > 0, price * (new - old), np.where(cut, BINDING * point.cost, 0.0))


def _gen(
    system: System, point: Point, field: str, rows: np.ndarray, old: np.ndarray, new: np.ndarray
) -> np.ndarray:
    pg, qg = point.pg[rows], point.qg[rows]
    if field in COSTS:
        return (new - old) * pg ** COSTS[field]
    if field == "GEN_STATUS":
        return np.where(np.abs(pg) > 1e-3, BINDING * point.cost, 0.0)
    used = pg if field in ("PMAX", "PMIN") else qg
    return _limit(point, used, old, new, field, point.limit[field][rows])


def _branch(
    system: System, point: Point, field: str, rows: np.ndarray, old: np.ndarray, new: np.ndarray
) -> np.ndarray:
    flow, f, t = point.flow[rows], *system.ends[rows].T
    if field == "RATE_A":
        return _limit(point, flow, old, new, field, point.mu[rows])
    if field == "BR_R":
        return point.price[f] * point.loss[rows] * (new / old - 1)
    if field == "BR_B":
        v2 = point.vm[f] ** 2
        return point.price_q[f] * v2 * (new - old) * system.case.base_mva
    if field in ("ANGMIN", "ANGMAX"):
        gap = point.va[f] - point.va[t]
        return _limit(point, gap, old, new, field, np.zeros(len(rows)))
    # a changed path for the flow, felt where prices differ or much flows
    spread = np.abs(point.price[f] - point.price[t]) * flow
    heavy = flow > np.median(point.flow)
    return np.where(heavy, np.maximum(0.3 * spread, 2 * BINDING * point.cost * heavy), spread)
