"""What of a case is in service: islands, references, limits, and what a program depends on."""

import numpy as np
import pytest
from extension_networks import network, two_buses

from headwater.opf.case import read_case, shipped_case
from headwater.opf.network import network_of, parameters, signature

LINES = [{"f": 1, "t": 2}, {"f": 2, "t": 3}, {"f": 3, "t": 4}]
UNITS = [{"bus": 1, "pmax": 100, "c1": 1}, {"bus": 4, "pmax": 50, "c1": 1}]


def four(**tables):
    case = network([0, 10, 20, 0], UNITS, LINES)
    return case.with_tables(**tables)


def edited(case, table, row, column, value):
    new = getattr(case, table).copy()
    new.loc[row, column] = value
    return case.with_tables(**{table: new})


def test_an_outage_makes_islands_with_a_reference_each():
    found = network_of(edited(four(), "branch", 1, "BR_STATUS", 0))
    assert found.island.tolist() == [0, 0, 1, 1]
    assert found.numbers[found.reference].tolist() == [1, 4]  # the largest unit of the new one
    codes = [f.code for f in found.findings]
    assert codes == ["island_created"]
    assert "bus 3, 4" in found.findings[0].message
    assert "50 MW of capacity for 20 MW" in found.findings[0].message


def test_isolated_buses_take_their_elements_with_them():
    found = network_of(edited(four(), "bus", 3, "BUS_TYPE", 4))
    assert found.numbers.tolist() == [1, 2, 3]
    assert found.gen_rows.tolist() == [0]
    assert found.branch_rows.tolist() == [0, 1]


def test_a_network_without_reference_gets_one_and_says_so():
    found = network_of(edited(four(), "bus", 0, "BUS_TYPE", 1))
    assert found.numbers[found.reference].tolist() == [1]
    assert [f.code for f in found.findings] == ["no_reference_bus"]


def test_bus_numbers_are_labels():
    case = read_case(shipped_case("case300"))
    found = network_of(case)
    assert found.bus_index(9533) == 299
    ends = case.branch[["F_BUS", "T_BUS"]].to_numpy()[found.branch_rows]
    assert np.array_equal(found.numbers[found.f], ends[:, 0])
    assert np.array_equal(found.numbers[found.t], ends[:, 1])
    with pytest.raises(KeyError):
        found.bus_index(12345)


@pytest.mark.parametrize("none", [0.0, np.inf, 1e10])
def test_no_rating_is_read_as_none(none):
    assert network_of(two_buses(rate=none)).rated.tolist() == []
    assert network_of(two_buses(rate=9900)).rated.tolist() == [0]


@pytest.mark.parametrize(
    ("low", "high", "limited", "wanted"),
    [
        (0, 0, False, None),
        (-360, 360, False, None),
        (-30, 30, True, (-30, 30)),
        (0, 20, True, (-np.inf, 20)),
        (-10, 360, True, (-10, np.inf)),
    ],
)
def test_angle_limits_of_0_and_360_are_none(low, high, limited, wanted):
    case = edited(two_buses(), "branch", 0, "ANGMIN", float(low))
    case = edited(case, "branch", 0, "ANGMAX", float(high))
    found = network_of(case)
    assert bool(len(found.angle_limited)) is limited
    if limited:
        values = parameters(case, found)
        got = np.rad2deg([values["angmin"][0], values["angmax"][0]])
        assert got == pytest.approx(wanted)


def test_pmax_of_zero_is_zero_and_large_numbers_are_none():
    case = edited(two_buses(), "gen", 0, "PMAX", 0.0)
    case = edited(case, "gen", 1, "QMAX", 1e10)
    values = parameters(case, network_of(case))
    assert values["pmax"][0] == 0
    assert values["qmax"][1] == np.inf


def test_costs_are_per_mw_whatever_the_base():
    for base in (1.0, 100.0, 250.0):
        case = network([10], [{"bus": 1, "pmax": 50, "c1": 7, "c2": 0.3, "c0": 2}], base=base)
        cost = parameters(case, network_of(case))["cost"][0]
        p = 20 / base
        assert cost @ [1, p, p * p] == pytest.approx(2 + 7 * 20 + 0.3 * 400)


def test_numbers_do_not_change_the_signature_but_topology_does():
    case = four()
    same = edited(edited(case, "bus", 1, "PD", 77.0), "branch", 0, "BR_X", 0.3)
    assert signature(network_of(same)) == signature(network_of(case))
    for other in (
        edited(case, "branch", 0, "BR_STATUS", 0.0),
        edited(case, "gen", 1, "GEN_STATUS", 0.0),
        edited(case, "branch", 0, "RATE_A", 5.0),
        edited(case, "branch", 0, "ANGMAX", 5.0),
        case.with_tables(base_mva=50.0),
    ):
        assert signature(network_of(other)) != signature(network_of(case))


def test_reading_the_case_is_noted_except_where_it_follows():
    found = network_of(four())
    with found.unwatched():
        found.values()
    assert not found.watch["read"]
    found.values()
    assert found.watch["read"]
