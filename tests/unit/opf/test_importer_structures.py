"""Structural changes of ProOPF files in our vocabulary; units and orders of their programs."""

import pytest
from proopf_lines import AC, N1, label, line, networks, one, reactive, told

from headwater.opf import proopf_names as names
from headwater.opf.extensions import GROUPS, REGISTRY
from headwater.opf.structure import check


@pytest.fixture(scope="module")
def cases():
    return networks()


LODF = "LODF = makeLODF(branch, PTDF); u(row) = branch(ell, RATE_A) - cst;"


def test_flows_per_unit_against_ratings_in_mva(cases):
    text = "DC optimal power flow, N-1 secure."
    record, report = one(cases, line(text, [], N1, base="case30", code=LODF, results=label(582.24)))
    assert "per unit" in told(report, "per_unit_label") and len(report) == 1
    assert record["source"]["labels"] == "compat" and record["source"]["quarantine"] == []
    item = {"op": "add", "name": "n1_security"}
    nothing = {"objective": [], "variables": []}
    assert record["structure"] == {"formulation": "DCOPF", "constraints": [item], **nothing}
    right = LODF.replace("RATE_A)", "RATE_A) / baseMVA")
    record, report = one(cases, line(text, [], N1, base="case30", code=right, results=label(582.6)))
    assert report.empty and record["source"]["labels"] == "strict"


def test_reactive_costs_said_per_mvar_but_applied_per_unit(cases):
    text = (
        AC
        + "Reactive output costs c_Q = [9, 5, 7] $/(MVar)^2 for generators at buses 1, 2, and 13."
    )
    code = "c_Q = [9; 5; 7]; target_buses = [1, 2, 13];"
    raw = line(text, [], reactive([9, 5, 7]), base="case30", code=code, results=label(578.0))
    record, report = one(cases, raw)
    assert "factor of 10000" in told(report, "per_unit_label") and len(report) == 1
    (item,) = record["structure"]["objective"]
    # case30 lists its units at buses 1, 2, 22, 27, 23, 13
    assert item["c2"] == [9, 5, 0, 0, 0, 7] and item["unit"] == "$/MVAr^2"
    assert record["source"]["labels"] == "compat" and record["level"] == 3
    scaled = raw.replace("c_Q = [9; 5; 7];", "c_Q = [9; 5; 7] * baseMVA^2;")
    record, report = one(cases, scaled)
    assert report.empty and record["source"]["labels"] == "strict"


def test_reactive_costs_without_a_unit_are_those_of_the_program(cases):
    raw = line(AC + "Reactive output is charged.", [], reactive([9, 8, 7, 6, 5]), code="c_Q = [9];")
    record, report = one(cases, raw)
    assert "$/p.u.^2" in told(report, "unit_assumed") and len(report) == 1
    assert record["structure"]["objective"][0]["unit"] == "$/p.u.^2"


def test_costs_of_named_buses_in_the_order_of_the_file(cases):
    text = AC + "c_Q in $/MVAr^2 of generators at buses 1, 2, 13, 22, 23 and 27: 1, 2, 3, 4, 5, 6."
    raw = line(text, [], reactive([1, 2, 3, 4, 5, 6]), base="case30", code="c_Q = [1:6];")
    record, report = one(cases, raw)
    assert "1, 2, 22, 27, 23, 13" in told(report, "order_mismatch")
    assert record["structure"]["objective"][0]["c2"] == [1, 2, 4, 6, 5, 3]


def test_costs_of_unnamed_units_are_not_guessed(cases):
    record, report = one(cases, line(AC + "c_Q = [1, 2]", [], reactive([1, 2])))
    assert "5, one for each gen" in told(report, "list_length", "error")
    assert record["source"]["quarantine"] == ["list_length"]


