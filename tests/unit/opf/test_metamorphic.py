"""Changes of a network whose effect on the optimum is known."""

import numpy as np
import pandas as pd
import pytest
from pytest import approx

from headwater.opf.case import read_case, shipped_case
from headwater.opf.engine import solve

FORMULATIONS = ["ACOPF", "DCOPF", "SOCP", "ED"]
REL = {"ACOPF": 1e-6, "DCOPF": 1e-8, "SOCP": 1e-6, "ED": 1e-8}


@pytest.fixture(scope="module")
def case():
    """case30 with a transformer, a shifter, a shunt load, limits of angles."""
    case = read_case(shipped_case("case30"))
    branch, bus = case.branch.copy(), case.bus.copy()
    branch.loc[3, ["TAP", "SHIFT"]] = [0.98, 1.0]
    branch.loc[11, "TAP"] = 1.03
    branch[["ANGMIN", "ANGMAX"]] = [-15.0, 12.0]
    bus.loc[10, "GS"] = 1.5
    return case.with_tables(branch=branch, bus=bus)


@pytest.fixture(scope="module")
def optimum(case):
    return {f: optimal(case, f) for f in FORMULATIONS}


def optimal(case, formulation):
    found = solve(case, {"formulation": formulation})
    assert found.status == "optimal", [f.message for f in found.findings]
    return found.objective


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_order_of_rows_and_numbers_of_buses(case, optimum, formulation):
    rng = np.random.default_rng(0)
    ng = len(case.gen)
    new = dict(zip(case.bus["BUS_I"], 1000 + 7 * rng.permutation(len(case.bus)), strict=True))
    bus = case.bus.assign(BUS_I=case.bus["BUS_I"].map(new).astype(float))
    gen = case.gen.assign(GEN_BUS=case.gen["GEN_BUS"].map(new).astype(float))
    ends = {k: case.branch[k].map(new).astype(float) for k in ("F_BUS", "T_BUS")}
    order = rng.permutation(ng)
    shuffled = case.with_tables(
        bus=bus.sample(frac=1, random_state=1).reset_index(drop=True),
        gen=gen.iloc[order].reset_index(drop=True),
        gencost=case.gencost[order],
        branch=case.branch.assign(**ends).sample(frac=1, random_state=2).reset_index(drop=True),
    )
    assert optimal(shuffled, formulation) == approx(optimum[formulation], rel=REL[formulation])


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_from_and_to_of_lines(case, optimum, formulation):
    branch = case.branch.copy()
    lines = (branch["TAP"] == 0) & (np.arange(len(branch)) % 2 == 1)
    branch.loc[lines, ["F_BUS", "T_BUS"]] = branch.loc[lines, ["T_BUS", "F_BUS"]].to_numpy()
    branch.loc[lines, ["ANGMIN", "ANGMAX"]] = -branch.loc[lines, ["ANGMAX", "ANGMIN"]].to_numpy()
    turned = case.with_tables(branch=branch)
    assert optimal(turned, formulation) == approx(optimum[formulation], rel=REL[formulation])


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("factor", [0.1, 3.0])
def test_base_power(case, optimum, formulation, factor):
    branch = case.branch.copy()
    branch[["BR_R", "BR_X"]] *= factor
    branch["BR_B"] /= factor
    other = case.with_tables(base_mva=case.base_mva * factor, branch=branch)
    assert optimal(other, formulation) == approx(optimum[formulation], rel=REL[formulation] * 3)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_unit_in_two_halves(case, optimum, formulation):
    gen = pd.concat([case.gen, case.gen.iloc[[1]]], ignore_index=True)
    for row in (1, len(gen) - 1):
        gen.loc[row, ["PMAX", "PMIN", "QMAX", "QMIN"]] /= 2
    cost = np.vstack([case.gencost, case.gencost[1]])
    for row in (1, len(cost) - 1):  # C(p) = 2 C'(p/2): c2 doubles, c1 stays, c0 halves
        cost[row, 4:7] *= [2, 1, 0.5]
    halves = case.with_tables(gen=gen, gencost=cost)
    assert optimal(halves, formulation) == approx(optimum[formulation], rel=REL[formulation])


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_load_as_a_unit_that_must_consume(case, optimum, formulation):
    bus, gen = case.bus.copy(), case.gen.copy()
    row = 7
    pd_, qd = bus.loc[row, ["PD", "QD"]]
    bus.loc[row, ["PD", "QD"]] = 0.0
    gen.loc[len(gen)] = 0.0
    columns = ["GEN_BUS", "GEN_STATUS", "PMAX", "PMIN", "QMAX", "QMIN"]
    gen.loc[len(gen) - 1, columns] = [bus.loc[row, "BUS_I"], 1, -pd_, -pd_, -qd, -qd]
    cost = np.vstack([case.gencost, [2, 0, 0, 3, 0, 0, 0]])
    other = case.with_tables(bus=bus, gen=gen, gencost=cost)
    assert optimal(other, formulation) == approx(optimum[formulation], rel=REL[formulation])


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_line_as_two_in_parallel(case, optimum, formulation):
    branch = pd.concat([case.branch, case.branch.iloc[[5]]], ignore_index=True)
    for row in (5, len(branch) - 1):
        branch.loc[row, ["BR_R", "BR_X"]] *= 2
        branch.loc[row, ["BR_B", "RATE_A"]] /= 2
    other = case.with_tables(branch=branch)
    assert optimal(other, formulation) == approx(optimum[formulation], rel=REL[formulation])


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_costs_in_another_currency(case, optimum, formulation):
    cost = case.gencost.copy()
    cost[:, 4:] *= 7.5
    other = optimal(case.with_tables(gencost=cost), formulation)
    assert other == approx(7.5 * optimum[formulation], rel=REL[formulation])


TIGHTER = {
    "rating": ("branch", slice(None), "RATE_A", 0.9),
    "capacity": ("gen", 0, "PMAX", 0.4),
    "reactive capacity": ("gen", slice(None), "QMAX", 0.6),
    "upper voltage": ("bus", slice(None), "VMAX", 0.97),
    "lower voltage": ("bus", slice(None), "VMIN", 1.03),
    "angle": ("branch", slice(None), "ANGMAX", 0.2),
}


@pytest.mark.parametrize("what", TIGHTER)
@pytest.mark.parametrize("formulation", FORMULATIONS[:3])
def test_a_tighter_limit_never_costs_less(case, optimum, what, formulation):
    table, rows, column, factor = TIGHTER[what]
    new = getattr(case, table).copy()
    new.loc[rows, column] *= factor
    found = solve(case.with_tables(**{table: new}), {"formulation": formulation})
    assert found.status in ("optimal", "infeasible")
    if found.status == "optimal":
        assert found.objective >= optimum[formulation] * (1 - REL[formulation])


def test_relaxations_stand_in_order(optimum):
    assert optimum["ED"] < optimum["SOCP"] <= optimum["ACOPF"] * (1 + 1e-6)
    assert optimum["ED"] <= optimum["DCOPF"] * (1 + 1e-9)
