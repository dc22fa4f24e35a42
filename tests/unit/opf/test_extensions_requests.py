"""The shared requests with their expected answers, and the neutral element of every extension."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from extension_networks import answer, with_items
from pytest import approx

from headwater.opf.case import read_case, shipped_case
from headwater.opf.engine import Engine, Options, solve
from headwater.opf.extensions import REGISTRY
from headwater.opf.structure import check

MIRROR = os.environ.get("HEADWATER_MIRROR")
COST_ROWS = {f"COST_C{k}": k for k in range(4)}


def changed(case, changes):
    """Apply the changes of a shared request, in a few plain lines of this test's own."""
    tables = {"bus": case.bus.copy(), "gen": case.gen.copy(), "branch": case.branch.copy()}
    cost = case.gencost.copy()
    for change in changes:
        table, field = tables[change["component"]], change["field"]
        if change["component"] == "branch":
            pair = {change["fbus"], change["tbus"]}
            ends = table[["F_BUS", "T_BUS"]].to_numpy()
            rows = [k for k, (f, t) in enumerate(ends) if {f, t} == pair]
        else:
            key = table["BUS_I" if change["component"] == "bus" else "GEN_BUS"]
            rows = [k for k, b in enumerate(key) if change["bus"] in ("*", b)]
        assert rows
        for k in rows:
            if field in COST_ROWS:
                place = (k, 4 + int(cost[k, 3]) - 1 - COST_ROWS[field])
                old = cost[place]
            else:
                old = table.loc[k, field]
            new = old * change["value"] if change["op"] == "scale" else change["value"]
            if field in COST_ROWS:
                cost[place] = new
            else:
                table.loc[k, field] = float(new)
    return case.with_tables(**tables, gencost=cost)


@pytest.mark.skipif(not MIRROR, reason="HEADWATER_MIRROR with opf/requests.jsonl is not set")
def test_the_shared_requests_come_out():
    folder = Path(MIRROR) / "opf"
    records = [json.loads(x) for x in (folder / "requests.jsonl").read_text().splitlines()]
    assert len(records) == 21
    for record in records:
        case = read_case(folder / "cases" / f"{record['base_system']}.m")
        options = Options(violation=record["solver"]["violation"])
        for k, expected in enumerate(record["expected"]):
            bound = [b | {"op": "set", "value": b["values"][k]} for b in record.get("bindings", [])]
            found = solve(changed(case, record["parameters"] + bound), record["structure"], options)
            assert found.status == expected["status"], record["id"]
            assert found.objective == approx(expected["objective"], rel=1e-5), record["id"]


# What each extension leaves as it was: the plain optimum of the 5-bus network has to come out.
NOTHING = {
    "active_power_loss": {"price": 0},
    "angle_difference_penalty": {"beta": 0},
    "chance_line_limits": {"bus": 2, "mean_mw": 0, "std_mw": 0, "epsilon": 0.05},
    "congestion_cost": {"price": 0},
    "corrective_security": {"corrective_mw": 1e4, "emergency_factor": 50.0},
    "demand_response": {"bids": [{"bus": 2, "max_mw": 50, "price": 1e4}]},
    "emission_cap": {"rates_t_per_mwh": [1.0] * 5, "cap_t_per_h": 1e5},
    "emission_cost": {"price": 0, "beta": 1.0},
    "frequency_security": {
        "inertia_s": 5,
        "rating_mva": 500,
        "max_rocof_hz_per_s": 100,
    },
    "horizon": {"load_multipliers": [1.0]},
    "l_index_cost": {"price": 0},
    "l_index_limit": {"l_max": 1},
    "load_shedding": {"voll": 1e5},
    "n1_security": {"emergency_factor": 50.0},
    # of the six outages the only one whose reactive power is at hand anyway
    "n1_security_ac": {
        "contingencies": [{"fbus": 1, "tbus": 5}],
        "emergency_factor": 50.0,
    },
    "procurement_cost": {"offers": [{"bus": 2, "max_mw": 50, "price": 1e4}]},
    "reactive_generation_cost": {"c2": 0},
    "reactive_reserve": {"weight": 0},
    "real_reserve_cost": {"price": 0},
    "redispatch_cost": {"op": "add", "up": 0, "down": 0},
    "regulation_up_requirement": {"unit_cap_mw": 10, "requirement_mw": 0},
    "renewable_curtailment": {"units": [{"bus": 2, "forecast_mw": 0}]},
    "robust_line_limits": {"buses": [2], "delta_mw": 0},
    "shunt_compensation": {"units": [{"bus": 2, "min_mvar": 0, "max_mvar": 0}]},
    "social_welfare": {"bids": [{"bus": 2, "blocks": [[50, 0]]}]},
    "soft_line_limits": {"penalty": 1e5},
    "spinning_reserve_requirement": {"unit_cap_mw": 10, "requirement_mw": 0},
    "storage": {"units": [{"bus": 2, "energy_mwh": 10, "charge_mw": 5}]},
    "ramp_limits": {"up_mw": 1e4},
    "tap_phase_optimisation": {"shifts": [{"fbus": 1, "tbus": 2, "min_deg": 0, "max_deg": 0}]},
    "transfer_capability": {"op": "add", "weight": 1e-6},
    "transmission_switching": {"max_open": 0},
    "unit_commitment": {"initial_on": [1] * 5, "shutdown_cost": 1e6},
    "voltage_deviation_penalty": {"beta": 0},
}
BESIDE = {
    "real_reserve_cost": "spinning_reserve_requirement",
    "storage": "horizon",
    "ramp_limits": "horizon",
}


