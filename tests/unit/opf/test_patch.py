"""Changes of networks: the right rows, every fault named, nothing silent; MATPOWER as a peer."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.opf.case import Case, read_case, shipped_case
from headwater.opf.findings import errors
from headwater.opf.patch import apply, bind, patch

DC = {"formulation": "DCOPF", "objective": [], "constraints": [], "variables": []}


@pytest.fixture(scope="module")
def case14():
    return read_case(shipped_case("case14"))


@pytest.fixture(scope="module")
def rts():
    return read_case(shipped_case("case24_ieee_rts"))


def bus(number, field, op, value):
    return {"component": "bus", "bus": number, "field": field, "op": op, "value": value}


def gen(number, field, op, value):
    return {"component": "gen", "bus": number, "field": field, "op": op, "value": value}


def branch(f, t, field, op, value, **more):
    key = {"component": "branch", "fbus": f, "tbus": t, "field": field}
    return key | {"op": op, "value": value} | more


def only(found, code, severity="warning"):
    assert [(f.code, f.severity) for f in found] == [(code, severity)], [f.message for f in found]
    return found[0].message


def differences(old: Case, new: Case):
    """Return table, row and column of every number that differs."""
    found = []
    for name, table in old.tables().items():
        other = new.tables()[name]
        different = table.to_numpy() != other.to_numpy()
        found += [(name, int(r), table.columns[c]) for r, c in np.argwhere(different)]
    return found


def test_a_change_touches_its_rows_and_nothing_else(case14):
    before = {n: t.copy() for n, t in case14.tables().items()}
    new, found = apply(case14, [bus(9, "PD", "scale", 1.25), gen(1, "PMAX", "set", 250)])
    assert not found
    assert differences(case14, new) == [("bus", 8, "PD"), ("gen", 0, "PMAX")]
    assert new.bus["PD"][8] == pytest.approx(36.875) and new.gen["PMAX"][0] == 250
    for name, table in case14.tables().items():
        assert table.equals(before[name])


def test_ends_of_a_branch_in_either_order(case14):
    for f, t in ((1, 5), (5, 1)):
        new, found = apply(case14, [branch(f, t, "BR_X", "scale", 2)])
        assert not found and differences(case14, new) == [("branch", 1, "BR_X")]


def test_turned_transformer_is_said(case14):
    _, found = apply(case14, [branch(7, 4, "TAP", "set", 0.95)])
    assert "from 4 to 7" in only(found, "reversed_branch")


def test_every_bus(case14):
    new, found = apply(case14, [bus("*", "PD", "scale", 1.1)])
    assert not found and new.bus["PD"].sum() == pytest.approx(259 * 1.1)
    new, found = apply(case14, [gen("*", "PMAX", "scale", 0.9)])
    assert not found and np.allclose(new.gen["PMAX"], case14.gen["PMAX"] * 0.9)
    new, found = apply(case14, [branch("*", "*", "BR_R", "scale", 1.5)])
    assert not found and np.allclose(new.branch["BR_R"], case14.branch["BR_R"] * 1.5)


def test_parallel_circuits_all_with_a_warning_or_one_by_number(rts):
    rows = [r for r in range(38) if set(rts.branch.iloc[r, :2]) == {15, 21}]
    assert len(rows) == 2
    new, found = apply(rts, [branch(15, 21, "BR_X", "set", 0.2)])
    message = only(found, "parallel_branches")
    assert "2 circuits" in message and "15" in message and "21" in message
    assert differences(rts, new) == [("branch", r, "BR_X") for r in rows]
    for circuit, row in zip((1, 2), rows, strict=True):
        new, found = apply(rts, [branch(15, 21, "BR_X", "set", 0.2, circuit=circuit)])
        assert not found and differences(rts, new) == [("branch", row, "BR_X")]
    same, found = apply(rts, [branch(15, 21, "BR_X", "set", 0.2, circuit=3)])
    assert "1 to 2" in only(found, "unknown_branch", "error") and same is rts


def test_several_units_at_a_bus(rts):
    at = rts.gen["GEN_BUS"] == 22
    assert at.sum() == 6
    new, found = apply(rts, [gen(22, "PMAX", "set", 45)])
    assert "6 units" in only(found, "several_generators")
    assert (new.gen["PMAX"][at] == 45).all()
    new, found = apply(rts, [gen(22, "PMAX", "scale", 0.9)])
    assert not found and np.allclose(new.gen["PMAX"][at], 45)


def test_changes_follow_each_other(case14):
    twice = [bus(9, "PD", "set", 40), bus(9, "PD", "scale", 2)]
    new, found = apply(case14, twice)
    assert new.bus["PD"][8] == 80 and "9" in only(found, "repeated_change")
    new, _ = apply(case14, twice[::-1])
    assert new.bus["PD"][8] == 40


def test_cost_coefficient_is_that_of_the_power(case14):
    # case14, unit at bus 1: 0.0430293 P^2 + 20 P
    new, found = apply(case14, [gen(1, "COST_C1", "set", 25), gen(1, "COST_C2", "scale", 2)])
    assert not found
    assert new.gencost[0, 4:7] == pytest.approx([2 * 0.0430292599, 25, 0], rel=1e-6)
    new, found = apply(case14, [gen(1, "COST_C3", "set", 1e-5)])
    assert not found and new.gencost[0, 3] == 4
    p = 100.0
    cost = np.polyval(new.gencost[0, 4:8], p)
    assert cost == pytest.approx(1e-5 * p**3 + 0.0430292599 * p**2 + 20 * p, rel=1e-8)
    assert np.polyval(new.gencost[1, 4:7], p) == np.polyval(case14.gencost[1, 4:7], p)


def test_piecewise_costs_have_no_coefficients():
    case = read_case(shipped_case("case30pwl"))
    same, found = apply(case, [gen(1, "COST_C1", "scale", 2)])
    assert "piecewise" in only(found, "cost_not_polynomial", "error") and same is case


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (bus(41, "PD", "scale", 1.1), "unknown_bus", ["41", "case14", "1 to 14"]),
        (gen(4, "PMAX", "set", 50), "unknown_generator", ["4", "1, 2, 3, 6, 8"]),
        (gen(99, "PMAX", "set", 50), "unknown_generator", ["there is no bus 99"]),
        (branch(1, 4, "BR_X", "set", 0.1), "unknown_branch",
         ["1-4", "Bus 1 is connected to 2, 5", "bus 4 is connected to 2, 3, 5, 7, 9"]),
        (branch(1, 77, "BR_X", "set", 0.1), "unknown_branch", ["has no bus 77"]),
        (bus(9, "VMAX", "set", 106), "unit_out_of_range", ["VMAX", "106", "p.u.", "1.06"]),
        (bus(9, "VMIN", "set", -0.9), "unit_out_of_range", ["0.5 to 1.5"]),
        (bus(9, "VMAX", "scale", 2), "unit_out_of_range", ["2.12", "1.06 scaled by 2"]),
        (branch(1, 2, "BR_STATUS", "set", 2), "unit_out_of_range", ["0 or 1"]),
        (branch(1, 2, "RATE_A", "set", -5), "unit_out_of_range", ["-5"]),
        (bus(9, "PD", "set", float("nan")), "nan_or_inf", ["nan", "finite"]),
        (bus(9, "PD", "set", float("inf")), "nan_or_inf", ["inf", "limits only"]),
        (gen(1, "PMAX", "scale", float("inf")), "nan_or_inf", ["finite"]),
        (gen(1, "PMAX", "set", -10), "bounds_crossed", ["PMIN 0 > PMAX -10", "bus 1"]),
        (gen(2, "QMIN", "set", 60), "bounds_crossed", ["QMIN 60 > QMAX 50"]),
        (bus(9, "VMIN", "set", 1.1), "bounds_crossed", ["VMIN 1.1 > VMAX 1.06"]),
        (branch(7, 8, "BR_X", "set", 0), "zero_impedance", ["7-8", "BR_X 0"]),
        (branch(1, 2, "BR_STATUS", "scale", 0), "unknown_operation", ["set"]),
        (bus(9, "RATE_A", "set", 5), "unknown_field", ["RATE_A is a field of branch"]),
        (gen(1, "PMAXX", "set", 5), "unknown_field", ["did you mean 'PMAX'"]),
        (gen(1, "COST_PARAMS_C2", "set", 5), "unknown_field", ["COST_C2", "P^2"]),
        (bus(9, "PD", "double", 2), "unknown_operation", ["set or scale"]),
        (bus("9", "PD", "set", 2), "wrong_type", ["'9'", "bus number"]),
        (bus(9.5, "PD", "set", 2), "wrong_type", ["9.5"]),
        (bus(True, "PD", "set", 2), "wrong_type", ["True"]),
        (bus(9, "PD", "set", "2"), "wrong_type", ["'2'", "a number"]),
        (bus(9, "PD", "set", None), "wrong_type", ["None"]),
        (bus(9, "PD", "set", 2) | {"valeu": 3}, "unknown_key", ["did you mean 'value'"]),
        (bus(9, "PD", "set", 2) | {"fbus": 3}, "unknown_key", ["fbus"]),
        ({"component": "line", "bus": 1}, "unknown_component", ["'line'", "branch"]),
        ({"component": "bus", "bus": 1, "field": "PD", "op": "set"}, "missing_key", ["value"]),
        ("scale it", "wrong_type", ["'scale it'"]),
        (None, "wrong_type", ["None"]),
    ],
)  # fmt: skip
def test_errors_name_what_is_wrong(case14, change, code, words):
    new, found = apply(case14, [change])
    message = only(found, code, "error")
    assert "case14" in message
    for word in words:
        assert word in message, message
    if code not in ("bounds_crossed", "zero_impedance"):
        assert new is case14


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (bus(7, "PD", "scale", 2), "no_effect", ["7", "PD", "0", "set a value"]),
        (bus(9, "PD", "scale", 1), "no_effect", ["29.5"]),
        (bus(9, "PD", "set", 29.5), "no_effect", ["already"]),
        (branch(1, 2, "RATE_A", "scale", 0.5), "no_effect", ["no limit"]),
        (branch(7, 8, "BR_X", "set", -0.1), "negative_reactance", ["series capacitor"]),
        (gen(1, "COST_C2", "set", -0.01), "nonconvex_cost", ["slopes", "local"]),
        (bus(9, "VM", "set", 1.0), "field_unused_by_formulation", ["VM", "no formulation"]),
        (gen(1, "RAMP_AGC", "set", 3), "field_unused_by_formulation", ["RAMP_AGC"]),
    ],
)
def test_warnings_say_what_a_reader_would_not_see(case14, change, code, words):
    _, found = apply(case14, [change])
    message = only(found, code)
    for word in words:
        assert word in message, message


def test_a_rating_of_zero_is_no_limit(rts):
    new, found = apply(rts, [branch(1, 2, "RATE_A", "set", 0)])
    assert "BR_STATUS" in only(found, "unlimited_rating") and new.branch["RATE_A"][0] == 0
    new, found = apply(rts, [branch(1, 2, "RATE_A", "set", "Inf")])
    assert not found and np.isinf(new.branch["RATE_A"][0])


def test_a_lower_voltage_limit_of_zero_is_none(case14):
    new, found = apply(case14, [bus(9, "VMIN", "set", 0)])
    assert not found and new.bus["VMIN"][8] == 0


@pytest.mark.parametrize(
    "change", [bus(9, "QD", "set", 5), bus(9, "VMAX", "set", 1.0), branch(1, 2, "BR_R", "set", 0.1)]
)
def test_fields_that_the_dc_model_does_not_have(case14, change):
    _, found = apply(case14, [change], DC)
    assert "DCOPF" in only(found, "field_unused_by_formulation")
    assert not apply(case14, [change])[1]


def test_transformers_count_by_convention(case14):
    change = [branch(4, 7, "TAP", "set", 0.95)]
    assert not apply(case14, change, DC)[1]
    only(apply(case14, change, DC, dc_convention="powermodels")[1], "field_unused_by_formulation")


def test_costs_do_not_count_where_the_objective_is_replaced(case14):
    loss = {"op": "replace", "name": "active_power_loss", "price": 1.0}
    structure = {"formulation": "ACOPF", "objective": [loss], "constraints": [], "variables": []}
    _, found = apply(case14, [gen(1, "COST_C1", "set", 25)], structure)
    assert "active_power_loss" in only(found, "field_unused_by_formulation")
    loss["op"] = "add"
    assert not apply(case14, [gen(1, "COST_C1", "set", 25)], structure)[1]


def test_what_is_out_of_service_changes_nothing(case14):
    off = branch(7, 8, "BR_STATUS", "set", 0)
    _, found = apply(case14, [off, branch(7, 8, "BR_X", "set", 0.2)])
    assert "out of service" in only(found, "no_effect")
    zero = branch(7, 8, "BR_X", "set", 0)
    assert not errors(apply(case14, [off, zero])[1])  # an open branch may have no impedance


def test_limits_are_checked_once_all_changes_are_made(case14):
    both = [gen(1, "PMIN", "set", 400), gen(1, "PMAX", "set", 500)]
    assert not apply(case14, both)[1]


def test_good_changes_stay_beside_bad_ones(case14):
    new, found = apply(case14, [bus(41, "PD", "set", 3), bus(9, "PD", "set", 3)])
    only(found, "unknown_bus", "error")
    assert differences(case14, new) == [("bus", 8, "PD")]


@pytest.mark.parametrize("changes", [{}, "PD", None, 3])
def test_a_list_of_changes_is_a_list(case14, changes):
    only(apply(case14, changes)[1], "wrong_type", "error")


def placeholder(number, field, direction, **more):
    name = f"bus_{field}_{number}"
    key = {"name": name, "component": "bus", "bus": number, "field": field}
    return key | {"direction": direction} | more


@pytest.mark.parametrize(
    ("direction", "value", "words"),
    [
        ("increase", 20, ["20 MW", "more than 29.5 MW", "increase"]),
        ("decrease", 30, ["less than 29.5"]),
        ("set_zero", 1, ["set zero"]),
    ],
)
def test_a_value_on_the_wrong_side_is_refused(case14, direction, value, words):
    same, found = bind(case14, [placeholder(9, "PD", direction)], {"bus_PD_9": value})
    message = only(found, "direction_violated", "error")
    assert same is case14 and "bus 9" in message
    for word in words:
        assert word in message, message


def test_values_by_name_or_by_position(case14):
    bindings = [placeholder(9, "PD", "increase"), placeholder(4, "PD", "decrease")]
    for values in ({"bus_PD_4": 40, "bus_PD_9": 35}, [35, 40]):
        new, found = bind(case14, bindings, values)
        assert not found and (new.bus["PD"][8], new.bus["PD"][3]) == (35, 40)
    _, found = bind(case14, bindings, {"bus_PD_9": 35})
    assert "bus_PD_4" in only(found, "missing_value", "error")
    _, found = bind(case14, bindings, [35, "40"])
    only(found, "wrong_type", "error")


def test_a_value_that_stays_has_no_effect(case14):
    only(bind(case14, [placeholder(9, "PD", "increase")], [29.5])[1], "no_effect")
    only(bind(case14, [placeholder(7, "PD", "set_zero")], [0])[1], "no_effect")


def test_a_default_of_another_network_is_said(case14):
    right = placeholder(9, "PD", "increase", default=29.5, rows=1)
    assert not bind(case14, [right], [35])[1]
    other = placeholder(9, "PD", "increase", default=28.0, rows=1)
    assert "29.5" in only(bind(case14, [other], [35])[1], "default_mismatch")
    rows = placeholder(9, "PD", "increase", rows=2)
    assert "2 as the request says" in only(bind(case14, [rows], [35])[1], "default_mismatch")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 50) | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=5,
)
VALUES = st.one_of(st.floats(), st.integers(-200, 200), JSON)
CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "component": st.sampled_from(["bus", "gen", "branch"]) | JSON,
        "bus": st.integers(0, 16) | st.just("*") | JSON,
        "fbus": st.integers(0, 16) | JSON,
        "tbus": st.integers(0, 16) | JSON,
        "circuit": st.integers(0, 3),
        "field": st.sampled_from(["PD", "VMAX", "PMAX", "COST_C2", "RATE_A", "BR_X"]) | JSON,
        "op": st.sampled_from(["set", "scale"]) | JSON,
        "value": VALUES,
    },
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    changes=st.lists(CHANGES | JSON, max_size=3), formulation=st.sampled_from(["ACOPF", "DCOPF"])
)
def test_whatever_is_written_is_applied_or_named(case14, changes, formulation):
    new, found = apply(case14, changes, {"formulation": formulation})
    if changes and not found:
        assert differences(case14, new)
    if differences(case14, new):
        assert len(errors(found)) < len(changes) or any(
            f.code in ("bounds_crossed", "zero_impedance") for f in found
        )


def test_patch_is_the_two_together(case14):
    bindings = [placeholder(9, "PD", "increase")]
    both, found = patch(case14, [bus(4, "PD", "set", 50)], bindings, [40])
    assert not found
    one, _ = apply(case14, [bus(4, "PD", "set", 50)])
    two, _ = bind(one, bindings, [40])
    assert differences(both, two) == [] and json.dumps(both.name) == json.dumps(two.name)
