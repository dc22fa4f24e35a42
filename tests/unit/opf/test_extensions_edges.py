"""Extensions where there is little to extend: no rating, no such bus in service, no numbers."""

import pytest
from extension_networks import answer, attempt, network, two_buses
from pytest import approx

from headwater.core.errors import InputError
from headwater.opf.extensions import REGISTRY

TIGHT = 1e-7


@pytest.mark.parametrize(
    ("formulation", "item"),
    [
        ("DCOPF", {"name": "congestion_cost", "price": 10}),
        ("ACOPF", {"name": "congestion_cost", "price": 10}),
        ("SOCP", {"name": "congestion_cost", "price": 10}),
        ("DCOPF", {"name": "soft_line_limits", "penalty": 1}),
        ("ACOPF", {"name": "soft_line_limits", "penalty": 1}),
        ("SOCP", {"name": "soft_line_limits", "penalty": 1}),
        ("DCOPF", {"name": "n1_security"}),
        ("DCOPF", {"name": "corrective_security", "corrective_mw": 1}),
        ("DCOPF", {"name": "robust_line_limits", "buses": [2], "delta_mw": 5}),
        ("DCOPF", {"name": "transmission_switching", "max_open": 0}),
    ],
)
def test_a_network_without_any_rating(formulation, item):
    case = two_buses(load=100, rate=0)
    found = answer(case, item, formulation=formulation)
    assert found.objective == approx(1000, rel=1e-5)


def test_a_bus_out_of_service_is_none():
    units = [{"bus": 1, "pmax": 300, "c1": 10}]
    case = network([0, 100, 0], units, [{"f": 1, "t": 2}, {"f": 2, "t": 3}])
    case.bus.loc[2, "BUS_TYPE"] = 4
    offers = {"name": "procurement_cost", "offers": [{"bus": 3, "max_mw": 9, "price": 1}]}
    with pytest.raises(InputError, match=r"unknown_bus.*offers.*bus 3.*in service"):
        attempt(case, offers)


def test_a_branch_out_of_service_can_neither_fail_nor_be_opened():
    lines = [{"f": 1, "t": 2, "rate": 100}, {"f": 1, "t": 2, "rate": 100, "status": 0}]
    units = [{"bus": 1, "pmax": 300, "c1": 10}, {"bus": 2, "pmax": 300, "c1": 30}]
    case = network([0, 150], units, lines)
    second = [{"fbus": 1, "tbus": 2, "circuit": 2}]
    secure = answer(case, {"name": "n1_security", "contingencies": second})
    assert secure.objective == approx(2500, rel=TIGHT)
    opened = answer(case, {"name": "transmission_switching", "max_open": 1, "candidates": second})
    assert opened.objective == approx(2500, rel=TIGHT)
    assert opened.extras["transmission_switching"]["open"] == []


def test_parallel_branches_are_told_apart_in_the_answer():
    lines = [{"f": 1, "t": 2, "rate": 10}, {"f": 1, "t": 2, "rate": 200}]
    units = [{"bus": 1, "pmax": 300, "c1": 10}, {"bus": 2, "pmax": 300, "c1": 30}]
    case = network([0, 150], units, lines)
    assert answer(case).objective == approx(20 * 10 + 130 * 30, rel=TIGHT)
    found = answer(case, {"name": "transmission_switching", "max_open": 1})
    assert found.objective == approx(1500, rel=TIGHT)
    assert found.extras["transmission_switching"]["open"] == ["1-2 (row 1)"]


def test_two_islands_keep_their_own_books():
    units = [{"bus": 1, "pmax": 300, "c1": 10}, {"bus": 3, "pmax": 300, "c1": 20}]
    lines = [{"f": 1, "t": 2, "rate": 100}, {"f": 3, "t": 4, "rate": 100}]
    case = network([0, 50, 0, 60], units, lines)
    wind = {"name": "chance_line_limits", "bus": 4, "mean_mw": 5, "std_mw": 2, "epsilon": 0.05}
    found = answer(case, wind)
    assert found.objective == approx(500 + 55 * 20, rel=TIGHT)
    margin = found.extras["chance_line_limits"]["rate_margin_mw"]
    assert margin[0] == approx(0, abs=1e-9) and margin[1] == approx(3.2897, abs=1e-3)


def test_the_extras_of_every_extension_are_plain_data():
    import json

    case = two_buses()
    shed = {"name": "load_shedding", "voll": 1000}
    found = answer(case, shed, {"name": "horizon", "load_multipliers": [1.0, 0.5]})
    assert len(found.extras["load_shedding"]) == 2
    json.dumps(found.extras, allow_nan=False)
    for name, module in REGISTRY.items():
        assert callable(module.apply), name
