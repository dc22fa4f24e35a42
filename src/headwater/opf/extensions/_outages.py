"""Copies of a model without one branch, for security in the same program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ..sensitivity import lodf, network_grid
from ._common import branch_indices, branch_names

if TYPE_CHECKING:
    from ..model import Model
    from ..network import Network


def outages(model: Model, wanted: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the branches whose loss is looked at, and those that would split the network."""
    n = model.network
    with n.unwatched():
        grid = network_grid(n, model.convention)
    _, kept, islanding = lodf(grid, branch_indices(n, wanted, f"{name}, contingencies"))
    return kept, islanding


def without(network: Network, branch: int) -> Network:
    """Return a network without one branch; buses, units and islands stay."""
    kept = np.delete(np.arange(network.nl), branch)
    place = np.full(network.nl, -1)
    place[kept] = np.arange(len(kept))
    rated, limited = (place[k] for k in (network.rated, network.angle_limited))
    return replace(
        network,
        branch_rows=network.branch_rows[kept],
        f=network.f[kept],
        t=network.t[kept],
        rated=rated[rated >= 0],
        angle_limited=limited[limited >= 0],
    )


def copy(model: Model, branch: int, number: int) -> Model:
    """Return the model after the loss of a branch, in the same program.

    It has variables of its own, the loads and injections of the original as they are now, and
    no cost. The caller ties its units to those of the original and calls `Model.finish`.
    """
    n = model.network
    kept = np.delete(np.arange(n.nl), branch).tolist()
    data = dict(model.data)
    for key in ("br_r", "br_x", "br_b", "tap", "shift"):
        data[key] = ca.SX(model.data[key])[kept]
    for key, rows in (("rate", n.rated), ("angmin", n.angle_limited), ("angmax", n.angle_limited)):
        if key in data:
            data[key] = ca.SX(data[key])[np.flatnonzero(rows != branch).tolist()]
    after = type(model)(
        model.program.root,
        without(n, branch),
        data,
        convention=model.convention,
        loads=model.loads,
        prefix=f"{model.program.prefix}outage{number}.",
        period=model.period,
        hours=model.hours,
        load=(model.pd, model.qd),
    )
    after.generation = False
    after.injection_p, after.injection_q = model.injection_p, model.injection_q
    return after


def described(model: Model, looked_at: Sequence[int], islanding: Sequence[int]) -> dict[str, Any]:
    """Return the extras: which outages were looked at, which left out."""
    return {
        "contingencies": branch_names(model.network, looked_at),
        "islanding": branch_names(model.network, islanding),
    }
