"""Reserves, emissions, shedding: optima worked out by hand on one and two buses."""

import numpy as np
import pytest
from extension_networks import answer, attempt, network, one_bus, two_buses
from pytest import approx

TIGHT = 1e-7


def cheap_and_dear(load=120.0):
    return one_bus(load, {"pmax": 100, "c1": 10}, {"pmax": 100, "c1": 30})


@pytest.mark.parametrize("name", ["spinning_reserve_requirement", "regulation_up_requirement"])
@pytest.mark.parametrize("formulation", ["DCOPF", "ED", "ACOPF", "SOCP"])
def test_reserve_pushes_the_cheap_unit_down(name, formulation):
    # Without: 100 * 10 + 20 * 30 = 1600. The dear unit may hold 50, so the cheap one holds 10
    # and makes 90; the dear one makes 30: 900 + 900.
    item = {"name": name, "unit_cap_mw": 50, "requirement_mw": 60}
    found = answer(cheap_and_dear(), item, formulation=formulation)
    assert found.objective == approx(1800, rel=1e-6)
    assert found.gen["PG"].tolist() == approx([90, 30], abs=1e-3)
    assert found.extras[name]["held_mw"] == approx([10, 50], abs=1e-3)


def test_reserve_that_is_there_anyway_costs_nothing():
    item = {"name": "spinning_reserve_requirement", "unit_cap_mw": 50, "requirement_mw": 50}
    assert answer(cheap_and_dear(), item).objective == approx(1600, rel=TIGHT)


def test_a_price_of_reserve_and_caps_of_each_unit():
    # 30 from the unit that asks 2 $/MW and 30 from the other at 5: the cheap unit makes 70.
    item = {
        "name": "spinning_reserve_requirement",
        "unit_cap_mw": [40, 30],
        "requirement_mw": 60,
        "price": [5, 2],
    }
    found = answer(cheap_and_dear(), item)
    assert found.objective == approx(70 * 10 + 50 * 30 + 30 * 5 + 30 * 2, rel=TIGHT)
    assert found.parts["spinning_reserve_requirement"] == approx(210, rel=TIGHT)


def test_real_reserve_cost_is_the_same_price_said_elsewhere():
    held = {
        "name": "spinning_reserve_requirement",
        "unit_cap_mw": [40, 30],
        "requirement_mw": 60,
    }
    apart = answer(cheap_and_dear(), held, {"name": "real_reserve_cost", "price": [5, 2]})
    assert apart.objective == approx(70 * 10 + 50 * 30 + 210, rel=TIGHT)
    assert apart.parts["real_reserve_cost"] == approx(210, rel=TIGHT)


def test_two_products_are_not_sold_out_of_the_same_room():
    # 120 MW of load and 60 + 20 MW of two products out of 200 MW: the cheap unit makes 70.
    spinning = {"name": "spinning_reserve_requirement", "unit_cap_mw": 50, "requirement_mw": 60}
    regulation = {"name": "regulation_up_requirement", "unit_cap_mw": 10, "requirement_mw": 20}
    found = answer(cheap_and_dear(), spinning, regulation)
    # each unit gives 10 of regulation; the dear one 50 of spinning and 40 of energy
    assert found.gen["PG"].tolist() == approx([80, 40], abs=1e-6)
    assert found.objective == approx(2000, rel=TIGHT)
    total = np.sum([found.extras[n["name"]]["held_mw"] for n in (spinning, regulation)], axis=0)
    assert (found.gen["PG"].to_numpy() + total <= 100 + 1e-6).all()


def test_a_zone_needs_its_own_reserve():
    units = [{"bus": 1, "pmax": 200, "c1": 10}, {"bus": 2, "pmax": 60, "c1": 8}]
    case = network([100, 40], units, [{"f": 1, "t": 2}])
    item = {
        "name": "spinning_reserve_requirement",
        "unit_cap_mw": 100,
        "requirement_mw": 0,
        "zones": [{"buses": [2], "requirement_mw": 25}],
    }
    # the unit at bus 2 is the cheaper one but keeps 25 of its 60 MW
    assert answer(case, item).objective == approx(35 * 8 + 105 * 10, rel=TIGHT)


def test_more_reserve_than_there_is_room_is_infeasible():
    item = {"name": "spinning_reserve_requirement", "unit_cap_mw": 100, "requirement_mw": 81}
    found = attempt(cheap_and_dear(), item)
    assert found.status == "infeasible" and found.objective is None


@pytest.mark.parametrize("formulation", ["DCOPF", "ED", "ACOPF", "SOCP"])
def test_an_emission_cap_moves_output_to_the_clean_unit(formulation):
    # a + b = 100 and a + b / 2 = 80: a = 60, b = 40
    cap = {"name": "emission_cap", "rates_t_per_mwh": [1.0, 0.5], "cap_t_per_h": 80}
    found = answer(cheap_and_dear(100), cap, formulation=formulation)
    assert found.objective == approx(60 * 10 + 40 * 30, rel=1e-6)
    assert found.extras["emission_cap"]["emission_t_per_h"] == approx(80, rel=1e-6)


