"""Several periods: ramps, storage, commitment, by hand and by enumeration."""

import itertools

import numpy as np
import pytest
from extension_networks import answer, attempt, network, one_bus, two_buses
from pytest import approx

from headwater.core.errors import InputError

TIGHT = 1e-7
ALL = ("DCOPF", "ED", "ACOPF", "SOCP")


def horizon(*multipliers, **more):
    return {"name": "horizon", "load_multipliers": list(multipliers)} | more


def cheap_and_dear(load=100.0):
    return one_bus(load, {"pmax": 200, "c1": 10}, {"pmax": 200, "c1": 30})


@pytest.mark.parametrize("formulation", ALL)
def test_periods_add_up_with_their_hours(formulation):
    case = two_buses(load=100, rate=0)
    found = answer(case, horizon(1.0, 1.5, 0.5), formulation=formulation)
    assert found.objective == approx(10 * (100 + 150 + 50), rel=1e-5)
    unequal = horizon(1.0, 1.5, 0.5, hours=[0.5, 1.0, 2.0])
    found = answer(case, unequal, formulation=formulation)
    assert found.objective == approx(10 * (50 + 150 + 100), rel=1e-5)


def test_a_profile_replaces_the_demand_of_its_bus():
    case = network([40, 60], [{"bus": 1, "pmax": 300, "c1": 10}], [{"f": 1, "t": 2}])
    profile = [{"bus": 2, "pd_mw": [10.0, 90.0]}]
    found = answer(case, horizon(1.0, 0.5, profiles=profile))
    assert found.objective == approx(10 * (40 + 10 + 20 + 90), rel=TIGHT)


def test_lists_that_do_not_fit_the_periods():
    case = cheap_and_dear()
    for more in ({"hours": [1.0]}, {"profiles": [{"bus": 1, "pd_mw": [1.0]}]}):
        with pytest.raises(InputError, match=r"1 entries.*2, one for each load multiplier"):
            attempt(case, horizon(1.0, 1.0, **more))


@pytest.mark.parametrize("formulation", ALL)
def test_a_slow_unit_cannot_follow(formulation):
    # 100 then 160 MW, 40 MW a period: 100 and 140 from the cheap unit, 20 from the dear one
    ramp = {"name": "ramp_limits", "up_mw": [40, 500]}
    case = cheap_and_dear()
    found = answer(case, horizon(1.0, 1.6), ramp, formulation=formulation)
    assert found.objective == approx(1000 + 1400 + 600, rel=1e-5)
    # from 60 MW the first 100 are just within reach, from 50 MW they are not
    with_first = ramp | {"initial_mw": [60, 0]}
    found = answer(case, horizon(1.0, 1.6), with_first, formulation=formulation)
    assert found.objective == approx(1000 + 1400 + 600, rel=1e-5)
    with_first = ramp | {"initial_mw": [50, 0]}  # then 90 and 130
    found = answer(case, horizon(1.0, 1.6), with_first, formulation=formulation)
    assert found.objective == approx(900 + 300 + 1300 + 900, rel=1e-5)


def test_falling_has_its_own_limit():
    ramp = {"name": "ramp_limits", "up_mw": 500, "down_mw": 30}
    case = one_bus(100, {"pmax": 200, "c1": 10})
    assert attempt(case, horizon(1.0, 0.6), ramp).status == "infeasible"
    assert answer(case, horizon(1.0, 0.7), ramp).objective == approx(1700, rel=TIGHT)


def store(**changes):
    unit = {"bus": 1, "energy_mwh": 40, "charge_mw": 30} | changes
    return {"name": "storage", "units": [unit]}


def low_and_high():
    """Load 50, then 150; 100 MW at 10 $/MWh and the rest at 50: 500 + 3500 $."""
    return one_bus(50, {"pmax": 100, "c1": 10}, {"pmax": 100, "c1": 50}), horizon(1.0, 3.0)


@pytest.mark.parametrize("formulation", ALL)
def test_storage_carries_cheap_energy_to_the_dear_hour(formulation):
    case, hours = low_and_high()
    losses = {"charge_efficiency": 0.9, "discharge_efficiency": 0.8}
    found = answer(case, hours, store(**losses), formulation=formulation)
    # 30 MW in, 27 MWh stored, 21.6 MW out instead of the dear unit
    assert found.objective == approx(4000 + 30 * 10 - 21.6 * 50, rel=1e-5)
    assert found.extras["storage"][0]["energy_mwh"] == approx([27], abs=1e-2)
    # 18 MWh is all it holds: 20 MW in, 14.4 MW out
    found = answer(case, hours, store(energy_mwh=18, **losses), formulation=formulation)
    assert found.objective == approx(4000 + 20 * 10 - 14.4 * 50, rel=1e-5)


