"""Costs and bids: optima worked out by hand on one and two buses."""

import numpy as np
import pytest
from extension_networks import answer, attempt, network, one_bus, two_buses
from pytest import approx
from scipy.optimize import brentq

TIGHT = 1e-7
ALL = ("DCOPF", "ED", "ACOPF", "SOCP")


def test_angle_penalty_balances_two_prices():
    # 10 p1 + 20 p2 + beta theta^2 with theta = x p1 / S: 20 - 10 = 2 beta (x / S)^2 p1.
    units = [{"bus": 1, "pmax": 300, "c1": 10}, {"bus": 2, "pmax": 300, "c1": 20}]
    case = network([0, 100], units, [{"f": 1, "t": 2, "x": 0.1}])
    found = answer(case, {"name": "angle_difference_penalty", "beta": 1e5})
    assert found.gen["PG"].tolist() == approx([50, 50], abs=1e-5)
    assert found.objective == approx(500 + 1000 + 1e5 * 0.05**2, rel=TIGHT)


def test_every_parallel_branch_in_service_pays_the_angle_penalty():
    units = [{"bus": 1, "pmax": 300, "c1": 10}]
    lines = [{"f": 1, "t": 2}, {"f": 2, "t": 1}, {"f": 1, "t": 2, "status": 0}]
    case = network([0, 100], units, lines)
    found = answer(case, {"name": "angle_difference_penalty", "beta": 1e4})
    assert found.objective == approx(1000 + 2 * 1e4 * 0.05**2, rel=TIGHT)  # 50 MW each


def test_angle_penalty_in_ac_is_the_same_formula():
    # v = 1 and no losses: sin(theta) = x p; p2 gives the rest
    units = [{"bus": 1, "pmax": 300, "c1": 10}, {"bus": 2, "pmax": 300, "c1": 20}]
    case = network([0, 100], units, [{"f": 1, "t": 2, "x": 0.1}], v=(1.0, 1.0))
    found = answer(case, {"name": "angle_difference_penalty", "beta": 1e5}, formulation="ACOPF")
    # dC/dtheta = 0: 10 S cos(theta) / x = 2 beta theta
    theta = brentq(lambda a: 10 * 100 * np.cos(a) / 0.1 - 2e5 * a, 0.0, 1.0)
    p1 = 100 * np.sin(theta) / 0.1
    assert found.gen["PG"].tolist() == approx([p1, 100 - p1], abs=1e-4)
    assert found.objective == approx(10 * p1 + 20 * (100 - p1) + 1e5 * theta**2, rel=1e-7)


def test_voltage_penalty_beyond_the_limit_is_exact_at_every_bus():
    item = {"name": "voltage_deviation_penalty", "beta": 1000, "v_ref": 1.15}
    found = answer(one_bus(50, {"pmax": 100, "c1": 10}), item, formulation="ACOPF")
    assert found.objective == approx(500 + 2 * 1000 * 0.05**2, rel=1e-6)  # two buses at 1.1
    free = answer(one_bus(50, {"pmax": 100, "c1": 10}), item | {"v_ref": 1.02}, formulation="ACOPF")
    assert free.objective == approx(500, rel=1e-7)
    assert free.bus["VM"].tolist() == approx([1.02, 1.02], abs=1e-4)


def reactive(unit="$/MVAr^2", **curve):
    return {"name": "reactive_generation_cost", "unit": unit} | curve


@pytest.mark.parametrize("formulation", ["ACOPF", "SOCP"])
def test_reactive_cost_in_mvar_and_per_unit(formulation):
    # Equal curves share 30 MVAr: 15 each, 2 * 0.2 * 225 = 90 $/h.
    case = one_bus((50, 30), {"pmax": 100, "c1": 10}, {"pmax": 100, "c1": 10})
    found = answer(case, reactive(c2=0.2), formulation=formulation)
    assert found.parts["reactive_generation_cost"] == approx(90, rel=1e-5)
    # The same number taken per unit is smaller by the squared base power.
    small = answer(case, reactive("$/p.u.^2", c2=2000), formulation=formulation)
    assert small.parts["reactive_generation_cost"] == approx(90, rel=1e-5)
    # 0.1 q1^2 + 0.3 q2^2 + q1 + 2: equal slopes 0.2 q1 + 1 = 0.6 q2 at q1 + q2 = 30
    curve = reactive(c2=[0.1, 0.3], c1=[1, 0], c0=[2, 0])
    found = answer(case, curve, formulation=formulation)
    q1 = (0.6 * 30 - 1) / 0.8
    expected = 0.1 * q1**2 + 0.3 * (30 - q1) ** 2 + q1 + 2
    assert found.parts["reactive_generation_cost"] == approx(expected, rel=1e-6)