def test_a_unit_out_of_service_emits_nothing_and_keeps_its_place_in_the_list():
    units = [
        {"pmax": 100, "c1": 10},
        {"pmax": 100, "c1": 1, "status": 0},
        {"pmax": 100, "c1": 30},
    ]
    cap = {"name": "emission_cap", "rates_t_per_mwh": [1.0, 9.0, 0.5], "cap_t_per_h": 80}
    assert answer(one_bus(100, *units), cap).objective == approx(1800, rel=TIGHT)


def test_an_emission_price_changes_the_order_of_merit():
    # 10 + 60 * 1.0 = 70 against 30 + 60 * 0.5 = 60 $/MWh: the clean unit makes all 100 MW
    price = {"name": "emission_cost", "price": 60, "beta": [1.0, 0.5]}
    found = answer(cheap_and_dear(100), price)
    assert found.objective == approx(6000, rel=TIGHT)
    assert found.parts == approx({"generation": 3000, "emission_cost": 3000}, rel=TIGHT)


def test_the_quadratic_emission_curve_shares_the_load():
    # Equal costs; emissions a p^2 with a and 3 a share a load of 80 as 60 and 20.
    case = one_bus(80, {"pmax": 100, "c1": 10}, {"pmax": 100, "c1": 10})
    item = {"name": "emission_cost", "price": 2, "alpha": [0.01, 0.03], "gamma": [5, 7]}
    found = answer(case, item)
    assert found.gen["PG"].tolist() == approx([60, 20], abs=1e-5)
    assert found.objective == approx(800 + 2 * (36 + 12 + 12), rel=TIGHT)


@pytest.mark.parametrize("formulation", ["DCOPF", "ED", "ACOPF"])
def test_the_exponential_emission_curve_is_that_of_the_formula(formulation):
    case = one_bus(50, {"pmax": 100, "c1": 10})
    item = {"name": "emission_cost", "price": 3, "zeta": 0.2, "lambda": 0.04, "beta": 0.1}
    found = answer(case, item, formulation=formulation)
    emitted = 0.2 * np.exp(0.04 * 50) + 0.1 * 50
    assert found.objective == approx(500 + 3 * emitted, rel=1e-6)


@pytest.mark.parametrize("formulation", ["DCOPF", "ACOPF", "SOCP"])
def test_what_the_line_cannot_bring_is_shed(formulation):
    units = [{"bus": 1, "pmax": 300, "c1": 10}, {"bus": 2, "pmax": 0, "c1": 0}]
    case = network([0, 150], units, [{"f": 1, "t": 2, "rate": 100}], v=(0.99, 1.01))
    found = answer(case, {"name": "load_shedding", "voll": 1000}, formulation=formulation)
    if formulation == "DCOPF":
        assert found.objective == approx(100 * 10 + 50 * 1000, rel=TIGHT)
    shed = found.extras["load_shedding"]["shed_mw"]
    assert shed[0] == approx(0, abs=1e-3) and shed[1] == approx(50, abs=0.5)


def test_shedding_keeps_the_power_factor_or_not():
    # One bus that has 60 MW and any MVAr for 100 MW and 50 MVAr: 40 MW are shed.
    case = one_bus((100, 50), {"pmax": 60, "c1": 10})
    item = {"name": "load_shedding", "voll": 100}
    found = answer(case, item, formulation="ACOPF")
    assert found.objective == approx(600 + 4000, rel=1e-6)
    assert found.gen["QG"][0] == approx(50 * 0.6, abs=1e-4)
    kept = answer(case, item | {"power_factor": "unchanged"}, formulation="ACOPF")
    assert kept.gen["QG"][0] == approx(50, abs=1e-4)


def test_shedding_has_a_price_for_each_bus_and_a_largest_share():
    case = network([50, 50], [{"bus": 1, "pmax": 70, "c1": 10}], [{"f": 1, "t": 2}])
    shed = {"name": "load_shedding", "voll": [200, 100]}
    assert answer(case, shed).objective == approx(700 + 30 * 100, rel=TIGHT)
    # at most 40 % of each load: 20 at bus 2, 10 at bus 1
    assert answer(case, shed | {"max_fraction": 0.4}).objective == approx(
        700 + 20 * 100 + 10 * 200, rel=TIGHT
    )
    assert attempt(case, shed | {"max_fraction": 0.2}).status == "infeasible"


def test_a_high_value_of_lost_load_sheds_nothing_where_all_can_be_served():
    found = answer(two_buses(), {"name": "load_shedding", "voll": 1e4})
    assert found.objective == approx(2500, rel=TIGHT)
    assert found.extras["load_shedding"]["shed_mw"] == approx([0, 0], abs=1e-6)
