"""Fields: the same everywhere, ranges that hold every real case, users that really use them."""

import dataclasses
import math

import numpy as np
import pytest

from headwater.opf.bindings import (
    moves,
    parse_placeholder,
    placeholder,
    shares_of,
    strategy_values,
)
from headwater.opf.case import BRANCH, BUS, GEN, read_case, shipped_case
from headwater.opf.cost_rows import read_cost, write_cost
from headwater.opf.engine import Options, solve
from headwater.opf.fields import ALL, FIELDS, is_used, names, owner
from headwater.opf.locate import Target
from headwater.opf.patch import apply
from headwater.opf.record import schema

CASES = ("case9", "case14", "case30", "case39", "case57", "case118", "case300", "case89pegase")


def test_schema_and_table_name_the_same_fields():
    for rule in schema()["$defs"]["key"]["allOf"]:
        fields = rule["then"].get("properties", {}).get("field")
        if fields:
            component = rule["if"]["properties"]["component"]["const"]
            assert tuple(fields["enum"]) == names(component)


def test_fields_are_columns_of_the_case_or_cost_coefficients():
    columns = {"bus": BUS, "gen": GEN, "branch": BRANCH}
    for (component, name), field in FIELDS.items():
        assert field.power is not None or name in columns[component]
        assert field.low < field.high and set(field.used) <= set(ALL) and field.title
    assert FIELDS["gen", "COST_C2"].power == 2
    assert owner("VMAX") == "bus" and owner("RATE_A") == "branch" and owner("X") is None


@pytest.mark.parametrize("name", CASES)
def test_ranges_hold_every_number_of_the_cases(name):
    case = read_case(shipped_case(name))
    for (component, column), field in FIELDS.items():
        if field.power is not None:
            continue
        values = getattr(case, component)[column].to_numpy()
        inside = (values >= field.low) & (values <= field.high)
        inside |= np.isinf(values) & field.limit
        inside |= (values == 0) & (bool(field.zero) or column == "VM")
        assert inside.all(), (column, values[~inside])


def test_ranges_say_the_unit():
    assert FIELDS["bus", "VMAX"].range == "p.u. 0.5 to 1.5"
    assert "Inf" in FIELDS["branch", "RATE_A"].range
    assert FIELDS["branch", "BR_STATUS"].range == "0 or 1"


# What each change does to an optimum of case30 in which a line limit binds.
STEPS = {
    "PD": 1.05, "QD": 1.3, "GS": None, "BS": 1.5, "VMAX": 0.98, "VMIN": 1.01, "VM": 1.02,
    "PMAX": 0.6, "PMIN": None, "QMAX": 0.5, "QMIN": 0.5, "RAMP_AGC": None,
    "COST_C1": 1.1, "COST_C2": 1.1, "BR_R": 1.4, "BR_X": 1.4, "BR_B": 1.4, "RATE_A": 0.8,
}  # fmt: skip


@pytest.mark.parametrize("formulation", ["DCOPF", "ED"])
def test_a_field_that_is_called_unused_leaves_the_optimum(formulation):
    case = read_case(shipped_case("case30"))
    structure = {"formulation": formulation, "objective": [], "constraints": [], "variables": []}
    base = solve(case, structure, Options()).objective
    for (component, name), field in FIELDS.items():
        if name not in STEPS:
            continue
        factor = STEPS[name]
        change = {"component": component, "field": name}
        change |= {"fbus": "*", "tbus": "*"} if component == "branch" else {"bus": "*"}
        op = {"op": "scale", "value": factor} if factor else {"op": "set", "value": 0.5}
        changed, _ = apply(case, [change | op], structure)
        objective = solve(changed, structure, Options()).objective
        if not is_used(field, formulation):
            assert objective == pytest.approx(base, rel=1e-9), name
        elif name in ("PD", "COST_C1", "COST_C2"):
            assert objective != pytest.approx(base, rel=1e-6), name


def test_conventions_of_the_dc_model_use_different_fields():
    tap, r = FIELDS["branch", "TAP"], FIELDS["branch", "BR_R"]
    assert is_used(tap, "DCOPF") and not is_used(tap, "DCOPF", "powermodels")
    assert is_used(r, "DCOPF", "powermodels") and not is_used(r, "DCOPF")


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ({"component": "bus", "bus": 18, "field": "PD"}, "bus_PD_18"),
        ({"component": "gen", "bus": 1, "field": "COST_C1"}, "gen_COST_C1_1"),
        ({"component": "branch", "fbus": 2, "tbus": 3, "field": "RATE_A"}, "branch_RATE_A_2_3"),
        (
            {"component": "branch", "fbus": 15, "tbus": 21, "circuit": 2, "field": "BR_X"},
            "branch_BR_X_15_21_c2",
        ),
    ],
)
def test_placeholders_are_written_and_read(item, name):
    assert placeholder(item) == name
    assert parse_placeholder(name) == item