def neutral(name):
    names = [name, BESIDE[name]] if name in BESIDE else [name]
    return [{"name": n} | NOTHING[n] for n in names]


@pytest.mark.parametrize("formulation", ["ACOPF", "DCOPF", "ED", "SOCP"])
def test_an_extension_that_asks_for_nothing_changes_nothing(formulation):
    case = read_case(shipped_case("case5"))
    plain = answer(case, formulation=formulation).objective
    applicable = [n for n, m in REGISTRY.items() if formulation in m.APPLIES_TO]
    for name in applicable:
        found = answer(case, *neutral(name), formulation=formulation)
        assert found.objective == approx(plain, rel=2e-6), name


def test_extensions_side_by_side_in_one_program():
    case = read_case(shipped_case("case24_ieee_rts"))
    names = [
        "spinning_reserve_requirement",
        "real_reserve_cost",
        "load_shedding",
        "soft_line_limits",
        "congestion_cost",
        "horizon",
        "ramp_limits",
        "storage",
        "procurement_cost",
    ]
    items = [{"name": n} | NOTHING[n] for n in names]
    items[5] = {"name": "horizon", "load_multipliers": [1.0, 1.0]}
    items[7] = {"name": "storage", "units": [{"bus": 2, "energy_mwh": 10, "charge_mw": 5}]}
    structure = with_items("DCOPF", *items)
    assert check(structure, case) == []
    found = solve(case, structure, Options())
    assert found.objective == approx(2 * answer(case).objective, rel=1e-7)


SHED, SOFT = {"name": "load_shedding", "voll": 500}, {"name": "soft_line_limits", "penalty": 9}


@pytest.mark.parametrize(
    ("formulation", "items"),
    [
        ("ACOPF", [SHED]),
        ("DCOPF", [SHED, SOFT]),
        ("DCOPF", [{"name": "robust_line_limits", "buses": [2], "delta_mw": 3}]),
        ("DCOPF", [{"name": "transmission_switching", "max_open": 1}]),
        ("DCOPF", [{"name": "redispatch_cost", "up": 3, "down": 1}]),
        ("SOCP", [{"name": "congestion_cost", "price": 50}]),
    ],
)
def test_a_second_case_in_the_same_engine_is_that_case_alone(formulation, items):
    case = read_case(shipped_case("case5"))
    draw = np.random.default_rng(4)
    bus, branch, gen = case.bus.copy(), case.branch.copy(), case.gen.copy()
    bus[["PD", "QD"]] *= 0.95
    branch["BR_X"] *= draw.uniform(0.9, 1.1, len(branch))
    branch["RATE_A"] *= 0.97
    gen["PMAX"] *= 0.98
    gen["PG"] = [30.0, 170.0, 200.0, 50.0, 450.0]
    other = case.with_tables(bus=bus, branch=branch, gen=gen)
    structure = with_items(formulation, *items)
    engine = Engine(case, structure, Options())
    engine.solve()
    again = engine.solve(other)
    alone = solve(other, structure, Options())
    assert again.objective == approx(alone.objective, rel=1e-7)
    assert alone.status == "optimal"
