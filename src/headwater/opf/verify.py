"""Check a solution without the solver and without the model's expressions.

Flows are computed again from voltages and angles with complex arithmetic on the tables of the
case, costs from gencost, and every limit is looked at in physical units. `numbers` are arrays in
the order of the network, per unit and radians, by the names of `headwater.opf.model`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from .capability import excess
from .case import PIECEWISE, Case
from .network import Network

if TYPE_CHECKING:
    from .program import Raw

Numbers = Mapping[str, np.ndarray]


def generation_cost(case: Case, network: Network, numbers: Numbers) -> float:
    """Return the cost of ``pg`` (and ``qg`` with a second block) from gencost, $/h.

    Units that ``commitment`` switches off cost nothing.
    """
    on = np.round(numbers.get("commitment", np.ones(network.ng)))
    blocks = len(case.gencost) // max(1, len(case.gen))
    total = 0.0
    for block, name in enumerate(("pg", "qg")[:blocks]):
        if name not in numbers:
            continue
        power = numbers[name] * case.base_mva
        lines = case.gencost[network.gen_rows + block * len(case.gen)]
        count = lines[:, 3].astype(int)
        for g in np.flatnonzero((lines[:, 0] == PIECEWISE) & (on > 0)):
            points = lines[g, 4 : 4 + 2 * count[g]]
            total += _interpolated(float(power[g]), points[0::2], points[1::2])
        polynomial = (lines[:, 0] != PIECEWISE) & (on > 0)
        for k in range(int(count[polynomial].max(initial=0))):
            # COST0 is the highest power: the coefficient of P^k stands at NCOST - 1 - k
            these = np.flatnonzero(polynomial & (count > k))
            coefficient = lines[these, 4 + count[these] - 1 - k]
            total += float(coefficient @ power[these] ** k)
    return total


def _interpolated(power: float, x: np.ndarray, cost: np.ndarray) -> float:
    """Return the curve at `power`; the first and last segment go on beyond their ends."""
    k = int(np.clip(np.searchsorted(x, power) - 1, 0, len(x) - 2))
    return float(cost[k] + (cost[k + 1] - cost[k]) / (x[k + 1] - x[k]) * (power - x[k]))


def ac_flows(
    case: Case,
    network: Network,
    v: np.ndarray,
    tap: np.ndarray | None = None,
    shift: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return complex power into every branch at its from and to end, MVA.

    Parameters
    ----------
    v : complex array (nb)
        Bus voltages, p.u., in the order of the network.
    tap, shift : arrays (nl), optional
        Ratio and shift (radians) where they are not those of the case.
    """
    ratio = _ratio(case, network) if tap is None else tap
    angle = np.deg2rad(_branch(case, network, "SHIFT")) if shift is None else shift
    turns = ratio * np.exp(1j * angle)
    y, y_tt = _admittance(case, network)
    vf, vt = v[network.f], v[network.t]
    i_f = y_tt / abs(turns) ** 2 * vf - y / np.conj(turns) * vt
    i_t = y_tt * vt - y / turns * vf
    return vf * np.conj(i_f) * case.base_mva, vt * np.conj(i_t) * case.base_mva


def dc_flows(
    case: Case,
    network: Network,
    angle: np.ndarray,
    convention: str,
    shift: np.ndarray | None = None,
) -> np.ndarray:
    """Return the flow of every branch in the DC model, MW; angles in radians."""
    r, x = (_branch(case, network, name) for name in ("BR_R", "BR_X"))
    difference = angle[network.f] - angle[network.t]
    if convention == "powermodels":
        return case.base_mva * difference * x / (r**2 + x**2)
    turn = np.deg2rad(_branch(case, network, "SHIFT")) if shift is None else shift
    return case.base_mva * (difference - turn) / (x * _ratio(case, network))


def _branch(case: Case, network: Network, name: str) -> np.ndarray:
    return case.column("branch", name)[network.branch_rows]


def _ratio(case: Case, network: Network) -> np.ndarray:
    tap = _branch(case, network, "TAP")
    return np.where(tap == 0, 1.0, tap)


def _admittance(case: Case, network: Network) -> tuple[np.ndarray, np.ndarray]:
    """Return y and Y_tt of every branch."""
    r, x, b = (_branch(case, network, name) for name in ("BR_R", "BR_X", "BR_B"))
    y = 1 / (r + 1j * x)
    return y, y + 0.5j * b


def _over(value: np.ndarray, low: np.ndarray | float, high: np.ndarray | float) -> float:
    """Return the largest amount by which values leave their limits."""
    if not len(value):
        return 0.0
    return float(max(0.0, np.max(low - value), np.max(value - high)))