def test_other_names_of_cost_coefficients_mean_the_power():
    for name in ("gen_GENCOST_C1_3", "gen_COST_PARAMS_C1_3"):
        assert parse_placeholder(name) == {"component": "gen", "field": "COST_C1", "bus": 3}


@pytest.mark.parametrize("name", ["beta", "bus_PD", "bus_PD_1_2", "branch_BR_X_4", "gen_PD_1"])
def test_what_is_no_placeholder_is_none(name):
    assert parse_placeholder(name) is None


def test_share_of_a_negative_default_goes_the_right_way():
    assert strategy_values(-20.0, "decrease", "QMIN") == [-21.0, -22.0]
    assert strategy_values(-20.0, "increase", "QMIN") == [-19.0, -18.0]
    assert strategy_values(680.0, "increase", "PD") == [714.0, 748.0]
    assert strategy_values(1.06, "decrease", "VMAX") == pytest.approx([1.0494, 1.0388])
    assert strategy_values(19.0, "set_zero", "BS") == [0.0, 0.0]
    assert shares_of("VMIN") == (0.01, 0.02)


@pytest.mark.parametrize(
    ("name", "old", "value", "direction", "answer"),
    [
        ("PD", [10.0], 11.0, "increase", "right"),
        ("PD", [10.0], 9.0, "increase", "wrong"),
        ("PD", [10.0], 10.0, "increase", "not"),
        ("PD", [10.0, 12.0], 11.0, "increase", "wrong"),
        ("PD", [-10.0], -11.0, "decrease", "right"),
        ("BS", [19.0], 0.0, "set_zero", "right"),
        ("BS", [0.0], 0.0, "set_zero", "not"),
        ("BS", [19.0], 1.0, "set_zero", "wrong"),
        ("RATE_A", [0.0], 100.0, "decrease", "right"),  # a rating of 0 is none
        ("RATE_A", [0.0], 100.0, "increase", "wrong"),
        ("RATE_A", [100.0], 0.0, "decrease", "wrong"),
        ("RATE_A", [0.0], 0.0, "decrease", "not"),
        ("TAP", [0.0], 0.98, "decrease", "right"),  # a ratio of 0 is 1
        ("TAP", [0.0], 0.98, "increase", "wrong"),
        ("QMAX", [math.inf], 300.0, "decrease", "right"),
    ],
)
def test_direction_of_a_value(name, old, value, direction, answer):
    assert moves(FIELDS[owner(name), name], np.array(old), value, direction) == answer


def test_cost_coefficients_by_power_however_long_the_row_is():
    case = read_case(shipped_case("case9"))
    cost = np.array(
        [
            [2, 0, 0, 3, 0.11, 5, 150, 0],
            [2, 0, 0, 2, 7, 30, 99, 99],  # what follows NCOST means nothing
            [2, 0, 0, 1, 12, 0, 0, 0],
        ],
        dtype=float,
    )
    case = dataclasses.replace(case, gencost=cost)
    rows = np.arange(3)

    def target(power):
        return Target(FIELDS["gen", f"COST_C{power}"], rows, "all units")

    assert read_cost(cost, target(0), case).tolist() == [150, 30, 12]
    assert read_cost(cost, target(1), case).tolist() == [5, 7, 0]
    assert read_cost(cost, target(2), case).tolist() == [0.11, 0, 0]
    longer = write_cost(cost.copy(), target(2), np.array([0.2, 0.3, 0.0]))
    power = np.array([10.0, 20.0])
    for row, polynomial in zip(longer, ([0.2, 5, 150], [0.3, 7, 30], [12]), strict=True):
        count = int(row[3])
        assert np.polyval(row[4 : 4 + count], power) == pytest.approx(np.polyval(polynomial, power))
    wider = write_cost(cost.copy(), target(3), np.array([1e-4, 0.0, 0.0]))
    assert np.polyval(wider[0, 4 : 4 + int(wider[0, 3])], 10.0) == pytest.approx(0.1 + 11 + 200)