def lossy(load=50.0):
    """Voltages held at 1 p.u. at both ends of a line with losses; only the far unit is dear."""
    units = [{"bus": 1, "pmax": 300, "c1": 10}, {"bus": 2, "pmax": 0, "c1": 0}]
    line = {"f": 1, "t": 2, "r": 0.05, "x": 0.1}
    return network([0, load], units, [line], v=(1.0, 1.0))


def loss_of(load):
    """Loss of that line, MW: received P = g (cos d - 1) + b sin d, lost 2 g (1 - cos d)."""
    y = 1 / (0.05 + 0.1j)
    g, b = y.real, -y.imag
    angle = brentq(lambda d: g * (np.cos(d) - 1) + b * np.sin(d) - load / 100, 0, 0.5)
    return 100 * 2 * g * (1 - np.cos(angle))


def test_losses_can_be_all_of_the_objective():
    item = {"op": "replace", "name": "active_power_loss"}
    found = answer(lossy(), item, formulation="ACOPF")
    assert found.objective == approx(loss_of(50), rel=1e-6)
    assert found.parts == approx({"active_power_loss": found.objective})
    assert found.extras["active_power_loss"]["loss_mw"] == approx(loss_of(50), rel=1e-6)


def test_losses_can_be_paid_beside_generation():
    found = answer(lossy(), {"name": "active_power_loss", "price": 7}, formulation="ACOPF")
    assert found.objective == approx(10 * (50 + loss_of(50)) + 7 * loss_of(50), rel=1e-6)


def test_demand_response_is_bought_below_the_price_of_the_dear_unit():
    bids = {"name": "demand_response", "bids": [{"bus": 2, "max_mw": 30, "price": 15}]}
    found = answer(two_buses(), bids)
    assert found.objective == approx(100 * 10 + 20 * 30 + 30 * 15, rel=TIGHT)
    dear = {"name": "demand_response", "bids": [{"bus": 2, "max_mw": 30, "price": 31}]}
    assert answer(two_buses(), dear).objective == approx(2500, rel=TIGHT)


def test_no_more_than_the_demand_responds():
    bids = [{"bus": 2, "max_mw": 90, "price": 1}, {"bus": 2, "max_mw": 90, "price": 2}]
    item = {"name": "demand_response", "bids": bids}
    found = answer(two_buses(), item)
    # 150 MW in all: 90 at 1 and 60 at 2 $/MWh, so that no unit runs
    assert found.objective == approx(90 + 120, rel=TIGHT)
    at_one = {"name": "demand_response", "bids": [{"bus": 1, "max_mw": 90, "price": 1}]}
    assert answer(two_buses(), at_one).objective == approx(2500, rel=TIGHT)


def test_demand_response_keeps_the_power_factor_or_not():
    case = one_bus((100, 50), {"pmax": 200, "c1": 10})
    item = {"name": "demand_response", "bids": [{"bus": 1, "max_mw": 40, "price": 1}]}
    found = answer(case, item, formulation="ACOPF")
    assert found.gen["QG"][0] == approx(30, abs=1e-4)
    kept = answer(case, item | {"power_factor": "unchanged"}, formulation="ACOPF")
    assert kept.gen["QG"][0] == approx(50, abs=1e-4)


@pytest.mark.parametrize("formulation", ALL)
def test_elastic_demand_is_served_as_long_as_it_pays(formulation):
    blocks = [[20, 50], [20, 25], [20, 5]]
    item = {"name": "social_welfare", "bids": [{"bus": 1, "blocks": blocks}]}
    # 70 MW fixed; the cheap unit has 30 MW left, 20 for the first block and 10 for the second
    case = one_bus(70, {"pmax": 100, "c1": 10}, {"pmax": 100, "c1": 30})
    found = answer(case, item, formulation=formulation)
    assert found.objective == approx(1000 - 20 * 50 - 10 * 25, abs=1e-3)
    assert found.extras["social_welfare"]["elastic_mw"] == approx([20, 10, 0], abs=1e-3)


@pytest.mark.parametrize("formulation", ALL)
def test_free_wind_is_used_and_what_is_too_much_is_curtailed(formulation):
    case = one_bus(100, {"pmax": 100, "pmin": 30, "c1": 10})
    item = {"name": "renewable_curtailment"}
    units = [{"bus": 1, "forecast_mw": 50, "price": 7}]
    found = answer(case, item | {"units": units}, formulation=formulation)
    assert found.objective == approx(500, rel=1e-5)
    # the unit cannot go below 30 MW, so that 20 of 90 MW are curtailed
    much = [units[0] | {"forecast_mw": 90}]
    found = answer(case, item | {"units": much}, formulation=formulation)
    assert found.objective == approx(300 + 20 * 7, rel=1e-5)
    assert found.extras["renewable_curtailment"]["curtailed_mw"] == approx([20], abs=1e-3)


