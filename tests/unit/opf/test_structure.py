"""The vocabulary: every fault of a structure is named, every shared request is accepted."""

import json
import os
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pandas as pd
import pytest

from headwater.opf.extensions import FORMULATIONS, GROUPS, REGISTRY
from headwater.opf.structure import allowed_operations, check, empty, item_schema, schema, values

MIRROR = os.environ.get("HEADWATER_MIRROR")
RESERVE = {
    "op": "add",
    "name": "spinning_reserve_requirement",
    "unit_cap_mw": 40.0,
    "requirement_mw": 450.0,
}
PENALTY = {"op": "add", "name": "angle_difference_penalty", "beta": 10.0}


def structure(formulation="DCOPF", **groups):
    return empty(formulation) | groups


def codes(*arguments):
    return [f.code for f in check(*arguments)]


def only(*arguments):
    found = check(*arguments)
    assert len(found) == 1, [f.message for f in found]
    return found[0]


@pytest.fixture
def case():
    bus = pd.DataFrame({"BUS_I": [1.0, 2.0, 30.0]})
    gen = pd.DataFrame({"GEN_BUS": [1.0, 2.0]})
    branch = pd.DataFrame({"F_BUS": [1.0, 1.0, 2.0], "T_BUS": [2.0, 2.0, 30.0]})
    return SimpleNamespace(name="three", bus=bus, gen=gen, branch=branch)


def test_every_extension_says_what_it_is():
    assert len(REGISTRY) >= 25
    for name, module in REGISTRY.items():
        assert module.__name__.endswith("." + name)
        assert module.GROUP in GROUPS and module.__doc__
        assert set(module.APPLIES_TO) <= set(FORMULATIONS) and module.APPLIES_TO
        assert set(module.REQUIRED) <= set(module.PARAMETERS)
        assert set(getattr(module, "NEEDS", ())) <= set(REGISTRY)
        for key, part in module.PARAMETERS.items():
            assert part["description"], (name, key)
            jsonschema.Draft202012Validator.check_schema(part)
            if "default" in part:
                jsonschema.validate(part["default"], part)


def test_the_schema_is_one_and_takes_a_good_structure():
    whole = schema()
    jsonschema.Draft202012Validator.check_schema(whole)
    jsonschema.validate(structure(constraints=[RESERVE], objective=[PENALTY]), whole)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(structure(objective=[RESERVE]), whole)
    assert item_schema(REGISTRY["load_shedding"])["required"] == ["op", "name", "voll"]


def test_nothing_is_wrong_with_a_good_structure(case):
    assert check(structure(constraints=[RESERVE], objective=[PENALTY]), case) == []
    assert check({"formulation": "DCOPF"}) == []


def test_defaults_are_filled_in_and_given_values_win():
    filled = values({"op": "add", "name": "load_shedding", "voll": 10.0})
    assert filled == {"voll": 10.0, "power_factor": "constant", "max_fraction": 1.0}
    item = {"op": "add", "name": "load_shedding", "voll": 1.0, "power_factor": "unchanged"}
    assert values(item)["power_factor"] == "unchanged"


def test_objectives_may_replace_the_cost_constraints_may_not():
    assert allowed_operations(REGISTRY["active_power_loss"]) == ("add", "replace")
    replaced = structure("ACOPF", objective=[{"op": "replace", "name": "active_power_loss"}])
    assert check(replaced) == []
    assert codes(structure(constraints=[RESERVE | {"op": "replace"}])) == ["unknown_operation"]


def test_an_unknown_name_gets_the_nearest():
    item = {"op": "add", "name": "spining_reserve_requirement", "requirement_mw": 1}
    found = only(structure(constraints=[item]))
    assert found.code == "unknown_extension" and found.where == "constraints[0]"
    assert "'spinning_reserve_requirement'" in found.message


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({"requirment_mw": 3}, "unknown_parameter", ["requirment_mw", "'requirement_mw'"]),
        ({"requirement_mw": None}, "parameter_type", ["requirement_mw", "MW"]),
        ({"requirement_mw": "450"}, "parameter_type", ["'450'"]),
        ({"requirement_mw": -1}, "parameter_out_of_range", ["-1", "at least 0"]),
        ({"requirement_mw": float("nan")}, "parameter_out_of_range", ["nan", "finite"]),
        ({"unit_cap_mw": [40.0, float("inf")]}, "parameter_out_of_range", ["inf"]),
        ({"unit_cap_mw": [40.0, -2.0]}, "parameter_out_of_range", ["[1]", "-2", "at least 0"]),
        ({"unit_cap_mw": []}, "parameter_out_of_range", ["0 entries"]),
        ({"unit_cap_mw": "all"}, "parameter_type", ["'all'", "MW"]),
        ({"zones": [{"buses": [1]}]}, "missing_parameter", ["zones[0].requirement_mw"]),
        (
            {"zones": [{"buses": [1], "requirement_mw": 1, "bus": 2}]},
            "unknown_parameter",
            ["zones[0].bus"],
        ),
    ],
)
def test_a_wrong_parameter_is_named_with_what_belongs_there(change, code, words):
    found = only(structure(constraints=[RESERVE | change]))
    assert found.code == code and found.severity == "error"
    assert all(w in found.message for w in ["spinning_reserve_requirement", *words]), found.message