def test_storage_ends_as_it_began_and_counts_hours():
    case, _ = low_and_high()
    rising = horizon(3.0, 1.0, hours=0.5)
    found = answer(case, rising, store(initial_mwh=10))
    # 10 MWh are 20 MW for half an hour; bought back at 10 $/MWh in the second
    assert found.objective == approx(0.5 * 4000 - 10 * 50 + 10 * 10, rel=TIGHT)
    assert answer(case, rising, store()).objective == approx(2000, rel=TIGHT)
    slow = store(initial_mwh=10, discharge_mw=6)
    assert answer(case, rising, slow).objective == approx(2000 - 3 * 50 + 3 * 10, rel=TIGHT)


def test_storage_relieves_a_line_where_it_stands():
    # 50, then 150 MW behind a line of 100 MW: 40 MWh of the first hour serve the second
    case = two_buses(load=50)
    found = answer(case, horizon(1.0, 3.0), store(bus=2, charge_mw=40))
    assert found.objective == approx(10 * 90 + 10 * 100 + 30 * 10, rel=TIGHT)
    far = answer(case, horizon(1.0, 3.0), store(bus=1, charge_mw=40))
    assert far.objective == approx(500 + 1000 + 1500, rel=TIGHT)


UNITS = [
    {"pmax": 100, "pmin": 50, "c1": 10, "c0": 100, "startup": 500},
    {"pmax": 60, "pmin": 20, "c1": 20, "c0": 50, "startup": 100},
    {"pmax": 40, "pmin": 5, "c1": 40, "c0": 10, "startup": 5, "shutdown": 7},
]


def dispatch(units, on, load):
    """Least cost of units with linear costs by order of merit; infinite where impossible."""
    low = sum(u["pmin"] for u, state in zip(units, on, strict=True) if state)
    if load < low - 1e-9:
        return np.inf
    left, cost = (
        load - low,
        sum(u["c0"] + u["c1"] * u["pmin"] for u, state in zip(units, on, strict=True) if state),
    )
    for unit in sorted((u for u, s in zip(units, on, strict=True) if s), key=lambda u: u["c1"]):
        more = min(left, unit["pmax"] - unit["pmin"])
        left, cost = left - more, cost + more * unit["c1"]
    return np.inf if left > 1e-9 else cost


def allowed(states, least, hours, kind):
    """Whether every run of `kind` that begins inside lasts `least` hours, or to the end."""
    for t in range(1, len(states)):
        if states[t] == kind and states[t - 1] != kind:
            run = next((s for s in range(t, len(states)) if states[s] != kind), None)
            if run is not None and (run - t) * hours < least - 1e-9:
                return False
    return True


def best_schedule(units, loads, min_up=0, min_down=0, initial=None, hours=1.0, fixed=dispatch):
    """Least cost over all schedules."""
    table = {
        (on, load): fixed(units, on, load)
        for on in itertools.product([0, 1], repeat=len(units))
        for load in set(loads)
    }
    choices = []
    for k, _ in enumerate(units):
        first = [] if initial is None else [initial[k]]
        runs = itertools.product([0, 1], repeat=len(loads))
        kept = [
            r
            for r in runs
            if allowed((*first, *r), min_up, hours, 1) and allowed((*first, *r), min_down, hours, 0)
        ]
        choices.append(kept)
    best = np.inf
    for runs in itertools.product(*choices):
        cost = sum(hours * table[tuple(r[t] for r in runs), load] for t, load in enumerate(loads))
        for k, (unit, run) in enumerate(zip(units, runs, strict=True)):
            states = run if initial is None else (initial[k], *run)
            for was, now in itertools.pairwise(states):
                cost += unit.get("startup", 0) * (now > was) + unit.get("shutdown", 0) * (now < was)
        best = min(best, cost)
    return best


LOADS = [70.0, 150.0, 190.0, 90.0, 60.0]
SCHEDULES = [
    {},
    {"min_up": 3},
    {"min_down": 2},
    {"min_up": 2, "min_down": 3, "initial": [1, 0, 0]},
    {"initial": [0, 1, 1]},
    {"min_up": 1.0, "min_down": 1.5, "initial": [1, 0, 1], "hours": 0.5},
]


