"""Check a solution without the solver and without the model's expressions.

Flows are computed again from voltages and angles with complex arithmetic on the tables of the
case, and every limit is looked at in physical units.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .case import PIECEWISE, Case, cost_points, cost_polynomial
from .network import Network

if TYPE_CHECKING:
    import pandas as pd


def generation_cost(case: Case, gen: pd.DataFrame) -> float:
    """Return the cost of a dispatch from gencost, $/h.

    Parameters
    ----------
    case : Case
    gen : DataFrame
        PG (MW) and QG (MVAr) of all rows of the case, with IN_SERVICE.
    """
    total = 0.0
    for block, column in enumerate(("PG", "QG")[: len(case.gencost) // max(1, len(case.gen))]):
        for row in np.flatnonzero(gen["IN_SERVICE"].to_numpy()):
            power = float(gen[column].iloc[row])
            line = row + block * len(case.gen)
            if case.gencost[line, 0] == PIECEWISE:
                x, cost = cost_points(case, line)
                total += float(_interpolated(power, x, cost))
            else:
                powers = power ** np.arange(len(cost_polynomial(case, line)))
                total += float(cost_polynomial(case, line) @ powers)
    return total


def _interpolated(power: float, x: np.ndarray, cost: np.ndarray) -> float:
    """Return the curve at `power`; the first and last segment go on beyond their ends."""
    k = int(np.clip(np.searchsorted(x, power) - 1, 0, len(x) - 2))
    return cost[k] + (cost[k + 1] - cost[k]) / (x[k + 1] - x[k]) * (power - x[k])


def ac_flows(case: Case, network: Network, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return complex power into every branch at its from and to end, MVA.

    Parameters
    ----------
    v : complex array (nb)
        Bus voltages, p.u., in the order of the network.
    """
    branch = case.branch.iloc[network.branch_rows]
    tap = np.where(branch["TAP"] == 0, 1.0, branch["TAP"]) * np.exp(
        1j * np.deg2rad(branch["SHIFT"].to_numpy())
    )
    y = 1 / (branch["BR_R"].to_numpy() + 1j * branch["BR_X"].to_numpy())
    y_tt = y + 0.5j * branch["BR_B"].to_numpy()
    vf, vt = v[network.f], v[network.t]
    i_f = y_tt / abs(tap) ** 2 * vf - y / np.conj(tap) * vt
    i_t = y_tt * vt - y / tap * vf
    return vf * np.conj(i_f) * case.base_mva, vt * np.conj(i_t) * case.base_mva


def dc_flows(case: Case, network: Network, angle: np.ndarray, convention: str) -> np.ndarray:
    """Return the flow of every branch in the DC model, MW; angles in radians."""
    branch = case.branch.iloc[network.branch_rows]
    r, x = branch["BR_R"].to_numpy(), branch["BR_X"].to_numpy()
    difference = angle[network.f] - angle[network.t]
    if convention == "powermodels":
        return case.base_mva * difference * x / (r**2 + x**2)
    tap = np.where(branch["TAP"] == 0, 1.0, branch["TAP"])
    shifted = difference - np.deg2rad(branch["SHIFT"].to_numpy())
    return case.base_mva * shifted / (x * tap)


