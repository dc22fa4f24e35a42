"""DCOPF: textbook prices and dispatch, both conventions, limits, costs, statuses."""

import numpy as np
import pytest
from extension_networks import answer, attempt, network, two_buses
from pytest import approx

from headwater.opf.case import read_case, shipped_case
from headwater.opf.engine import Options, solve

DC = {"formulation": "DCOPF"}
UNITS = [{"bus": 1, "pmax": 300, "c1": 10}, {"bus": 2, "pmax": 300, "c1": 30}]

# MATPOWER 8.1, MIPS
MATPOWER = {
    "case14": 7642.591777,
    "case30": 565.205966,
    "case39": 41263.940786,
    "case57": 41006.736942,
    "case118": 125947.881418,
    "case300": 706292.324244,
}


@pytest.mark.parametrize("name", MATPOWER)
def test_optima_of_matpower(name):
    found = solve(read_case(shipped_case(name)), DC)
    assert found.status == "optimal"
    assert found.objective == approx(MATPOWER[name], rel=1e-7)


def test_two_buses_with_a_full_line():
    found = answer(two_buses())
    assert found.objective == approx(2500)
    assert found.bus["LMP"].tolist() == approx([10, 30])
    assert found.gen["PG"].tolist() == approx([100, 50])
    assert found.branch.loc[0, ["PF", "PT", "LOADING"]].tolist() == approx([100, -100, 100])
    assert found.branch.loc[0, ["MU_SF", "MU_ST"]].tolist() == approx([20, 0])


def test_the_price_of_a_line_stands_at_the_end_that_power_enters():
    case = two_buses()
    turned = case.branch.copy()
    turned[["F_BUS", "T_BUS"]] = case.branch[["T_BUS", "F_BUS"]].to_numpy()
    found = answer(case.with_tables(branch=turned))
    assert found.branch.loc[0, ["PF", "MU_SF", "MU_ST"]].tolist() == approx([-100, 0, 20])


def test_prices_of_units_at_their_limits():
    units = [
        {"bus": 1, "pmax": 40, "c1": 10},
        {"bus": 1, "pmax": 300, "c1": 25},
        {"bus": 1, "pmax": 50, "pmin": 20, "c1": 60},
    ]
    found = answer(network([100, 0], units, [{"f": 1, "t": 2}]))
    assert found.gen["PG"].tolist() == approx([40, 40, 20])
    assert found.gen["MU_PMAX"].tolist() == approx([15, 0, 0])
    assert found.gen["MU_PMIN"].tolist() == approx([0, 0, 35])


def test_case5_of_the_textbook(mirror):
    found = solve(read_case(mirror / "opf" / "cases" / "pglib_opf_case5_pjm.m"), DC)
    assert found.bus["LMP"].tolist() == approx([16.9774, 26.3845, 30, 39.9427, 10], abs=5e-5)
    assert found.gen["PG"].tolist() == approx([40, 170, 323.495, 0, 466.505], abs=5e-4)
    assert found.branch.loc[5, "PF"] == approx(-240)


def test_prices_are_what_one_mw_more_costs():
    case = read_case(shipped_case("case30"))
    branch = case.branch.copy()
    branch["RATE_A"] *= 0.72
    case = case.with_tables(branch=branch)
    found = solve(case, DC)
    assert found.bus["LMP"].max() - found.bus["LMP"].min() > 0.1  # congested
    assert found.branch["MU_SF"].max() > 0.1
    step = 1e-3
    for row in (0, 7, 20, 29):
        costs = []
        for sign in (-1, 1):
            bus = case.bus.copy()
            bus.loc[row, "PD"] += sign * step
            costs.append(solve(case.with_tables(bus=bus), DC).objective)
        assert (costs[1] - costs[0]) / (2 * step) == approx(found.bus.loc[row, "LMP"], rel=1e-5)
    row = int(found.branch["MU_SF"].argmax())
    costs = []
    for sign in (-1, 1):
        branch = case.branch.copy()
        branch.loc[row, "RATE_A"] += sign * step
        costs.append(solve(case.with_tables(branch=branch), DC).objective)
    slope = (costs[1] - costs[0]) / (2 * step)
    assert slope == approx(-found.branch.loc[row, "MU_SF"], rel=1e-4)


def test_flows_of_a_phase_shifter_are_those_of_its_power_flow():
    # two equal lines in parallel, one with phi = 3 degrees: P = (theta - phi)/x and theta/x
    lines = [{"f": 1, "t": 2, "x": 0.1, "shift": 3.0}, {"f": 1, "t": 2, "x": 0.1}]
    found = answer(network([0, 80], UNITS, lines))
    turn = 100 * np.deg2rad(3) / 0.1
    assert found.branch["PF"].tolist() == approx([40 - turn / 2, 40 + turn / 2])


