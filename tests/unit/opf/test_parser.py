"""Sentences of power engineers and what they ask, written down by hand."""

# ruff: noqa: E501

import pytest

from headwater.opf.case import read_case, shipped_case
from headwater.opf.parser import answer, parse

CASES = {n: read_case(shipped_case(n)) for n in ("case14", "case30", "case39", "case118")}


def changes(text, name="39-bus system"):
    found = parse(f"On the {name}, {text}", CASES)
    return [
        (
            c["component"],
            c.get("bus") or (c["fbus"], c["tbus"]),
            c["field"],
            c["op"],
            pytest.approx(c["value"]),
        )
        for c in found["parameters"]
    ]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Take the IEEE 14-bus network.", "case14"),
        ("Solve the AC-OPF of case118.", "case118"),
        ("For the New England 39-bus system, solve.", "case39"),
        ("Use IEEE 30.", "case30"),
    ],
)
def test_networks(text, name):
    assert parse(text, CASES)["base_system"] == name


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("demand at bus 20 grows by 10 percent.", ("bus", 20, "PD", "scale", 1.1)),
        ("the load at bus 7 falls by 5%.", ("bus", 7, "PD", "scale", 0.95)),
        ("set the real demand at bus 8 to 512.5 MW.", ("bus", 8, "PD", "set", 512.5)),
        ("double the demand at bus 3.", ("bus", 3, "PD", "scale", 2.0)),
        ("halve the reactive demand at bus 3.", ("bus", 3, "QD", "scale", 0.5)),
        ("raise the load at bus 4 by one quarter.", ("bus", 4, "PD", "scale", 1.25)),
        ("keep the voltage at bus 5 at or below 1.03 p.u.", ("bus", 5, "VMAX", "set", 1.03)),
        ("the voltage at bus 5 must not drop below 0.97.", ("bus", 5, "VMIN", "set", 0.97)),
        ("cap the unit at bus 33 at 500 MW.", ("gen", 33, "PMAX", "set", 500.0)),
        ("the plant at bus 30 may not exceed 800 MW.", ("gen", 30, "PMAX", "set", 800.0)),
        ("the generator at bus 31 must run with at least 100 MW.", ("gen", 31, "PMIN", "set", 100)),
        ("the unit at bus 32 is out of service.", ("gen", 32, "GEN_STATUS", "set", 0)),
        ("the fuel cost of the unit at bus 30 rises by 20 percent.", ("gen", 30, "COST_C1", "scale", 1.2)),
        ("derate the line between buses 2 and 3 to 450 MVA.", ("branch", (2, 3), "RATE_A", "set", 450)),
        ("the line from bus 4 to bus 5 is out for maintenance.", ("branch", (4, 5), "BR_STATUS", "set", 0)),
        ("open the circuit 16-17.", ("branch", (16, 17), "BR_STATUS", "set", 0)),
        ("set the reactance of the line between buses 6 and 7 to 0.01.", ("branch", (6, 7), "BR_X", "set", 0.01)),
        ("put the transformer between buses 12 and 11 on tap ratio 1.02.", ("branch", (12, 11), "TAP", "set", 1.02)),
        ("multiply all demands by 1.1.", ("bus", "*", "PD", "scale", 1.1)),
    ],
)  # fmt: skip
def test_changes(text, wanted):
    assert changes(text) == [wanted]


def test_several_changes_in_one_sentence():
    text = "demand at bus 20 grows by 10 percent, and the unit at bus 33 is capped at 500 MW."
    assert changes(text) == [
        ("bus", 20, "PD", "scale", 1.1),
        ("gen", 33, "PMAX", "set", 500.0),
    ]


@pytest.mark.parametrize(
    ("text", "formulation"),
    [
        ("Run an AC optimal power flow.", "ACOPF"),
        ("Run a DC-OPF.", "DCOPF"),
        ("Solve the DC optimal power flow.", "DCOPF"),
        ("Find the economic dispatch.", "ED"),
        ("Solve the second-order cone relaxation.", "SOCP"),
        ("Solve it.", "ACOPF"),
    ],
)
def test_formulations(text, formulation):
    assert parse(text, CASES)["structure"]["formulation"] == formulation


@pytest.mark.parametrize(
    ("text", "name", "values"),
    [
        (
            "Hold 300 MW of spinning reserve, with at most 50 MW per unit.",
            "spinning_reserve_requirement",
            {"unit_cap_mw": 50, "requirement_mw": 300},
        ),
        (
            "Demand may be shed at 4000 $/MWh.",
            "load_shedding",
            {"voll": 4000, "power_factor": "constant"},
        ),
        (
            "The dispatch must survive any single outage at 110 percent of the rating.",
            "n1_security",
            {"contingencies": "all_non_islanding_branches", "emergency_factor": 1.1},
        ),
        ("Allow the operator to open at most one line.", "transmission_switching", {"max_open": 1}),
    ],
)
def test_structures(text, name, values):
    found = parse(f"On case39. {text}", CASES)["structure"]
    items = [i for g in ("objective", "constraints", "variables") for i in found[g]]
    assert [i["name"] for i in items] == [name]
    assert {k: items[0][k] for k in values} == values


def test_placeholders_and_directions():
    text = (
        "On case39 a heat wave raises the demand at bus 20. The line between buses 2 and 3 is"
        " derated. All are left as named placeholders."
    )
    found = parse(text, CASES)
    assert found["parameters"] == []
    assert [(b["name"], b["direction"], b["default"]) for b in found["bindings"]] == [
        ("bus_PD_20", "increase", 680.0),
        ("branch_RATE_A_2_3", "decrease", 500.0),
    ]


def test_nothing_is_invented_and_nothing_breaks():
    for text in ("", "Hello.", "On case39.", "bus 12", "line between", "∑ 5 % of bus 999 demand"):
        found = parse(text, CASES)
        assert set(found) == {"base_system", "parameters", "bindings", "structure", "solver"}
    assert parse("On case39.", CASES)["parameters"] == []
    assert answer("On case39.", CASES).startswith("```json\n{")
