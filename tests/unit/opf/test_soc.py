"""The cone relaxation: exact on a line, below ACOPF, its limits and its tables."""

import numpy as np
import pytest
from extension_networks import answer, network, two_buses
from pytest import approx

from headwater.opf.case import read_case, shipped_case
from headwater.opf.engine import solve
from headwater.opf.model_socp import pairs_of

SOC = {"formulation": "SOCP"}


def test_two_buses_are_relaxed_exactly():
    # a radial network: the cone is tight, the optimum that of ACOPF
    case = two_buses(load=(150, 60), rate=100, r=0.02)
    relaxed, exact = (answer(case, formulation=f) for f in ("SOCP", "ACOPF"))
    assert relaxed.solver == "clarabel"
    assert relaxed.objective == approx(exact.objective, rel=1e-6)
    assert relaxed.bus["LMP"].to_numpy() == approx(exact.bus["LMP"].to_numpy(), rel=1e-3)
    assert relaxed.branch["PF"][0] == approx(exact.branch["PF"][0], abs=1e-2)
    assert relaxed.bus["VM"].to_numpy() == approx(exact.bus["VM"].to_numpy(), abs=1e-3)


@pytest.mark.parametrize("name", ["case9", "case14", "case30", "case57", "case118"])
def test_it_never_costs_more_than_acopf(name):
    case = read_case(shipped_case(name))
    relaxed, exact = solve(case, SOC), solve(case)
    assert relaxed.status == "optimal"
    assert relaxed.objective <= exact.objective * (1 + 1e-6)
    # it keeps the losses: more than the copper plate costs
    assert relaxed.objective > solve(case, {"formulation": "ED"}).objective


def test_a_tree_with_transformers_and_a_shifter_is_exact():
    units = [{"bus": 1, "pmax": 400, "c1": 10}, {"bus": 3, "pmax": 50, "c1": 20, "c2": 0.1}]
    lines = [
        {"f": 1, "t": 2, "x": 0.08, "r": 0.01, "tap": 0.97},
        {"f": 3, "t": 2, "x": 0.1, "r": 0.02, "shift": 20.0},
        {"f": 2, "t": 4, "x": 0.12, "r": 0.03, "rate": 70},
    ]
    case = network([0, (90, 20), (10, 5), (60, 10)], units, lines)
    relaxed, exact = (answer(case, formulation=f) for f in ("SOCP", "ACOPF"))
    assert relaxed.objective == approx(exact.objective, rel=1e-6)


def test_branches_in_parallel_share_one_product():
    f, t = np.array([0, 1, 2, 1]), np.array([1, 0, 1, 2])
    pairs, pair, sign = pairs_of(f, t)
    assert pairs.tolist() == [[0, 1], [1, 2]]
    assert pair.tolist() == [0, 0, 1, 1]
    assert sign.tolist() == [1, -1, -1, 1]


def test_turned_branches_change_nothing():
    case = read_case(shipped_case("case14"))
    branch = case.branch.copy()
    lines = (branch["TAP"] == 0) & (np.arange(len(branch)) % 2 == 0)
    branch.loc[lines, ["F_BUS", "T_BUS"]] = branch.loc[lines, ["T_BUS", "F_BUS"]].to_numpy()
    turned = solve(case.with_tables(branch=branch), SOC)
    assert turned.objective == approx(solve(case, SOC).objective, rel=1e-7)


def test_angle_limits_bind():
    case = two_buses(load=(150, 0), rate=0)
    branch = case.branch.copy()
    branch["ANGMAX"], branch["ANGMIN"] = 2.0, -2.0
    limited = answer(case.with_tables(branch=branch), formulation="SOCP")
    exact = answer(case.with_tables(branch=branch), formulation="ACOPF")
    assert limited.objective == approx(exact.objective, rel=1e-5)
    assert limited.objective > answer(case, formulation="SOCP").objective + 100


def test_angle_limits_beyond_a_right_angle_do_not_cut():
    case = two_buses(load=(150, 0), rate=0)
    branch = case.branch.copy()
    branch["ANGMAX"], branch["ANGMIN"] = 120.0, -120.0
    wide = answer(case.with_tables(branch=branch), formulation="SOCP")
    assert wide.objective == approx(answer(case, formulation="SOCP").objective, rel=1e-6)