def test_ratio_counts_in_one_convention_and_not_in_the_other():
    # P_l = theta / (x tau): a ratio of 1.25 draws the flow away; resistance matters elsewhere
    lines = [{"f": 1, "t": 2, "x": 0.1, "tap": 1.25}, {"f": 1, "t": 2, "x": 0.1, "r": 0.05}]
    case = network([0, 90], UNITS, lines)
    found = answer(case)
    assert found.branch["PF"].tolist() == approx([40, 50])
    other = answer(case, options=Options(dc_convention="powermodels"))
    first, second = 1 / 0.1, 0.1 / (0.05**2 + 0.1**2)
    share = np.array([first, second]) / (first + second)
    assert other.branch["PF"].tolist() == approx((90 * share).tolist())


def test_angle_limits_hold():
    # x = 0.1, 2 degrees: no more than 34.9 MW
    case = two_buses(rate=0)
    branch = case.branch.copy()
    branch["ANGMAX"] = 2.0
    found = answer(case.with_tables(branch=branch))
    assert found.branch.loc[0, "PF"] == approx(100 * np.deg2rad(2) / 0.1)
    assert found.bus.loc[0, "VA"] - found.bus.loc[1, "VA"] == approx(2)


def test_the_reference_angle_is_that_of_the_file():
    case = two_buses()
    bus = case.bus.copy()
    bus.loc[0, "VA"] = 30.0
    found = answer(case.with_tables(bus=bus))
    assert found.bus.loc[0, "VA"] == approx(30)
    assert found.bus.loc[1, "VA"] == approx(30 - np.rad2deg(0.1))


def test_shunt_conductance_is_a_load():
    case = two_buses()
    bus = case.bus.copy()
    bus.loc[1, "GS"] = 10.0
    assert answer(case.with_tables(bus=bus)).objective == approx(2800)


def test_a_network_without_any_rating():
    assert answer(two_buses(rate=0)).objective == approx(1500)
    assert answer(two_buses(rate=np.inf)).objective == approx(1500)


def curve(*points):
    row = np.zeros(4 + 16)
    row[:4] = 1, 0, 0, len(points)
    row[4 : 4 + 2 * len(points)] = np.ravel(points)
    return row


def linear(c1):
    row = np.zeros(20)
    row[:6] = 2, 0, 0, 2, c1, 0
    return row


def test_piecewise_costs():
    # 10 up to 50 MW, then 12: 500 + 600 for 100 MW, and 50 MW at 30
    case = two_buses().with_tables(
        gencost=np.array([curve((0, 0), (50, 500), (300, 3500)), linear(30)])
    )
    found = answer(case)
    assert found.objective == approx(2600)
    assert found.bus["LMP"].tolist() == approx([12, 30])


@pytest.mark.parametrize("seed", range(4))
def test_piecewise_costs_equal_the_same_curves_in_blocks(seed):
    # every segment a unit of its own: steep, and of mixed sign, on units and on loads
    rng = np.random.default_rng(seed)
    units, rows, blocks = [], [], []
    for _ in range(3):
        count = int(rng.integers(2, 7))
        slopes = np.sort(rng.uniform(-40, 120, count))
        widths = rng.uniform(5, 60, count)
        x = np.r_[0, np.cumsum(widths)] - (widths.sum() / 2 if rng.uniform() < 0.3 else 0)
        y = 7 + np.r_[0, np.cumsum(slopes * widths)]
        units.append({"bus": 1, "pmin": x[0], "pmax": x[-1], "c1": 0})
        rows.append(curve(*zip(x, y, strict=True)))
        blocks.append((x[0], y[0], slopes, widths))
    load = sum(x0 + 0.6 * w.sum() for x0, _, _, w in blocks)
    case = network([load, 0], units, [{"f": 1, "t": 2}]).with_tables(gencost=np.array(rows))
    # merit order by hand: fixed part, then the cheapest blocks first
    rest = load - sum(b[0] for b in blocks)
    cost = sum(b[1] for b in blocks)
    for slope, width in sorted(pair for b in blocks for pair in zip(b[2], b[3], strict=True)):
        taken = min(width, rest)
        cost, rest = cost + slope * taken, rest - taken
    assert answer(case).objective == approx(cost, rel=1e-8)


def test_a_dispatchable_load_consumes_as_long_as_it_gains():
    # it pays 20 for its 30 MW: served from the 10 $/MWh unit, not from the 30 $/MWh one
    gain = {"bus": 2, "pmin": -30, "pmax": 0, "c1": 20}
    assert answer(network([0, 60], [*UNITS, gain], [{"f": 1, "t": 2, "rate": 100}])).gen["PG"][
        2
    ] == approx(-30)
    full = answer(network([0, 90], [*UNITS, gain], [{"f": 1, "t": 2, "rate": 100}]))
    assert full.gen["PG"][2] == approx(-10)
    assert full.bus["LMP"][1] == approx(20)