def check(
    case: Case, network: Network, numbers: Numbers, formulation: str, convention: str
) -> dict[str, float]:
    """Return the largest violation of every family of constraints, in physical units.

    Returns
    -------
    dict
        ``generation_mw``, ``balance_mw`` and, by formulation, ``balance_mvar flow_mva
        voltage_pu reactive_mvar angle_degrees``.
    """
    base, n = case.base_mva, network
    on = np.round(numbers.get("commitment", np.ones(n.ng)))
    pg = numbers["pg"]
    found = {"generation_mw": base * _over(pg, on * numbers["pmin"], on * numbers["pmax"])}
    gs, bs = (case.column("bus", name)[n.bus_rows] for name in ("GS", "BS"))
    real = base * (numbers["injection_p"] - numbers["pd"])
    if formulation == "ED":
        left = base * pg.sum() + real.sum() - gs.sum()
        return found | {"balance_mw": float(abs(left))}
    s_f, s_t, squared = _flows(case, network, numbers, formulation, convention)
    qg = numbers.get("qg", np.zeros(n.ng))
    injected = np.zeros(n.nb, dtype=complex)
    np.add.at(injected, n.at, base * (pg + 1j * qg))
    np.add.at(injected, n.f, -s_f)
    np.add.at(injected, n.t, -s_t)
    injected += real - gs * squared
    found["balance_mw"] = float(abs(injected.real).max())
    rate = base * numbers["limit"]
    found["flow_mva"] = max(_over(abs(s), -np.inf, rate) for s in (s_f, s_t))
    if "va" in numbers:
        found["angle_degrees"] = _angles(case, network, numbers)
    if formulation == "DCOPF":
        return found
    reactive = injected.imag + base * (numbers["injection_q"] - numbers["qd"]) + bs * squared
    found["balance_mvar"] = float(abs(reactive).max())
    found["voltage_pu"] = _over(np.sqrt(squared), numbers["vmin"], numbers["vmax"])
    found["reactive_mvar"] = base * _over(qg, numbers["qmin"], numbers["qmax"])
    if len(n.sloped):
        found["reactive_mvar"] = max(found["reactive_mvar"], excess(case, n, pg, qg))
    return found


def _flows(
    case: Case, network: Network, numbers: Numbers, formulation: str, convention: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the power into both ends of every branch, MVA, and the squared voltages."""
    closed = np.round(numbers["closed"])
    if formulation == "SOCP":
        v_f, v_t = _relaxed(case, network, numbers)
        return v_f, v_t, np.maximum(numbers["w"], 0)
    if formulation == "DCOPF":
        flow = dc_flows(case, network, numbers["va"], convention, numbers["shift"])
        return flow * closed + 0j, -flow * closed + 0j, np.ones(network.nb)
    v = numbers["vm"] * np.exp(1j * numbers["va"])
    s_f, s_t = ac_flows(case, network, v, numbers["tap"], numbers["shift"])
    return s_f * closed, s_t * closed, numbers["vm"] ** 2


def _relaxed(case: Case, network: Network, numbers: Numbers) -> tuple[np.ndarray, np.ndarray]:
    """Return the flows of the cone relaxation, from w and the products V_f V_t^*, MVA."""
    turns = numbers["tap"] * np.exp(1j * numbers["shift"])
    y, y_tt = _admittance(case, network)
    product = numbers["re"] + 1j * numbers["im"]
    wf, wt = numbers["w"][network.f], numbers["w"][network.t]
    s_f = np.conj(y_tt) / abs(turns) ** 2 * wf - np.conj(y) / turns * product
    s_t = np.conj(y_tt) * wt - np.conj(y / turns) * np.conj(product)
    return s_f * case.base_mva, s_t * case.base_mva


def _angles(case: Case, network: Network, numbers: Numbers) -> float:
    rows = network.angle_limited
    low, high = (_branch(case, network, name)[rows] for name in ("ANGMIN", "ANGMAX"))
    low = np.where((low == 0) | (low <= -360), -np.inf, low)
    high = np.where((high == 0) | (high >= 360), np.inf, high)
    va = np.rad2deg(numbers["va"])
    kept = np.round(numbers["closed"])[rows] > 0
    difference = va[network.f[rows]] - va[network.t[rows]]
    return _over(difference[kept], low[kept], high[kept])


def worst_pu(found: Mapping[str, float], base: float) -> float:
    """Return the largest violation per unit; degrees count as radians."""
    scale = {
        "angle_degrees": np.pi / 180,
        "voltage_pu": 1.0,
        "rows_pu": 1.0,
        "cones_pu": 1.0,
        "integers": 1.0,
        "cost_relative": 0.0,
    }
    return max((value * scale.get(name, 1 / base) for name, value in found.items()), default=0.0)


def program_violations(raw: Raw) -> dict[str, float]:
    """Return the largest violation of rows, cones and integers as the solver saw them, p.u."""
    program = raw.program
    if program is None:
        return {}
    bounds = program.bounds(raw.p)
    rows = program.rows(raw.x, raw.p)
    found = {"rows_pu": _over(rows, bounds["lg"], bounds["ug"])}
    whole = np.array(program.integer, dtype=bool)
    if whole.any():
        found["integers"] = float(abs(raw.x[whole] - np.round(raw.x[whole])).max())
    if program.cones:
        found["cones_pu"] = max(0.0, program.outside(raw.x, raw.p))
    return found