def _over(value: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    """Return the largest amount by which values leave their limits."""
    if not len(value):
        return 0.0
    return float(max(0.0, np.max(low - value), np.max(value - high)))


def violations(
    case: Case,
    network: Network,
    bus: pd.DataFrame,
    gen: pd.DataFrame,
    branch: pd.DataFrame,
    formulation: str,
    convention: str,
) -> dict[str, float]:
    """Return the largest violation of every family of constraints, in physical units.

    The tables are those of a solution: ``P_LOAD Q_LOAD P_EXTRA Q_EXTRA`` of a bus are what is
    drawn and what extensions inject; ``RATE`` of a branch is its limit as extensions left it
    (MVA, NaN for none); ``CLOSED`` is 0 where an extension opened it.
    """
    b, g, k = (
        bus.iloc[network.bus_rows],
        gen.iloc[network.gen_rows],
        branch.iloc[network.branch_rows],
    )
    found = {"generation_mw": _over(g["PG"].to_numpy(), g["PMIN"].to_numpy(), g["PMAX"].to_numpy())}
    if formulation == "ED":
        left = g["PG"].sum() + b["P_EXTRA"].sum() - b["P_LOAD"].sum()
        left -= case.bus["GS"].to_numpy()[network.bus_rows].sum()
        return found | {"balance_mw": float(abs(left))}
    closed = k["CLOSED"].to_numpy() > 0.5
    rate = np.where(np.isnan(k["RATE"]), np.inf, k["RATE"])
    gs = case.bus["GS"].to_numpy()[network.bus_rows]
    bs = case.bus["BS"].to_numpy()[network.bus_rows]
    if formulation == "SOCP":  # voltages have no angle: the flows are those of the relaxation
        s_f, s_t = (k[f"P{e}"].to_numpy() + 1j * k[f"Q{e}"].to_numpy() for e in "FT")
        squared = b["VM"].to_numpy() ** 2
    else:
        angle = np.deg2rad(b["VA"].to_numpy())
        if formulation == "DCOPF":
            s_f = dc_flows(case, network, angle, convention) * closed
            s_t, squared = -s_f, np.ones(network.nb)
        else:
            s_f, s_t = ac_flows(case, network, b["VM"].to_numpy() * np.exp(1j * angle))
            squared = b["VM"].to_numpy() ** 2
        found["angle_degrees"] = _angles(case, network, b["VA"].to_numpy(), closed)
    injected = np.zeros(network.nb, dtype=complex)
    power = g["PG"].to_numpy() + 1j * (0 if formulation == "DCOPF" else g["QG"].to_numpy())
    np.add.at(injected, network.at, power)
    np.add.at(injected, network.f, -s_f)
    np.add.at(injected, network.t, -s_t)
    injected += b["P_EXTRA"].to_numpy() - b["P_LOAD"].to_numpy() - gs * squared
    found["balance_mw"] = float(abs(injected.real).max())
    none = np.full(network.nl, -np.inf)
    if formulation == "DCOPF":
        found["flow_mva"] = _over(abs(s_f), none, rate)
        return found
    reactive = injected.imag + b["Q_EXTRA"].to_numpy() - b["Q_LOAD"].to_numpy() + bs * squared
    found["balance_mvar"] = float(abs(reactive).max())
    found["flow_mva"] = max(_over(abs(s), none, rate) for s in (s_f, s_t))
    found["voltage_pu"] = _over(b["VM"].to_numpy(), b["VMIN"].to_numpy(), b["VMAX"].to_numpy())
    found["reactive_mvar"] = _over(g["QG"].to_numpy(), g["QMIN"].to_numpy(), g["QMAX"].to_numpy())
    return found


def _angles(case: Case, network: Network, va: np.ndarray, closed: np.ndarray) -> float:
    rows = network.angle_limited
    branch = case.branch.iloc[network.branch_rows[rows]]
    low, high = branch["ANGMIN"].to_numpy(), branch["ANGMAX"].to_numpy()
    low = np.where((low == 0) | (low <= -360), -np.inf, low)
    high = np.where((high == 0) | (high >= 360), np.inf, high)
    difference = va[network.f[rows]] - va[network.t[rows]]
    kept = closed[rows]
    return _over(difference[kept], low[kept], high[kept])


def worst_pu(found: dict[str, float], base: float) -> float:
    """Return the largest violation per unit; degrees count as radians."""
    scale = {"angle_degrees": np.pi / 180, "voltage_pu": 1.0}
    return max((value * scale.get(name, 1 / base) for name, value in found.items()), default=0.0)