@pytest.mark.parametrize("rules", SCHEDULES)
@pytest.mark.parametrize("formulation", ["ED", "DCOPF"])
def test_commitment_finds_the_best_of_all_schedules(rules, formulation):
    item = {"name": "unit_commitment"}
    item |= {f"{k}_h": rules[k] for k in ("min_up", "min_down") if k in rules}
    if "initial" in rules:
        item["initial_on"] = rules["initial"]
    hours = horizon(*(load / 100 for load in LOADS), hours=rules.get("hours", 1.0))
    found = answer(one_bus(100, *UNITS), hours, item, formulation=formulation)
    assert found.objective == approx(best_schedule(UNITS, LOADS, **rules), rel=1e-6)


def test_minimum_times_in_periods_of_unequal_length():
    # Started in the first half hour, the cheap unit has to stay on for 1 h: into the long period.
    units = [{"pmax": 100, "pmin": 60, "c1": 10}, {"pmax": 100, "pmin": 0, "c1": 30}]
    item = {"name": "unit_commitment", "min_up_h": 1, "initial_on": [0, 1]}
    hours = horizon(1.0, 0.3, hours=[0.5, 2.0])
    found = answer(one_bus(100, *units), hours, item)
    # on for the first half hour would mean 60 MW for a load of 30: it stays off
    assert found.objective == approx(0.5 * 3000 + 2 * 900, rel=TIGHT)
    free = answer(one_bus(100, *units), hours, item | {"min_up_h": 0.5})
    assert free.objective == approx(0.5 * 1000 + 2 * 900, rel=TIGHT)


def test_commitment_with_quadratic_costs():
    units = [u | {"c2": c} for u, c in zip(UNITS, (0.05, 0.02, 0.1), strict=True)]

    def quadratic(units, on, load):
        """Equal incremental cost by bisection, each output clipped to its range."""
        chosen = [u for u, s in zip(units, on, strict=True) if s]
        low, high = sum(u["pmin"] for u in chosen), sum(u["pmax"] for u in chosen)
        if not low - 1e-9 <= load <= high + 1e-9:
            return np.inf
        a, b = 0.0, 200.0
        for _ in range(200):
            price = (a + b) / 2
            p = [np.clip((price - u["c1"]) / 2 / u["c2"], u["pmin"], u["pmax"]) for u in chosen]
            a, b = (price, b) if sum(p) < load else (a, price)
        return sum(u["c0"] + u["c1"] * x + u["c2"] * x * x for u, x in zip(chosen, p, strict=True))

    found = answer(one_bus(100, *units), horizon(0.7, 1.5, 1.9, 0.9), {"name": "unit_commitment"})
    expected = best_schedule(units, LOADS[:4], fixed=quadratic)
    assert found.objective == approx(expected, rel=2e-6)


def test_commitment_in_one_period_and_the_hours_of_the_first_state():
    # 55 MW: the first unit alone costs 100 + 550, the second 50 + 1100
    found = answer(one_bus(55, *UNITS), {"name": "unit_commitment"})
    assert found.objective == approx(650, rel=TIGHT)
    assert found.extras["unit_commitment"]["on"] == approx([1, 0, 0], abs=1e-6)
    assert found.gen["PG"].tolist() == approx([55, 0, 0], abs=1e-6)
    # off for one of three hours: the first has to stay off
    first = {"initial_on": [0, 1, 1], "initial_hours": [1, 9, 9], "min_down_h": 3}
    found = answer(one_bus(55, *UNITS), {"name": "unit_commitment"} | first)
    assert found.objective == approx(50 + 55 * 20 + 7, rel=TIGHT)
    done = first | {"initial_hours": [3, 9, 9]}
    found = answer(one_bus(55, *UNITS), {"name": "unit_commitment"} | done)
    assert found.objective == approx(min(650 + 500 + 7, 50 + 55 * 20 + 7), rel=TIGHT)


def test_own_start_costs_and_reserve_of_units_that_are_on():
    item = {"name": "unit_commitment", "startup_cost": [0, 0, 0], "shutdown_cost": 0}
    initial = item | {"initial_on": [0, 1, 0]}
    assert answer(one_bus(55, *UNITS), initial).objective == approx(650, rel=TIGHT)
    # 20 MW of reserve: the first unit alone has 45 MW; 60 MW need the second one, too
    held = {"name": "spinning_reserve_requirement", "unit_cap_mw": 100}
    some = answer(one_bus(55, *UNITS), item, held | {"requirement_mw": 45})
    assert some.objective == approx(650, rel=TIGHT)
    more = answer(one_bus(75, *UNITS), item, held | {"requirement_mw": 60})
    options = []
    for on in itertools.product([0, 1], repeat=3):
        room = sum(u["pmax"] for u, s in zip(UNITS, on, strict=True) if s) - 75
        options.append(dispatch(UNITS, on, 75.0) if room >= 60 else np.inf)
    assert more.objective == approx(min(options), rel=TIGHT)
