"""Several extensions at once on 24 buses against the same problem written for CVXPY by hand."""

import cvxpy as cp
import numpy as np
import pytest
from extension_networks import answer
from pytest import approx

from headwater.opf.case import read_case, shipped_case


class Peer:
    """A DC optimal power flow in angles, one block of variables for each period."""

    def __init__(self, case, multipliers):
        self.case, self.base = case, case.base_mva
        row = {int(b): k for k, b in enumerate(case.bus["BUS_I"])}
        self.row, periods = row, len(multipliers)
        f, t = (case.branch[c].map(row).to_numpy() for c in ("F_BUS", "T_BUS"))
        nb, nl, ng = len(case.bus), len(f), len(case.gen)
        b = 1 / (case.branch["BR_X"] * case.branch["TAP"].replace(0, 1.0)).to_numpy()
        c = np.zeros((nl, nb))
        c[np.arange(nl), f], c[np.arange(nl), t] = 1, -1
        at = np.zeros((nb, ng))
        at[case.gen["GEN_BUS"].map(row).to_numpy(), np.arange(ng)] = 1
        self.p, self.angle = cp.Variable((ng, periods)), cp.Variable((nb, periods))
        self.flow = np.diag(b) @ c @ self.angle * self.base
        self.load = np.outer(case.bus["PD"], multipliers)
        self.injected = at @ self.p - c.T @ self.flow
        self.rate = case.branch["RATE_A"].to_numpy()[:, None] @ np.ones((1, periods))
        slack = row[int(case.bus.loc[case.bus["BUS_TYPE"] == 3, "BUS_I"].iloc[0])]
        low, high = (case.gen[k].to_numpy()[:, None] for k in ("PMIN", "PMAX"))
        self.rules = [self.p >= low, self.p <= high, self.angle[slack] == 0]
        assert (case.gencost[:, 3] == 3).all() and (case.bus["GS"] == 0).all()
        quadratic, linear, fixed = case.gencost[:, 4:7].T
        self.cost = fixed.sum() * periods + cp.sum(linear @ self.p)
        self.cost += cp.sum(quadratic @ cp.square(self.p))

    def solve(self, cost=0.0, extra=0.0, slack=0.0, margin=0.0, rules=()):
        balance = [self.injected + extra == self.load]
        limits = [cp.abs(self.flow) <= self.rate - margin + slack]
        problem = cp.Problem(
            cp.Minimize(self.cost + cost), [*self.rules, *balance, *limits, *rules]
        )
        return problem.solve(solver=cp.CLARABEL)


def at_bus(peer, bus, row):
    """Put a row of values at a bus."""
    place = np.zeros((len(peer.case.bus), 1))
    place[peer.row[bus]] = 1
    return place @ cp.reshape(row, (1, peer.p.shape[1]), order="C")


@pytest.fixture
def case():
    case = read_case(shipped_case("case24_ieee_rts"))
    case.branch["RATE_A"] *= 0.75
    return case


def test_ramps_storage_and_reserve_over_five_periods(case):
    factors = [0.75, 0.85, 1.0, 0.95, 0.8]
    peer = Peer(case, factors)
    t, ng = len(factors), len(case.gen)
    charge, discharge, energy = (cp.Variable((1, t), nonneg=True) for _ in range(3))
    held = cp.Variable((ng, t), nonneg=True)
    before = cp.hstack([np.full((1, 1), 30.0), energy[:, :-1]])
    rules = [
        cp.abs(peer.p[:, 1:] - peer.p[:, :-1]) <= 25,
        charge <= 60,
        discharge <= 80,
        energy <= 150,
        energy == before + 0.9 * charge - discharge / 0.85,
        energy[0, -1] == 30,
        held <= 40,
        cp.sum(held, axis=0) >= 350,
        peer.p + held <= case.gen["PMAX"].to_numpy()[:, None],
    ]
    net = at_bus(peer, 14, discharge - charge)
    expected = peer.solve(cost=2.0 * cp.sum(held), extra=net, rules=rules)
    unit = {
        "bus": 14,
        "energy_mwh": 150,
        "charge_mw": 60,
        "discharge_mw": 80,
        "charge_efficiency": 0.9,
        "discharge_efficiency": 0.85,
        "initial_mwh": 30,
    }
    found = answer(
        case,
        {"name": "horizon", "load_multipliers": factors},
        {"name": "ramp_limits", "up_mw": 25},
        {"name": "storage", "units": [unit]},
        {
            "name": "spinning_reserve_requirement",
            "unit_cap_mw": 40,
            "requirement_mw": 350,
            "price": 2,
        },
    )
    assert found.objective == approx(expected, rel=1e-6)


def test_bids_shedding_and_soft_limits(case):
    case.branch["RATE_A"] *= 0.7
    peer = Peer(case, [1.0])
    shed = cp.Variable((len(case.bus), 1), nonneg=True)
    excess = cp.Variable((len(case.branch), 1), nonneg=True)
    more, less, wind = (cp.Variable((1, 1), nonneg=True) for _ in range(3))
    rules = [shed <= peer.load, more <= 40, less <= 30, wind <= 60]
    extra = shed - at_bus(peer, 3, more) + at_bus(peer, 6, less) + at_bus(peer, 8, wind)
    cost = 90 * cp.sum(shed) + 35 * cp.sum(excess) - 55 * cp.sum(more) + 25 * cp.sum(less)
    expected = peer.solve(cost + 4 * (60 - cp.sum(wind)), extra, slack=excess, rules=rules)
    found = answer(
        case,
        {"name": "load_shedding", "voll": 90},
        {"name": "soft_line_limits", "penalty": 35},
        {"name": "social_welfare", "bids": [{"bus": 3, "blocks": [[40, 55]]}]},
        {"name": "demand_response", "bids": [{"bus": 6, "max_mw": 30, "price": 25}]},
        {
            "name": "renewable_curtailment",
            "units": [{"bus": 8, "forecast_mw": 60, "price": 4}],
        },
    )
    assert found.objective == approx(expected, rel=1e-6)
    assert found.extras["soft_line_limits"]["excess_mva"] != [0.0] * len(case.branch)


def test_emissions_angles_and_congestion(case):
    peer = Peer(case, [1.0])
    rates = np.linspace(0.2, 1.1, len(case.gen))
    loading = cp.sum(cp.abs(peer.flow) / peer.rate) / len(case.branch)
    ends = np.zeros((len(case.branch), len(case.bus)))
    for k, (f, t) in enumerate(case.branch[["F_BUS", "T_BUS"]].to_numpy()):
        ends[k, peer.row[int(f)]], ends[k, peer.row[int(t)]] = 1, -1
    cost = 900 * loading + 2e4 * cp.sum_squares(ends @ peer.angle)
    cost += 12 * cp.sum(rates @ peer.p)
    dirty = rates[::-1]
    expected = peer.solve(cost, rules=[dirty @ peer.p[:, 0] <= 1450])
    found = answer(
        case,
        {"name": "congestion_cost", "price": 900},
        {"name": "angle_difference_penalty", "beta": 2e4},
        {"name": "emission_cost", "price": 12, "beta": rates.tolist()},
        {"name": "emission_cap", "rates_t_per_mwh": dirty.tolist(), "cap_t_per_h": 1450},
    )
    assert found.objective == approx(expected, rel=1e-6)
    assert found.extras["emission_cap"]["emission_t_per_h"] == approx(1450, rel=1e-5)