def test_numbers_beyond_ncost_do_not_count():
    case = two_buses()
    cost = np.array([[2, 0, 0, 2, 10, 0, 99], [2, 0, 0, 3, 0, 30, 0]], dtype=float)
    assert answer(case.with_tables(gencost=cost)).objective == approx(2500)
    zero = np.array([[2, 0, 0, 4, 0, 0, 10, 0], [2, 0, 0, 4, 0, 0, 30, 0]], dtype=float)
    found = answer(case.with_tables(gencost=zero))  # a cubic row whose leading numbers are zero
    assert found.objective == approx(2500)
    assert found.solver == "highs"


def test_cubic_costs():
    # marginal costs meet: 3e-4 p1^2 + 10 = 6e-4 p2^2 + 8, p1 + p2 = 300
    cost = np.array([[2, 0, 0, 4, 1e-4, 0, 10, 0], [2, 0, 0, 4, 2e-4, 0, 8, 0]])
    units = [{"bus": 1, "pmax": 300, "c1": 0}] * 2
    found = answer(network([300, 0], units, [{"f": 1, "t": 2}]).with_tables(gencost=cost))
    p1, p2 = found.gen["PG"]
    assert 3e-4 * p1**2 + 10 == approx(6e-4 * p2**2 + 8, rel=1e-6)
    assert found.bus["LMP"][0] == approx(3e-4 * p1**2 + 10, rel=1e-6)
    assert p1 + p2 == approx(300)


def test_a_cost_that_is_not_convex_is_said_to_be_solved_locally():
    units = [{"bus": 1, "pmax": 300, "c1": 10, "c2": -0.01}, {"bus": 1, "pmax": 300, "c1": 12}]
    found = answer(network([300, 0], units, [{"f": 1, "t": 2}]))
    assert found.objective == approx(2100, rel=1e-6)
    assert "local_optimum" in [f.code for f in found.findings]


def test_too_little_capacity_is_said_in_megawatts():
    found = attempt(two_buses(load=700, rate=500))
    assert (found.status, found.objective) == ("infeasible", None)
    text = found.findings[-1].message
    assert "700 MW" in text
    assert "600 MW" in text
    assert found.parts == {}
    assert len(found.bus) == 0


def test_too_much_minimum_output_is_said():
    units = [{"bus": 1, "pmax": 300, "pmin": 120, "c1": 10}]
    found = attempt(network([50, 0], units, [{"f": 1, "t": 2}]))
    assert found.status == "infeasible"
    assert "120 MW" in found.findings[-1].message
    assert "50 MW" in found.findings[-1].message


def test_power_that_cannot_get_there_is_named_with_its_bus():
    units = [{"bus": 1, "pmax": 300, "c1": 10}]
    found = attempt(network([0, 150], units, [{"f": 1, "t": 2, "rate": 100}]))
    assert found.status == "infeasible"
    assert "50 MW missing (50 at bus 2)" in found.findings[-1].message


def test_a_load_that_was_cut_off_is_not_dropped():
    case = two_buses(rate=0, status=0)
    gen = case.gen.copy()
    gen.loc[1, "GEN_STATUS"] = 0
    found = attempt(case.with_tables(gen=gen))
    assert found.status == "infeasible"
    assert [f.code for f in found.findings] == ["island_created", "infeasible"]
    assert "island of bus 2" in found.findings[-1].message


def test_no_lower_bound():
    units = [
        {"bus": 1, "pmax": np.inf, "c1": 10},
        {"bus": 1, "pmin": -np.inf, "pmax": 10, "c1": 30},
    ]
    found = attempt(network([10, 0], units, [{"f": 1, "t": 2}]))
    assert (found.status, found.objective) == ("unbounded", None)


def test_islands_balance_themselves(mirror):
    # bus 7 with 125 MW and three units of 100 MW is cut off; 63696.739 by CVXPY/Clarabel
    case = read_case(mirror / "opf" / "cases" / "pglib_opf_case24_ieee_rts.m")
    branch = case.branch.copy()
    lost = (branch["F_BUS"] == 7) & (branch["T_BUS"] == 8)
    branch.loc[lost, "BR_STATUS"] = 0
    case = case.with_tables(branch=branch)
    found = solve(case)
    assert found.objective == approx(63696.739, rel=1e-7)
    assert [f.code for f in found.findings] == ["island_created"]
    at_seven = found.gen.loc[found.gen["GEN_BUS"] == 7, "PG"].sum()
    assert at_seven == approx(125, abs=1e-4)
    assert np.isnan(found.branch.loc[lost, "PF"]).all()
    assert found.branch.loc[lost, "IN_SERVICE"].tolist() == [0.0]