# (problem, objective, constraint) in spellings like theirs, and what they are in our vocabulary.
STRUCTURES = [
    ("DCOPF", {"name": "angle_difference_penalty", "beta": 10}, None,
     "DCOPF", {"angle_difference_penalty": {"beta": 10}}),
    ("DC-OPF", {"name": "phase_angle_difference_penalty", "weight": 3}, None,
     "DCOPF", {"angle_difference_penalty": {"beta": 3}}),
    ("ACOPF", {"name": "voltage_deviation_penalty", "beta": 50, "Vref": 1.02}, None,
     "ACOPF", {"voltage_deviation_penalty": {"beta": 50, "v_ref": 1.02}}),
    ("DCOPF", None, {"name": "spinning_reserve_requirement", "SPmax_MW": 40, "R_SP_MW": 60},
     "DCOPF", {"spinning_reserve_requirement": {"unit_cap_mw": 40, "requirement_mw": 60}}),
    ("DCOPF", None, {"name": "regulation_up_requirement", "RUmax_MW": 40, "R_RU_MW": 60},
     "DCOPF", {"regulation_up_requirement": {"unit_cap_mw": 40, "requirement_mw": 60}}),
    ("DCOPF", None, {"name": "N-1_security_constraints"}, "DCOPF", {"n1_security": {}}),
    ("DCOPF", None, {"name": "robust_line_limits_box", "uncertain_buses_ext": [5, 9],
                     "Delta_MW": [3, 2]},
     "DCOPF", {"robust_line_limits": {"buses": [5, 9], "delta_mw": [3, 2]}}),
    ("DC OPF", None, {"name": "chance_constrained_line_limits", "bus": 5, "mean_MW": 10,
                      "sigma_MW": 2, "epsilon": 0.05},
     "DCOPF", {"chance_line_limits": {"bus": 5, "mean_mw": 10, "std_mw": 2, "epsilon": 0.05}}),
    ("DCOTS (line switching)", {"op": "none", "name": "none"},
     [{"name": "big-M switching", "budget": {"GUB": 2}}],
     "DCOPF", {"transmission_switching": {"max_open": 2}}),
    ("ACOPF", {"name": "load_shedding_cost", "voll": 5000}, None,
     "ACOPF", {"load_shedding": {"voll": 5000}}),
    ("ACOPF", {"op": "replace", "name": "active power losses", "price": 30}, None,
     "ACOPF", {"active_power_loss": {"price": 30}}),
    ("ACOPF", {"name": "congestion_cost", "price": 100}, None,
     "ACOPF", {"congestion_cost": {"price": 100}}),
    ("DCOPF", {"name": "real_power_redispatch_cost", "c_up": 50, "c_down": 30}, None,
     "DCOPF", {"redispatch_cost": {"up": 50, "down": 30}}),
    ("DCOPF", None, {"name": "CO2_emission_cap", "Cap_t_per_h": 140,
                     "e_t_per_MWh": [0.9, 0.5, 0, 0, 1]},
     "DCOPF", {"emission_cap": {"cap_t_per_h": 140, "rates_t_per_mwh": [0.9, 0.5, 0, 0, 1]}}),
    ("DCOPF", {"name": "carbon cost", "price": 20, "e_t_per_MWh": 0.8}, None,
     "DCOPF", {"emission_cost": {"price": 20, "beta": 0.8}}),
    ("ACOPF", None, {"name": "soft_branch_limits", "penalty": 900},
     "ACOPF", {"soft_line_limits": {"penalty": 900}}),
    ("ACOPF", {"name": "reactive_power_reserve_incentive", "w_per_MVAr": -5}, None,
     "ACOPF", {"reactive_reserve": {"weight": 5}}),
    ("Multi-period DCOPF", None, [{"name": "scheduling", "load_multipliers": [1, 1.1]},
                                  {"name": "ramping", "ramp_MW": 30}],
     "DCOPF", {"horizon": {"load_multipliers": [1, 1.1]}, "ramp_limits": {"up_mw": 30}}),
    ("SOCP relaxation", None, None, "SOCP", {}),
    ("economic dispatch", None, None, "ED", {}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("problem", "objective", "constraint", "formulation", "wanted"), STRUCTURES
)
def test_structures_in_our_vocabulary(cases, problem, objective, constraint, formulation, wanted):
    change = {"problem": problem}
    if objective is not None:
        change["objective_modification"] = {"op": "add", "form": "…"} | objective
    if constraint is not None:
        change["constraint_modification"] = constraint
    record, report = one(cases, line("Solve it.", [], change))
    assert report.empty, report["message"].tolist()
    structure = record["structure"]
    found = {i["name"]: i for g in GROUPS for i in structure[g]}
    assert structure["formulation"] == formulation and set(found) == set(wanted)
    for name, parameters in wanted.items():
        rest = {k: v for k, v in found[name].items() if k not in ("op", "name")}
        assert rest == parameters
    assert check(structure, cases["case14"]) == []


def test_replaced_objective_replaces(cases):
    loss = {"op": "replace", "name": "power loss minimisation"}
    record, _ = one(cases, line("Solve it.", [], {"problem": "AC", "objective_modification": loss}))
    assert record["structure"]["objective"] == [{"op": "replace", "name": "active_power_loss"}]


@pytest.mark.parametrize(
    ("change", "code", "word"),
    [
        ({"problem": "MINLP"}, "unknown_formulation", "'MINLP'"),
        ({"problem": "DCOPF", "objective_modification": {"name": "beauty"}},
         "structure_not_expressible", "'beauty'"),
        ({"problem": "DCOPF", "objective_modification": {"name": "power_loss_proxy"}},
         "structure_not_expressible", "power_loss_proxy"),
        ({"problem": "DCOPF", "constraint_modification": ["keep it safe"]},
         "structure_not_expressible", "keep it safe"),
        ({"problem": "Multi-period DCOPF (MOST)"}, "missing_parameter", "load_multipliers"),
        ({"problem": "DCOTS"}, "missing_parameter", "max_open"),
        ({"problem": "DCOPF", "objective_modification":
          {"name": "reactive_power_generation_cost", "c_Q": 5}},
         "extension_not_applicable", "DCOPF"),
        ({"problem": "ACOPF", "objective_modification":
          {"name": "voltage_deviation_penalty", "beta": -1}},
         "parameter_out_of_range", "beta"),
        ("DCOPF", "wrong_type", "'DCOPF'"),
    ],
)  # fmt: skip
def test_structures_that_cannot_be_said(cases, change, code, word):
    record, report = one(cases, line("Solve it.", [], change))
    assert word in told(report, code, "error")
    assert code in record["source"]["quarantine"]


def test_numbers_that_nothing_takes_are_said(cases):
    constraint = {"op": "add", "name": "switching", "GUB": 1, "bigM": 1e5}
    change = {"problem": "DCOTS", "constraint_modification": constraint}
    _, report = one(cases, line("Solve it.", [], change))
    assert "bigM" in told(report, "parameter_ignored") and len(report) == 1


def test_every_extension_with_parameters_has_names_to_be_found_by():
    for name, wanted in names.PARAMETERS.items():
        assert set(wanted) <= set(REGISTRY[name].PARAMETERS), name
    targets = {
        t for table in (names.PROBLEMS, names.OBJECTIVES, names.CONSTRAINTS) for _, t in table
    }
    later = {"l_index", "transfer_capability", "frequency_security"}  # named, with no counterpart
    assert targets - later - {names.NOTHING, names.NO_COUNTERPART} <= set(REGISTRY)