def test_a_missing_parameter_is_told_with_its_unit():
    item = {k: v for k, v in RESERVE.items() if k != "requirement_mw"}
    found = only(structure(constraints=[item]))
    assert found.code == "missing_parameter" and "MW" in found.message


@pytest.mark.parametrize(
    ("formulation", "group", "item"),
    [
        ("DCOPF", "objective", {"name": "reactive_generation_cost", "c2": 0.2}),
        ("DCOPF", "objective", {"name": "voltage_deviation_penalty", "beta": 1.0}),
        ("ED", "objective", {"name": "angle_difference_penalty", "beta": 1.0}),
        ("ACOPF", "constraints", {"name": "n1_security"}),
        ("ACOPF", "variables", {"name": "transmission_switching", "max_open": 1}),
    ],
)
def test_an_extension_that_does_not_apply_is_an_error(formulation, group, item):
    found = only(structure(formulation, **{group: [{"op": "add"} | item]}))
    assert found.code == "extension_not_applicable"
    assert formulation in found.message and item["name"] in found.message


def test_the_group_the_formulation_and_the_keys_are_checked():
    assert codes(structure(objective=[RESERVE])) == ["wrong_group"]
    assert codes({"formulation": "DC-OPF"}) == ["unknown_formulation"]
    assert "'DCOPF'" in check({"formulation": "DCOPf"})[0].message
    assert codes({}) == ["unknown_formulation"]
    assert codes({"formulation": "DCOPF", "constraint": []}) == ["unknown_key"]
    assert codes({"formulation": "DCOPF", "constraints": {}, "objective": "x"}) == [
        "parameter_type"
    ]


def test_two_extensions_that_define_the_same_variable():
    chance = {"name": "chance_line_limits", "bus": 1, "mean_mw": 1, "std_mw": 1, "epsilon": 0.05}
    robust = {"name": "robust_line_limits", "buses": [1], "delta_mw": 1}
    found = only(structure(constraints=[chance, robust]))
    assert found.code == "variable_defined_twice"
    assert "constraints[0]" in found.message and "constraints[1]" in found.message
    assert codes(structure(objective=[PENALTY, PENALTY])) == ["variable_defined_twice"]


def test_factors_of_a_fixed_network_exclude_switching():
    switching = {"name": "transmission_switching", "max_open": 1}
    secure = structure(constraints=[{"name": "n1_security"}], variables=[switching])
    found = only(secure)
    assert found.code == "extensions_exclude_each_other" and "n1_security" in found.message


def test_what_needs_a_companion_says_which():
    ramp = {"op": "add", "name": "ramp_limits", "up_mw": 10}
    found = only(structure(constraints=[ramp]))
    assert found.code == "extension_needed" and "horizon" in found.message
    horizon = {"op": "add", "name": "horizon", "load_multipliers": [1, 2]}
    assert check(structure(constraints=[ramp], variables=[horizon])) == []


def test_lists_buses_and_branches_are_held_against_the_case(case):
    def fault(item, group="constraints"):
        assert check(structure(**{group: [item]})) == []
        return only(structure(**{group: [item]}), case)

    rates = {"name": "emission_cap", "rates_t_per_mwh": [1.0, 1.0, 1.0], "cap_t_per_h": 1.0}
    found = fault(rates)
    assert found.code == "list_length" and "three" in found.message and "2" in found.message
    zone = RESERVE | {"zones": [{"buses": [1, 3], "requirement_mw": 1}]}
    found = fault(zone)
    assert found.code == "unknown_bus" and "zones[0].buses[1]" in found.message
    found = fault({"name": "n1_security", "contingencies": [{"fbus": 30, "tbus": 1}]})
    assert found.code == "unknown_branch" and "connected to 2" in found.message
    named = {"fbus": 2, "tbus": 1, "circuit": 3}
    found = fault({"name": "n1_security", "contingencies": [named]})
    assert "circuit 3" in found.message and "at most 2" in found.message
    farms = {"name": "chance_line_limits", "mean_mw": 1, "std_mw": 1, "epsilon": 0.1}
    assert fault(farms | {"bus": 7}).code == "unknown_bus"
    assert fault(farms | {"bus": [1, 7]}).code == "unknown_bus"
    shed = {"name": "load_shedding", "voll": [1, 2]}
    assert fault(shed, "variables").code == "list_length"
    units = {"name": "renewable_curtailment", "units": [{"bus": 5, "forecast_mw": 1}]}
    assert "units[0].bus" in fault(units, "variables").message


@pytest.mark.skipif(not MIRROR, reason="HEADWATER_MIRROR with opf/requests.jsonl is not set")
def test_the_shared_requests_are_in_the_vocabulary():
    lines = (Path(MIRROR) / "opf" / "requests.jsonl").read_text().splitlines()
    structures = [json.loads(line)["structure"] for line in lines]
    assert len(structures) == 21 and sum(bool(s["constraints"]) for s in structures) == 5
    validator = jsonschema.Draft202012Validator(schema())
    for one in structures:
        assert check(one) == []
        validator.validate(one)
