"""Structures of levels 3 and 4: an extension with parameters that fit the system.

Sizes come from the unmodified optimum: a penalty is chosen so that its term is 2 to 20 percent of
the cost, a requirement so that it binds and can be met, a price so that it lies among those of the
network. All numbers are rounded to two significant digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from ..case import POLYNOMIAL
from ..network import network_of
from ..sensitivity import lodf, network_grid
from ..structure import empty
from . import reserves
from .system import Point, System
from .values import nice

Item = dict[str, Any]
Rng = np.random.Generator
# Lists in a text stay readable up to so many generators.
LISTED = 12
# Units that commitment is solved for.
COMMITTED = 12
# Branches that may be switched, and how often it is tried with quadratic costs.
SWITCHED, SWITCHED_WITH_SQUARES = 85, 0.15


@dataclass
class Drawn:
    """Extensions by group, and explicit changes that come with them."""

    objective: list[Item] = field(default_factory=list)
    constraints: list[Item] = field(default_factory=list)
    variables: list[Item] = field(default_factory=list)
    parameters: list[Item] = field(default_factory=list)

    def structure(self, formulation: str) -> dict[str, Any]:
        """Return the structure of a record."""
        lists = {k: getattr(self, k) for k in ("objective", "constraints", "variables")}
        return empty(formulation) | lists


Maker = Callable[[System, Point, Rng, str, int], Drawn | None]


def item(name: str, op: str = "add", **values: Any) -> Item:
    """Return an extension as records write it."""
    return {"op": op, "name": name, **values}


def _share(rng: Rng, total: float, cost: float) -> float | None:
    """Return a price that makes its term 2 to 20 percent of the cost."""
    if total <= 1e-9:
        return None
    return nice(float(rng.uniform(0.02, 0.2)) * cost / total, 2)


def _congestion(s: System, p: Point, rng: Rng, level: int) -> list[Item] | None:
    """Return the changes after which some branch limit binds; none where one does already.

    A derating below the present flow of a well-loaded branch; at level 4, where values are not
    in the text, only networks that are congested as they are.
    """
    if (p.mu > 0).any():
        return []
    rate = s.case.branch["RATE_A"].to_numpy()
    single = np.array([len(rows) == 1 for rows in s.circuits])
    loaded = np.flatnonzero(s.branch_on & single & (rate > 0) & (p.flow > 0.3 * rate))
    if level != 3 or not len(loaded):
        return None
    (row,) = _pick(rng, loaded)
    ends = s.case.branch[["F_BUS", "T_BUS"]].to_numpy(dtype=int)[row]
    value = nice(float(p.flow[row]) * float(rng.uniform(0.8, 0.95)), 2)
    key = {"fbus": int(ends[0]), "tbus": int(ends[1])}
    return [{"component": "branch", **key, "field": "RATE_A", "op": "set", "value": value}]


def _loads(system: System) -> np.ndarray:
    return np.flatnonzero((system.case.bus["PD"].to_numpy() > 0) & system.alive)


def _number(system: System, row: int) -> int:
    return int(system.case.bus["BUS_I"].iat[row])


def _pick(rng: Rng, rows: np.ndarray, count: int = 1) -> list[int]:
    return [int(k) for k in rng.choice(rows, size=min(count, len(rows)), replace=False)]


# ---- objectives -----------------------------------------------------------------------------


def angle_difference_penalty(s: System, p: Point, rng: Rng, f: str, level: int) -> Drawn | None:
    """Price of squared angle differences."""
    rows = s.branch_on
    gap = np.deg2rad(p.va[s.ends[rows, 0]] - p.va[s.ends[rows, 1]])
    beta = _share(rng, float((gap**2).sum()), p.cost)
    return beta and Drawn(objective=[item("angle_difference_penalty", beta=beta)])


def voltage_deviation_penalty(s: System, p: Point, rng: Rng, f: str, level: int) -> Drawn | None:
    """Price of squared voltage deviations."""
    v_ref = float(rng.choice([0.98, 0.99, 1.0, 1.0, 1.01, 1.02, 1.03]))
    beta = _share(rng, float(((p.vm[s.alive] - v_ref) ** 2).sum()), p.cost)
    return beta and Drawn(objective=[item("voltage_deviation_penalty", beta=beta, v_ref=v_ref)])


def reactive_generation_cost(s: System, p: Point, rng: Rng, f: str, level: int) -> Drawn | None:
    """Quadratic cost of reactive output."""
    c2 = _share(rng, float((p.qg**2).sum()), p.cost)
    extra = {"c2": c2, "unit": "$/MVAr^2"}
    return c2 and Drawn(objective=[item("reactive_generation_cost", **extra)])


def active_power_loss(s: System, p: Point, rng: Rng, f: str, level: int) -> Drawn | None:
    """Losses at a price, beside the generation cost or in its place."""
    if rng.random() < 0.35:
        price = float(rng.choice([1, 10, 20, 25, 30, 40, 50, 60]))
        return Drawn(objective=[item("active_power_loss", "replace", price=price)])
    price = _share(rng, float(p.loss.sum()), p.cost)
    return price and Drawn(objective=[item("active_power_loss", price=price)])


def congestion_cost(s: System, p: Point, rng: Rng, f: str, level: int) -> Drawn | None:
    """Price of the mean loading."""
    rate = s.case.branch["RATE_A"].to_numpy()
    rated = s.branch_on & (rate > 0)
    if not rated.any():
        return None
    price = _share(rng, float((p.flow[rated] / rate[rated]).mean()), p.cost)
    return price and Drawn(objective=[item("congestion_cost", price=price)])


def emission_rates(s: System, rng: Rng) -> list[float]:
    """Return emission rates of the generators, t/MWh, dear units rather clean."""
    typical = [0.0, 0.2, 0.35, 0.4, 0.45, 0.5, 0.6, 0.75, 0.8, 0.9, 0.95, 1.0]
    rates = [float(rng.choice(typical)) for _ in range(len(s.case.gen))]
    return rates


def emission_cost(s: System, p: Point, rng: Rng, f: str, level: int) -> Drawn | None:
    """Emissions at a price, with rates by generator."""
    if len(s.case.gen) > LISTED:
        return None
    rates = emission_rates(s, rng)
    price = _share(rng, float(np.dot(rates, p.pg)), p.cost)
    return price and Drawn(objective=[item("emission_cost", price=price, beta=rates)])


def redispatch_cost(s: System, p: Point, rng: Rng, f: str, level: int) -> Drawn | None:
    """Distance from the schedule of the case."""
    up = float(rng.integers(20, 81))
    down = float(rng.integers(2, 16))
    return Drawn(objective=[item("redispatch_cost", "replace", up=up, down=down)])


def reactive_reserve(s: System, p: Point, rng: Rng, f: str, level: int) -> Drawn | None:
    """Reward for reactive room."""
    room = s.case.gen["QMAX"].to_numpy()[s.gen_on] - p.qg[s.gen_on]
    weight = _share(rng, float(room.sum()), p.cost)
    return weight and Drawn(objective=[item("reactive_reserve", weight=weight)])


def social_welfare(s: System, p: Point, rng: Rng, f: str, level: int) -> Drawn | None:
    """An elastic buyer who bids more than the price at the bus."""
    row = _pick(rng, _loads(s))[0]
    size = nice(float(rng.uniform(0.02, 0.08)) * s.demand, 2)
    price = nice(float(rng.uniform(1.05, 1.6)) * max(p.price[row], 1e-3), 2)
    bid = {"bus": _number(s, row), "blocks": [[size, price]]}
    return Drawn(objective=[item("social_welfare", bids=[bid])])


# ---- constraints ----------------------------------------------------------------------------


def n1_security(s: System, p: Point, rng: Rng, f: str, level: int) -> Drawn | None:
    """All outages that do not split the network; the factor cuts into the worst flow after one."""
    worst = _worst_after_outage(s, p)
    if worst is None:
        return None
    factor = round(float(rng.uniform(0.85, 0.99)) * worst, 2)
    extra = {"contingencies": "all_non_islanding_branches", "emergency_factor": factor}
    return Drawn(constraints=[item("n1_security", **extra)]) if 0.5 <= factor <= 3 else None


def _worst_after_outage(s: System, p: Point) -> float | None:
    """Return the largest loading after an outage at the unmodified optimum; None without limits."""
    key = "worst_after_outage"
    if key not in s.memory:
        network = network_of(s.case)
        limits = s.case.branch["RATE_A"].to_numpy()[network.branch_rows][network.rated]
        worst = None
        if len(limits) and network.nb <= 150:
            factors, lost, _ = lodf(network_grid(network))
            flow = p.signed[network.branch_rows]
            after = np.abs(flow[:, None] + factors * flow[lost])[network.rated]
            worst = float((after / limits[:, None]).max()) if len(lost) else None
        s.memory[key] = worst
    return s.memory[key]


def emission_cap(s: System, p: Point, rng: Rng, f: str, level: int) -> Drawn | None:
    """A cap 3 to 15 percent below the emissions of the optimum."""
    if len(s.case.gen) > LISTED:
        return None
    rates = emission_rates(s, rng)
    cap = nice(float(rng.uniform(0.85, 0.97)) * float(np.dot(rates, p.pg)), 3)
    extra = {"rates_t_per_mwh": rates, "cap_t_per_h": cap}
    return Drawn(constraints=[item("emission_cap", **extra)]) if cap > 0 else None


def chance_line_limits(s: System, p: Point, rng: Rng, f: str, level: int) -> Drawn | None:
    """An uncertain injection at a load bus."""
    mean = nice(float(rng.uniform(0.02, 0.08)) * s.demand, 2)
    std = nice(float(rng.uniform(0.2, 0.6)) * mean, 2)
    extra = {
        "bus": _number(s, _pick(rng, _loads(s))[0]),
        "mean_mw": mean,
        "std_mw": std,
        "epsilon": float(rng.choice([0.01, 0.02, 0.05, 0.1])),
        "sided": "individual one-sided",
    }
    return Drawn(constraints=[item("chance_line_limits", **extra)])


def robust_line_limits(s: System, p: Point, rng: Rng, f: str, level: int) -> Drawn | None:
    """A box of uncertain injections where some limit binds."""
    changes = _congestion(s, p, rng, level)
    if changes is None:
        return None
    rows = _pick(rng, _loads(s), int(rng.integers(1, 4)))
    delta = nice(float(rng.uniform(0.005, 0.03)) * s.demand, 2)
    buses = sorted(_number(s, r) for r in rows)
    extra = {"buses": buses, "delta_mw": delta}
    return Drawn(constraints=[item("robust_line_limits", **extra)], parameters=changes)


def soft_line_limits(s: System, p: Point, rng: Rng, f: str, level: int) -> Drawn | None:
    """A penalty below the largest price of a limit."""
    changes = _congestion(s, p, rng, level)
    if changes is None:
        return None
    dear = float(p.price[_loads(s)].mean()) if changes else float(p.mu.max())
    share = rng.uniform(0.03, 0.25) if changes else rng.uniform(0.3, 0.85)
    penalty = nice(float(share) * dear, 2)
    extra = {"penalty": penalty}
    return Drawn(constraints=[item("soft_line_limits", **extra)], parameters=changes)


# ---- variables ------------------------------------------------------------------------------


def load_shedding(s: System, p: Point, rng: Rng, f: str, level: int) -> Drawn | None:
    """A shortage with a high value of lost load, or a value below the dearest bus price."""
    if level == 3 and rng.random() < 0.6:
        factor = round(float(rng.uniform(1.02, 1.25)) * s.capacity / s.demand, 2)
        if factor <= 1.05:
            return None
        voll = float(rng.choice([1000, 2000, 3000, 5000, 8000, 10000]))
        fields = ["PD"] if f in ("DCOPF", "ED") else ["PD", "QD"]
        grown = [
            {"component": "bus", "bus": "*", "field": k, "op": "scale", "value": factor}
            for k in fields
        ]
    else:
        voll = nice(float(rng.uniform(0.75, 0.97)) * float(p.price[_loads(s)].max()), 2)
        grown = []
    extra = {"voll": voll, "power_factor": "constant"}
    return Drawn(variables=[item("load_shedding", **extra)], parameters=grown)


def transmission_switching(s: System, p: Point, rng: Rng, f: str, level: int) -> Drawn | None:
    """One or two branches may open, in small congested networks."""
    changes = _congestion(s, p, rng, level)
    seldom = _squares(s) and rng.random() > SWITCHED_WITH_SQUARES
    if s.branch_on.sum() > SWITCHED or seldom or changes is None:
        return None
    most = int(rng.integers(1, 3))
    extra = {"max_open": most}
    return Drawn(variables=[item("transmission_switching", **extra)], parameters=changes)


def _squares(s: System) -> bool:
    """Return whether a cost is quadratic: then each solve with integers is many."""
    cost = s.case.gencost[: len(s.case.gen)]
    square = cost[np.arange(len(cost)), np.clip(cost[:, 3].astype(int) + 1, 4, None)]
    return bool(((cost[:, 0] == POLYNOMIAL) & (cost[:, 3] > 2) & (square != 0)).any())


def renewable_curtailment(s: System, p: Point, rng: Rng, f: str, level: int) -> Drawn | None:
    """Cheap power at a load bus."""
    unit = {
        "bus": _number(s, _pick(rng, _loads(s))[0]),
        "forecast_mw": nice(float(rng.uniform(0.03, 0.12)) * s.demand, 2),
        "price": float(rng.choice([5, 10, 20, 30, 50])),
    }
    return Drawn(variables=[item("renewable_curtailment", units=[unit])])


def demand_response(s: System, p: Point, rng: Rng, f: str, level: int) -> Drawn | None:
    """Bids below the price at dear buses."""
    loads = _loads(s)
    dear = loads[np.argsort(-p.price[loads], kind="stable")][: max(3, len(loads) // 3)]
    bids = []
    for row in _pick(rng, dear, int(rng.integers(1, 3))):
        size = nice(float(rng.uniform(0.1, 0.4)) * float(s.case.bus["PD"].iat[row]), 2)
        price = nice(float(rng.uniform(0.4, 0.9)) * max(p.price[row], 1e-3), 2)
        bids.append({"bus": _number(s, row), "max_mw": size, "price": price})
    extra = {"bids": bids, "power_factor": "constant"}
    return Drawn(variables=[item("demand_response", **extra)])


def procurement_cost(s: System, p: Point, rng: Rng, f: str, level: int) -> Drawn | None:
    """An offer below the price at its bus."""
    row = _pick(rng, _loads(s))[0]
    size = nice(float(rng.uniform(0.02, 0.1)) * s.demand, 2)
    price = nice(float(rng.uniform(0.4, 0.95)) * max(p.price[row], 1e-3), 2)
    offer = {"bus": _number(s, row), "max_mw": size, "price": price}
    return Drawn(variables=[item("procurement_cost", offers=[offer])])


def horizon(s: System, p: Point, rng: Rng, f: str, level: int) -> Drawn | None:
    """Two to four periods, alone or with ramp limits or a battery."""
    if len(s.alive) > 150 and f == "ACOPF":
        return None
    count = int(rng.integers(2, 5))
    top = min(1.1, 0.97 * s.capacity / s.demand)
    factors = sorted(round(float(rng.uniform(0.7, top)), 2) for _ in range(count))
    turn = int(rng.integers(count))
    factors = factors[turn:] + factors[:turn]
    drawn = Drawn(variables=[item("horizon", load_multipliers=factors, hours=1.0)])
    kind = rng.random()
    swing = s.demand * max(abs(b - a) for a, b in pairwise(factors))
    if kind < 0.35 and swing > 0:
        units = max(int(s.gen_on.sum()), 1)
        up = nice(float(rng.uniform(1.1, 3.0)) * swing / units, 2)
        drawn.constraints.append(item("ramp_limits", up_mw=up))
    elif kind < 0.7:
        drawn.variables.append(_battery(s, rng))
    return drawn


def _battery(s: System, rng: Rng) -> Item:
    power = nice(float(rng.uniform(0.02, 0.08)) * s.demand, 2)
    energy = nice(power * float(rng.choice([1, 2, 4])), 2)
    unit = {
        "bus": _number(s, _pick(rng, _loads(s))[0]),
        "energy_mwh": energy,
        "charge_mw": power,
        "charge_efficiency": float(rng.choice([0.9, 0.92, 0.95, 0.97])),
        "discharge_efficiency": float(rng.choice([0.9, 0.92, 0.95, 0.97])),
        "initial_mwh": nice(energy * float(rng.choice([0.25, 0.5])), 2),
    }
    return item("storage", units=[unit])


def unit_commitment(s: System, p: Point, rng: Rng, f: str, level: int) -> Drawn | None:
    """Start and stop costs where units have a minimum output; mostly over periods of low load."""
    low = s.case.gen["PMIN"].to_numpy()[s.gen_on]
    if s.gen_on.sum() > COMMITTED or not (low > 0).any():
        return None
    start = nice(float(rng.uniform(0.001, 0.01)) * p.cost, 2)
    stop = nice(start * float(rng.choice([0.2, 0.3, 0.5])), 2)
    drawn = Drawn(variables=[item("unit_commitment", startup_cost=start, shutdown_cost=stop)])
    if rng.random() < 0.7:
        least = max(float(low.sum()) / s.demand, 0.4)
        factors = [round(float(rng.uniform(least, least + 0.35)), 2) for _ in range(2)]
        drawn.variables.insert(0, item("horizon", load_multipliers=factors, hours=1.0))
    return drawn


def plain(s: System, p: Point, rng: Rng, f: str, level: int) -> Drawn | None:
    """The formulation itself is the structure: economic dispatch, or the relaxation.

    Without a branch limit that binds, the dispatch is that of the DC model.
    """
    changes = [] if f != "ED" else _congestion(s, p, rng, 4)
    return Drawn() if changes is not None else None


AC, DC, BOTH = ("ACOPF",), ("DCOPF",), ("ACOPF", "DCOPF")
# name: (weight, formulations, maker)
MAKERS: dict[str, tuple[float, tuple[str, ...], Maker]] = {
    "angle_difference_penalty": (2.0, DC, angle_difference_penalty),
    "voltage_deviation_penalty": (2.0, AC, voltage_deviation_penalty),
    "reactive_generation_cost": (2.0, AC, reactive_generation_cost),
    "spinning_reserve_requirement": (2.0, ("DCOPF", "DCOPF", "ACOPF", "ED"), reserves.spinning),
    "regulation_up_requirement": (2.0, ("DCOPF", "DCOPF", "ACOPF", "ED"), reserves.regulation),
    "n1_security": (1.6, DC, n1_security),
    "load_shedding": (1.5, BOTH, load_shedding),
    "emission_cap": (1.5, ("DCOPF", "ACOPF", "ED"), emission_cap),
    "emission_cost": (1.0, BOTH, emission_cost),
    "transmission_switching": (1.2, DC, transmission_switching),
    "chance_line_limits": (1.5, DC, chance_line_limits),
    "robust_line_limits": (1.2, DC, robust_line_limits),
    "soft_line_limits": (1.2, BOTH, soft_line_limits),
    "active_power_loss": (1.5, AC, active_power_loss),
    "congestion_cost": (0.8, BOTH, congestion_cost),
    "horizon": (2.2, ("DCOPF", "DCOPF", "ACOPF"), horizon),
    "redispatch_cost": (1.0, BOTH, redispatch_cost),
    "reactive_reserve": (0.7, AC, reactive_reserve),
    "renewable_curtailment": (1.0, BOTH, renewable_curtailment),
    "demand_response": (1.0, BOTH, demand_response),
    "social_welfare": (0.8, BOTH, social_welfare),
    "procurement_cost": (0.8, BOTH, procurement_cost),
    "unit_commitment": (0.5, DC, unit_commitment),
    "economic_dispatch": (1.2, ("ED",), plain),
    "relaxation": (0.8, ("SOCP",), plain),
}


def draw(
    system: System, rng: Rng, level: int, tries: int = 8
) -> tuple[dict[str, Any], list[Item]] | None:
    """Return a structure and the explicit changes that come with it.

    Returns None where no extension fits the system within `tries`.
    """
    names = list(MAKERS)
    weight = np.array([MAKERS[n][0] for n in names])
    for _ in range(tries):
        _, formulations, maker = MAKERS[names[int(rng.choice(len(names), p=weight / weight.sum()))]]
        formulation = formulations[int(rng.integers(len(formulations)))]
        point = system.point(formulation)
        drawn = maker(system, point, rng, formulation, level) if point else None
        if drawn:
            return drawn.structure(formulation), drawn.parameters
    return None
