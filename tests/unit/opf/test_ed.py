"""Economic dispatch: merit order, equal marginal costs, and DCOPF without binding limits."""

import pytest
from extension_networks import answer, attempt, network, one_bus, two_buses
from pytest import approx

from headwater.opf.case import read_case, shipped_case
from headwater.opf.engine import solve

TWO = ({"pmax": 300, "c1": 10, "c2": 0.01}, {"pmax": 300, "c1": 8, "c2": 0.02})


@pytest.mark.parametrize("formulation", ["ED", "DCOPF", "ACOPF", "SOCP"])
def test_two_units_share_a_load(formulation):
    # 0.02 p1 + 10 = 0.04 p2 + 8 and p1 + p2 = 300
    found = answer(one_bus((300, 0), *TWO), formulation=formulation)
    assert found.gen["PG"].tolist() == approx([166.6667, 133.3333], abs=2e-3)
    assert found.bus["LMP"][0] == approx(13.3333, abs=1e-4)
    assert found.objective == approx(3366.6667, rel=1e-7)


def test_limits_of_lines_do_not_count():
    assert answer(two_buses(), formulation="ED").objective == approx(1500)
    assert answer(two_buses(), formulation="ED").bus["LMP"].tolist() == approx([10, 10])


def test_it_equals_dcopf_where_no_limit_binds():
    case = read_case(shipped_case("case30"))
    found = [solve(case, {"formulation": f}).objective for f in ("ED", "DCOPF")]
    assert found == approx([565.205966, 565.205966], rel=1e-8)


def test_shunts_count_as_load():
    case = network([100], [{"bus": 1, "pmax": 300, "c1": 10}])
    bus = case.bus.copy()
    bus["GS"] = 5.0
    assert answer(case.with_tables(bus=bus), formulation="ED").objective == approx(1050)


def test_no_units_and_no_branches():
    assert answer(network([0], []), formulation="ED").objective == approx(0)
    found = attempt(network([10], []), formulation="ED")
    assert found.status == "infeasible"
    assert "10 MW" in found.findings[-1].message
    for formulation in ("DCOPF", "ACOPF", "SOCP"):
        assert attempt(network([10], []), formulation=formulation).status == "infeasible"
        unit = {"bus": 1, "pmax": 20, "c1": 3}
        assert answer(network([10], [unit]), formulation=formulation).objective == approx(30)
