"""Branches may be opened (optimal transmission switching).

E. B. Fisher, R. P. O'Neill, M. C. Ferris, IEEE Transactions on Power Systems 23 (2008) 1346:

    |P_l - b_l (theta_f - theta_t - phi_l)| <= M_l (1 - z_l),  |P_l| <= RATE_l z_l,
    sum_l (1 - z_l) <= max_open.

M_l has to hold for every allowed choice of the other branches. With at most k open, one of k
paths without a common branch stays closed beside l, so that the longest of them bounds the
angle difference; where there are fewer, a path through all buses does.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from headwater.core.errors import InputError

from ..sensitivity import network_grid
from ._common import branch_indices, branch_names, places, take
from ._schema import branches

if TYPE_CHECKING:
    from ..model import Model
    from ..network import Network
    from ..program import Raw

NAME = "transmission_switching"
GROUP = "variables"
APPLIES_TO = ("DCOPF",)
PARAMETERS = {
    "max_open": {
        "type": "integer",
        "minimum": 0,
        "description": "Most branches that may be open (1)",
    },
    "candidates": branches("Branches that may be opened", "all"),
}
REQUIRED = ("max_open",)
DEFINES = ("switch",)


def apply(model: Model, values: dict[str, Any]) -> None:
    """Give every candidate a state z and a flow of its own."""
    n, program, most = model.network, model.program, values["max_open"]
    chosen = branch_indices(n, values["candidates"], f"{NAME}, candidates")
    if not len(chosen):
        return
    convention = model.convention
    largest = model.parameter("largest_flow", lambda m: largest_flow(m)[chosen])
    turn = model.parameter("largest_angle", lambda m: largest_angle(m, convention, chosen, most))
    far = model.parameter("big_m", lambda m: big_m(m, convention, chosen, most))
    closed = program.variable("switch", len(chosen), 0, 1, start=1.0, integer=True)
    flow = program.variable("switched_flow", len(chosen))
    gap = flow - take(model.pf, chosen)
    program.constrain("switch_angle", gap + far * closed - far, upper=0.0)
    program.constrain("switch_angle", -gap + far * closed - far, upper=0.0)
    program.constrain("switch_flow", flow - largest * closed, upper=0.0)
    program.constrain("switch_flow", -flow - largest * closed, upper=0.0)
    program.constrain("switch_count", len(chosen) - ca.sum1(closed), upper=float(most))
    put = places(chosen, n.nl)
    others = np.ones(n.nl)
    others[chosen] = 0.0
    model.pf = ca.DM(others) * model.pf + put @ flow
    model.closed = ca.DM(others) + put @ closed
    model.angle_slack += put @ (turn * (1 - closed))


def report(model: Model, raw: Raw) -> dict[str, Any]:
    """Return the branches that were opened."""
    status = np.asarray(raw.value(model.closed)).ravel()
    return {"open": branch_names(model.network, np.flatnonzero(status < 0.5))}


def largest_flow(network: Network) -> np.ndarray:
    """Return the most that each branch can carry, p.u.: its rating, or all power there is.

    A flow driven by angles has no cycles, so no branch carries more than all that is injected;
    phase shifters may add what they drive around.

    Raises
    ------
    InputError
        If a branch has no rating and one has a negative reactance: then nothing bounds it.
    """
    v = network.values()
    if (v["br_x"] < 0).any() and len(network.rated) < network.nl:
        negative = branch_names(network, np.flatnonzero(v["br_x"] < 0))[0]
        raise InputError(
            None,
            f"{NAME}, {network.source.name}",
            f"branch {negative} with a negative reactance beside branches without a rating",
            "a bound on every flow",
            "Give every branch a RATE_A.",
        )
    limits = np.abs(np.concatenate([v["pmin"], v["pmax"]]))
    total = np.abs(v["pd"]).sum() + limits[np.isfinite(limits)].sum()
    total += np.abs(v["shift"] / v["br_x"]).sum()
    found = np.full(network.nl, total)
    found[network.rated] = np.minimum(v["rate"], total)
    return found


def largest_angle(network: Network, convention: str, chosen: np.ndarray, most: int) -> np.ndarray:
    """Return the largest angle difference over the branches that may be opened, radians."""
    b = np.abs(network_grid(network, convention).b)
    v = network.values()
    width = largest_flow(network) / b + _shift(network, convention)
    rows = network.angle_limited  # a limit on both sides may be tighter than the rating
    limit = np.maximum(np.abs(v["angmin"]), np.abs(v["angmax"]))
    width[rows] = np.minimum(width[rows], limit)
    around = np.sort(width)[::-1][: network.nb - 1].sum()
    spans = [_span(network, width, int(k), max(1, most)) for k in chosen]
    return np.array([around if s is None else min(s, around) for s in spans])


def big_m(network: Network, convention: str, chosen: np.ndarray, most: int) -> np.ndarray:
    """Return M_l of the branches that may be opened, p.u."""
    angle = largest_angle(network, convention, chosen, most)
    b = np.abs(network_grid(network, convention).b)
    return b[chosen] * (angle + _shift(network, convention)[chosen])


def _shift(network: Network, convention: str) -> np.ndarray:
    matters = convention == "matpower"
    return np.abs(network.values()["shift"]) if matters else np.zeros(network.nl)


def _span(network: Network, width: np.ndarray, branch: int, count: int) -> float | None:
    """Return the longest of `count` paths beside a branch without a common branch."""
    neighbours: list[list[tuple[int, int]]] = [[] for _ in range(network.nb)]
    for k, (f, t) in enumerate(zip(network.f, network.t, strict=True)):
        neighbours[f].append((int(t), k))
        neighbours[t].append((int(f), k))
    used, longest = {branch}, 0.0
    for _ in range(count):
        found = _path(neighbours, width, int(network.f[branch]), int(network.t[branch]), used)
        if found is None:
            return None
        longest = max(longest, found[0])
        used |= found[1]
    return longest


def _path(
    neighbours: list[list[tuple[int, int]]],
    width: np.ndarray,
    start: int,
    end: int,
    used: set[int],
) -> tuple[float, set[int]] | None:
    """Return length and branches of the shortest path (Dijkstra) that avoids used branches."""
    best, came = {start: 0.0}, {}
    queue = [(0.0, start)]
    while queue:
        length, bus = heapq.heappop(queue)
        if bus == end:
            path = set()
            while bus != start:
                bus, branch = came[bus]
                path.add(branch)
            return length, path
        if length > best[bus]:
            continue
        for other, branch in neighbours[bus]:
            new = length + width[branch]
            if branch not in used and new < best.get(other, np.inf):
                best[other], came[other] = new, (bus, branch)
                heapq.heappush(queue, (new, other))
    return None