@pytest.mark.parametrize("formulation", ALL)
def test_power_is_procured_where_it_is_cheaper(formulation):
    offers = [{"bus": 2, "max_mw": 30, "price": 20}, {"bus": 1, "max_mw": 30, "price": 11}]
    case = one_bus(120, {"pmax": 100, "c1": 10}, {"pmax": 100, "c1": 30})
    item = {"name": "procurement_cost", "offers": offers}
    found = answer(case, item, formulation=formulation)
    assert found.objective == approx(100 * 10 + 20 * 11, rel=1e-5)
    assert found.extras["procurement_cost"]["procured_mw"] == approx([0, 20], abs=1e-3)


def test_procurement_sits_behind_the_line():
    offers = [{"bus": 2, "max_mw": 30, "price": 20}, {"bus": 1, "max_mw": 30, "price": 1}]
    found = answer(two_buses(), {"name": "procurement_cost", "offers": offers})
    assert found.objective == approx(30 * 1 + 70 * 10 + 30 * 20 + 20 * 30, rel=TIGHT)


@pytest.mark.parametrize("formulation", ALL)
def test_redispatch_costs_only_what_moves(formulation):
    case = network(
        [0, 150],
        [
            {"bus": 1, "pmax": 300, "c1": 10, "pg": 150},
            {"bus": 2, "pmax": 300, "c1": 30, "pg": 0},
        ],
        [{"f": 1, "t": 2, "rate": 100 if formulation == "DCOPF" else 0}],
    )
    item = {"name": "redispatch_cost", "up": 5, "down": 2}
    found = answer(case, item, formulation=formulation)
    if formulation == "DCOPF":  # 50 MW have to move from the cheap to the dear unit
        assert found.objective == approx(50 * 7, rel=TIGHT)
        assert found.extras["redispatch_cost"]["up_mw"] == approx([0, 50], abs=1e-6)
    else:
        assert found.objective == approx(0, abs=1e-3)
    schedule = item | {"schedule_mw": [90, 60]}
    found = answer(case, schedule, formulation=formulation)
    assert found.objective == approx(0, abs=1e-3)


def test_redispatch_beside_the_cost_of_generation_and_with_prices_that_earn_for_ever():
    units = [{"bus": 1, "pmax": 300, "c1": 10, "pg": 40}, {"bus": 2, "pmax": 300, "c1": 30}]
    case = network([0, 50], units, [{"f": 1, "t": 2}])
    both = {"op": "add", "name": "redispatch_cost", "up": 5, "down": 2}
    assert answer(case, both).objective == approx(50 * 10 + 10 * 5, rel=TIGHT)
    from headwater.core.errors import InputError

    with pytest.raises(InputError, match=r"up \+ down = -1"):
        attempt(case, {"name": "redispatch_cost", "up": 5, "down": -6})


@pytest.mark.parametrize("formulation", ["ACOPF", "SOCP"])
def test_reactive_room_is_kept_where_it_is_worth_most(formulation):
    units = [{"pmax": 100, "c1": 10, "qmin": 0, "qmax": 50} for _ in range(2)]
    item = {"name": "reactive_reserve", "weight": [1, 2]}
    found = answer(one_bus((50, 30), *units), item, formulation=formulation)
    assert found.parts["reactive_reserve"] == approx(-(20 + 2 * 50), rel=1e-5)


@pytest.mark.parametrize(("price", "cost"), [(1000, 2500 + 1000), (3000, 150 * 30)])
def test_congestion_has_a_price_for_the_loading(price, cost):
    # 1000 $ per loading of 100 MW are 10 $/MW, less than the 20 that the line saves.
    found = answer(two_buses(), {"name": "congestion_cost", "price": price})
    assert found.objective == approx(cost, rel=TIGHT)


def test_congestion_counts_the_mean_over_the_rated_branches():
    lines = [{"f": 1, "t": 2, "rate": 100}, {"f": 2, "t": 1, "rate": 80}, {"f": 1, "t": 2}]
    units = [{"bus": 1, "pmax": 300, "c1": 10}]
    found = answer(network([0, 90], units, lines), {"name": "congestion_cost", "price": 60})
    assert found.parts["congestion_cost"] == approx(60 * (0.3 + 30 / 80) / 2, rel=TIGHT)


@pytest.mark.parametrize("formulation", ["ACOPF", "SOCP"])
def test_congestion_in_ac_is_the_apparent_power_at_the_fuller_end(formulation):
    found = answer(
        two_buses(r=0.01), {"name": "congestion_cost", "price": 100}, formulation=formulation
    )
    loading = found.branch[["SF", "ST"]].to_numpy().max() / 100
    assert found.parts["congestion_cost"] == approx(100 * loading, rel=1e-5)
    assert found.extras["congestion_cost"]["loading"] == approx([loading], rel=1e-5)
