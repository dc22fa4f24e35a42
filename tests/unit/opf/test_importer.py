"""ProOPF files: each fault of theirs on a line of our own, and what the record says of it."""

import json
import time

import numpy as np
import pytest
from proopf_lines import AC, N1, bad, label, line, move, networks, one, reactive, set_, told

from headwater.core.errors import InputError
from headwater.opf.importer import import_proopf
from headwater.opf.patch import apply
from headwater.opf.record import check_record, patched
from headwater.opf.text_lint import text_findings


@pytest.fixture(scope="module")
def cases():
    return networks()


def test_concrete_line(cases):
    changes = [
        set_("bus", "PD", 1.25, "Scale", bus_id=9),
        set_("gen", "PMAX", 250, bus_id=1),
        set_("branch", "BR_X", 0.2, fbus=5, tbus=4),
    ]
    text = AC + "Bus 9 takes 25 percent more, bus 1 gives 250 MW, the line 4 to 5 gets x 0.2."
    record, report = one(cases, line(text, changes, results=label(9000.5), case_id=7))
    assert report.empty, report["message"].tolist()
    assert record["parameters"] == [
        {"component": "bus", "bus": 9, "field": "PD", "op": "scale", "value": 1.25},
        {"component": "gen", "bus": 1, "field": "PMAX", "op": "set", "value": 250},
        {"component": "branch", "fbus": 5, "tbus": 4, "field": "BR_X", "op": "set", "value": 0.2},
    ]
    assert (record["id"], record["level"], record["regime"]) == ("proopf-001", 1, "concrete")
    assert record["solver"] == {"violation": 1e-7, "name": "MIPS"} and record["request"] == text
    assert record["expected"][0]["objective"] == 9000.5
    source = {"file": "", "line": 1, "case_id": 7, "quarantine": [], "labels": "strict"}
    assert record["source"] == source
    check_record(record)


def test_inferred_changes_are_placeholders(cases):
    changes = [
        move("bus", "PD", "Increase", 29.5, 30.975, 32.45, bus_id=9),
        move("bus", "BS", "Set zero", 19.0, 0.0, 0.0, bus_id=9),
        move("branch", "BR_R", "Decrease", 0.01938, 0.018411, 0.017442, fbus=1, tbus=2),
        move("gen", "GENCOST_C1", "Increase", 20.0, 21.0, 22.0, bus_id=2),
    ]
    text = AC + "More demand at bus 9, its capacitor off, line 1-2 rebuilt, fuel price at bus 2."
    answers = {"results_strategy1": label(8200.0), "results_strategy2": label(8300.0)}
    record, report = one(cases, line(text, changes, **answers))
    assert report.empty, report["message"].tolist()
    assert [b["name"] for b in record["bindings"]] == [
        "bus_PD_9",
        "bus_BS_9",
        "branch_BR_R_1_2",
        "gen_COST_C1_2",
    ]
    first = record["bindings"][0]
    assert first["values"] == [30.975, 32.45] and first["direction"] == "increase"
    assert first["default"] == 29.5 and first["rows"] == 1
    assert record["bindings"][1]["direction"] == "set_zero"
    assert (record["level"], record["regime"]) == (2, "abstract")
    assert [e["objective"] for e in record["expected"]] == [8200.0, 8300.0]
    changed, found = patched(cases["case14"], record, strategy=1)
    assert not found and changed.gencost[1, 4:7].tolist() == [0.25, 22.0, 0.0]


@pytest.mark.parametrize(
    ("change", "code", "word"),
    [
        (set_("bus", "PD", 2, "Scale", bus_id=77), "unknown_bus", "77"),
        (set_("gen", "PMAX", 90, bus_id=4), "unknown_generator", "4"),
        (set_("branch", "BR_X", 0.1, fbus=1, tbus=4), "unknown_branch", "Bus 1 is connected"),
    ],
)
def test_absent_objects_are_quarantined(cases, change, code, word):
    text = AC + "Objects 77, 4, 1; values 2, 90, 0.1."
    record, report = one(cases, line(text, [change], results=label(8081.5)))
    assert word in told(report, code, "error")
    assert record["source"]["quarantine"] == [code]
    assert record["source"]["labels"] == "compat"  # the published program did nothing


@pytest.mark.parametrize(
    ("base", "change"),
    [
        ("case14", set_("bus", "PD", 1.5, "Scale", bus_id=7)),
        ("case14", set_("bus", "QD", 1.5, "Scale", bus_id=7)),
        ("case14", set_("bus", "BS", 1.5, "Scale", bus_id=5)),
        ("case118", set_("branch", "RATE_A", 0.5, "Scale", fbus=8, tbus=30)),
        ("case14", move("bus", "BS", "Set zero", 0.0, 0.0, 0.0, bus_id=5)),
    ],
)
def test_multiples_of_zero_do_nothing(cases, base, change):
    record, report = one(cases, line(AC + "5 7 8 30 1.5 0.5", [change], base=base))
    assert "no_effect" in report.index and record["source"]["quarantine"] == []
    told(report, "no_effect")


def test_missing_values_are_quarantined(cases):
    empty = move("bus", "PD", "Increase", None, None, None, bus_id=9)
    absent = {k: v for k, v in empty.items() if "value" not in k}
    for change in (empty, absent, move("bus", "PD", "Increase", 29.5, 31.0, None, bus_id=9)):
        record, report = one(cases, line(AC + "bus 9", [change], results_strategy1=label(1.0)))
        assert "parameter_modifications[0]" in told(report, "null_value", "error")
        assert "null_value" in record["source"]["quarantine"]
        assert record["bindings"][0]["values"] == []
    record, report = one(cases, line(AC + "bus 9", [set_("bus", "PD", None, bus_id=9)]))
    assert record["source"]["quarantine"] == ["null_value"] and record["parameters"] == []


def test_percentage_of_a_negative_default(cases):
    change = move("gen", "QMIN", "Decrease", -20.0, -19.0, -18.0, bus_id=2)
    raw = line(AC + "bus 2", [change], base="case30", results_strategy1=label(577.0))
    record, report = one(cases, raw)
    assert "-21" in told(report, "negative_default") and len(report) == 1
    (binding,) = record["bindings"]
    assert binding["values"] == [-21.0, -22.0] and binding["published_values"] == [-19.0, -18.0]
    assert record["source"]["labels"] == "compat" and record["source"]["quarantine"] == []
    case = cases["case30"]
    assert patched(case, record, 1)[0].gen["QMIN"][1] == -22
    assert patched(case, record, 1, published=True)[0].gen["QMIN"][1] == -18


def test_positive_default_on_the_wrong_side_is_quarantined(cases):
    change = move("bus", "PD", "Increase", 29.5, 28.0, 27.0, bus_id=9)
    record, report = one(cases, line(AC + "bus 9", [change]))
    assert "28 MW" in told(report, "direction_violated", "error")
    assert record["source"]["quarantine"] == ["direction_violated"]


def test_fields_that_the_formulation_does_not_have(cases):
    changes = [
        set_("bus", "VMIN", 0.97, bus_id=9),
        set_("bus", "QD", 1.5, "Scale", bus_id=9),
        set_("branch", "BR_R", 0.02, fbus=1, tbus=2),
    ]
    text = "DC optimal power flow; bus 9: 0.97 and 1.5, line 1-2: 0.02."
    record, report = one(cases, line(text, changes, {"problem": "DCOPF"}))
    assert list(report.index) == ["field_unused_by_formulation"] * 3
    assert record["structure"]["formulation"] == "DCOPF" and record["level"] == 3


@pytest.mark.parametrize(
    ("text", "change", "code", "word"),
    [
        ("The fuel price at bus 2 soars.", move("gen", "PMAX", "Decrease", 140, 133, 126, bus_id=2),
         "text_disagrees", "fuel price"),
        ("Tighten it at bus 9.", move("bus", "VMAX", "Increase", 1.06, 1.08, 1.1, bus_id=9),
         "text_disagrees", "loosens"),
        ("Relax it at bus 9.", move("bus", "VMIN", "Increase", 0.94, 0.95, 0.96, bus_id=9),
         "text_disagrees", "tightens"),
        ("Bus 3 takes more.", move("bus", "PD", "Increase", 29.5, 31.0, 32.0, bus_id=9),
         "object_not_in_text", "bus 9"),
        ("Bus 9 takes 1.2 times as much.", set_("bus", "PD", 1.3, "Scale", bus_id=9),
         "value_not_in_text", "1.3"),
        ("DC optimal power flow. Bus 9 takes 40 MW.", set_("bus", "PD", 40, bus_id=9),
         "text_mentions_structure", "DCOPF"),
        ("Bus 9 takes 40 MW, N-1 secure.", set_("bus", "PD", 40, bus_id=9),
         "text_mentions_structure", "n1_security"),
    ],
)  # fmt: skip
def test_text_and_changes_disagree(cases, text, change, code, word):
    record, report = one(cases, line(text, [change]))
    assert word in told(report, code) and len(report) == 1, report["message"].tolist()
    assert record["source"]["quarantine"] == []


@pytest.mark.parametrize(
    ("text", "operation", "value"),
    [
        ("Bus 9 takes 25 percent more.", "Scale", 1.25),
        ("Bus 9 takes 25 % less.", "Scale", 0.75),
        ("Bus 9 takes a quarter more.", "Scale", 1.25),
        ("Demand at bus 9 doubles.", "Scale", 2),
        ("Bus 9 takes nothing: zero.", "Set", 0),
        ("Bus 9 takes -5 MW.", "Set", -5),
        ("Bus 9 takes 4e1 MW.", "Set", 40),
    ],
)
def test_values_in_words_and_percent_agree(cases, text, operation, value):
    report = one(cases, line(text, [set_("bus", "PD", value, operation, bus_id=9)]))[1]
    assert report.empty, report["message"].tolist()


def test_no_shedding_is_no_structure():
    record = {"request": "AC-OPF without load shedding.", "parameters": [], "bindings": []}
    assert text_findings(record) == []
    record["request"] = "AC-OPF with load shedding."
    assert [f.code for f in text_findings(record)] == ["text_mentions_structure"]


def test_names_of_cost_coefficients(cases):
    changes = [
        set_("gen", "COST_PARAMS_C2", 1.1, "Scale", bus_id=2),
        set_("gen", "COST_PARAMS_C3", 1.1, "Scale", bus_id=2),
    ]
    record, report = one(cases, line(AC + "The costs at bus 2 rise by 10 percent.", changes))
    assert [p["field"] for p in record["parameters"]] == ["COST_C2", "COST_C3"]
    message = told(report, "cost_name_ambiguity")
    assert "P^k" in message and list(report.index).count("cost_name_ambiguity") == 2
    assert "no_effect" in report.index  # case14 has no cubic cost
    changed, _ = apply(cases["case14"], record["parameters"])
    assert changed.gencost[1, 4:7] == pytest.approx([0.275, 20, 0])


def test_column_of_another_coefficient_in_the_program(cases):
    change = move("gen", "GENCOST_C1", "Increase", 20.0, 21.0, 22.0, bus_id=2)
    code = "mpc.gencost(k, 5) = gen_GENCOST_C1_2;"
    raw = line(AC + "fuel price at bus 2", [change], code=code, results_strategy1=label(8400.0))
    record, report = one(cases, raw)
    message = told(report, "cost_column")
    assert "column 5" in message and "P^2" in message and "column 6" in message
    assert record["source"]["labels"] == "compat"
    assert one(cases, raw.replace("(k, 5)", "(k, 6)"))[1].empty


def test_weak_labels(cases):
    change = move("gen", "PMAX", "Decrease", 140.0, 133.0, 126.0, bus_id=2)
    answers = {"results_strategy1": label(8081.525), "results_strategy2": label(8081.5251)}
    _, report = one(cases, line(AC + "bus 2", [change], **answers))
    assert "different values" in told(report, "weak_label")
    base = {("case14", "ACOPF"): 8081.52}
    text = line(AC + "bus 9 30", [set_("bus", "PD", 30, bus_id=9)], results=label(8081.9))
    assert one(cases, text)[1].empty
    _, report = one(cases, text, base_objectives=base)
    assert "unmodified" in told(report, "weak_label")
    other = text.replace("8081.9", "8089.7")  # 1.01e-3 away
    assert one(cases, other, base_objectives=base)[1].empty


def test_label_of_a_program_that_did_not_converge(cases):
    text = line(AC + "bus 9 30", [set_("bus", "PD", 30, bus_id=9)], results=label(99.0, False))
    record, report = one(cases, text)
    told(report, "label_not_converged")
    assert record["expected"][0]["status"] == "unknown" and record["source"]["labels"] == "compat"
    nothing = {k: None for k in label(1)}
    record, report = one(cases, line(AC, [], results=nothing))
    assert "expected" not in record and record["source"]["labels"] == "none"


def test_larger_step_first_is_said_and_kept(cases):
    change = move("bus", "PD", "Increase", 29.5, 32.45, 30.975, bus_id=9)
    record, report = one(cases, line(AC + "bus 9", [change]))
    told(report, "strategy_order")
    assert record["bindings"][0]["values"] == [32.45, 30.975]


def test_duplicates(cases):
    a = line(AC + "bus 9 30", [set_("bus", "PD", 30, bus_id=9)], results=label(1.0))
    b = line(AC + "30 MW at bus 9", [set_("bus", "PD", 30.0, bus_id=9)])
    c = line(AC + "bus 9 31", [set_("bus", "PD", 31, bus_id=9)])
    records, report = import_proopf([a, c, b], cases, name="set one")
    assert [r["id"] for r in records] == ["set_one-001", "set_one-002", "set_one-003"]
    assert [r["source"].get("duplicate_of") for r in records] == [None, None, "set_one-001"]
    assert report["code"].tolist() == ["duplicate_record"]


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ('{"natural_language": "cut', "malformed_json", ["line 1, column", "record proopf-001"]),
        ('{"natural_language": NaN}', "malformed_record", ["NaN"]),
        ("[]", "malformed_record", ["model_specification"]),
        ("{}", "malformed_record", ["natural_language"]),
        (json.dumps({"natural_language": "x", "model_specification": "y"}), "malformed_record",
         ["model_specification", "'y'"]),
        (line(base=""), "malformed_record", ["base_system"]),
        (line(base=14), "malformed_record", ["14"]),
        (line(code=3), "malformed_record", ["matpower_code"]),
        (line(changes={}).replace("[]", '"none"'), "malformed_record", ["parameter_modifications"]),
    ],
)  # fmt: skip
def test_lines_that_are_no_record(cases, text, code, words):
    record, report = one(cases, text)
    message = told(report, code, "error")
    assert record is None
    for word in words:
        assert word in message, message


@pytest.mark.parametrize(
    ("change", "code", "word"),
    [
        (bad(bus_id=None), "missing_key", "bus_id"),
        (bad(bus_id="nine"), "wrong_type", "'nine'"),
        (bad(bus_id=9.5), "wrong_type", "9.5"),
        (bad(component="shunt"), "unknown_component", "'shunt'"),
        (bad(target_parameter="LOAD"), "unknown_field", "'LOAD'"),
        (bad(target_parameter="PMAX"), "unknown_field", "'PMAX'"),
        (bad(target_parameter=None), "unknown_field", "''"),
        (bad(operation="Add"), "unknown_operation", "'Add'"),
        (bad(value="30"), "wrong_type", "'30'"),
        (bad(value=True), "wrong_type", "True"),
        (bad(value=[30]), "wrong_type", "[30]"),
        ("PD", "wrong_type", "'PD'"),
        (move("bus", "PD", "Sideways", 1, 2, 3, bus_id=9), "unknown_direction", "'Sideways'"),
        (move("bus", "PD", "Increase", 1, "2", 3, bus_id=9), "wrong_type", "'2'"),
        (set_("bus", "VMAX", 106, bus_id=9), "unit_out_of_range", "percent"),
        (set_("gen", "PMIN", 400, bus_id=1), "bounds_crossed", "PMIN 400"),
    ],
)
def test_changes_that_cannot_be_used(cases, change, code, word):
    record, report = one(cases, line(AC + "9 30 106 1 400", [change]))
    assert word in told(report, code, "error")
    assert code in record["source"]["quarantine"]


def test_small_faults_are_read_and_said(cases):
    change = bad(bus_id="9", comment="why")
    record, report = one(cases, line(AC + "bus 9 30", [change]))
    assert sorted(report.index) == ["unknown_key", "wrong_type"]
    assert set(report["severity"]) == {"warning"} and record["parameters"][0]["bus"] == 9


def test_bad_tolerance_and_unknown_network(cases):
    text = line(AC).replace("1e-07", "1")
    record, report = one(cases, text)
    told(report, "bad_tolerance")
    assert record["solver"] == {"name": "MIPS"}
    record, report = one(cases, line(AC, base="case140"))
    assert "case14" in told(report, "unknown_base_system", "error")
    assert record["source"]["quarantine"] == ["unknown_base_system"]


def test_file_and_its_name(cases, tmp_path):
    path = tmp_path / "level9.jsonl"
    path.write_text("\n" + line(AC) + "\n\n" + "{" + "\n", encoding="utf-8")
    records, report = import_proopf(path, cases)
    assert [r["id"] for r in records] == ["level9-002"] and report["record"].tolist() == [
        "level9-004"
    ]
    assert records[0]["source"]["file"] == "level9.jsonl"
    with pytest.raises(InputError, match=r"absent\.jsonl"):
        import_proopf(tmp_path / "absent.jsonl", cases)
    (tmp_path / "latin.jsonl").write_bytes(b"\xe9")
    with pytest.raises(InputError, match="UTF-8"):
        import_proopf(tmp_path / "latin.jsonl", cases)


def test_import_gives_the_same_bytes(cases):
    raw = [line(AC + f"bus {k}", [bad(bus_id=k)], results=label(1.0)) for k in range(1, 20)]
    first, second = (import_proopf(raw, cases) for _ in range(2))
    assert json.dumps(first[0]) == json.dumps(second[0]) and first[1].equals(second[1])


def test_six_hundred_records_are_checked_in_time(cases):
    rng = np.random.default_rng(5)
    raw = []
    for k in range(600):
        base = sorted(cases)[k % len(cases)]
        case = cases[base]
        numbers = rng.choice(case.bus["BUS_I"].astype(int), 3, replace=False).tolist()
        f, t = case.branch.iloc[int(rng.integers(len(case.branch))), :2].astype(int)
        if k % 2:
            changes = [set_("bus", "PD", 1.1, "Scale", bus_id=n) for n in numbers]
            changes.append(set_("branch", "BR_STATUS", 0, fbus=int(f), tbus=int(t)))
        else:
            changes = [move("bus", "PD", "Increase", 10.0, 10.5, 11.0, bus_id=n) for n in numbers]
            changes.append(
                move("branch", "BR_X", "Increase", 0.1, 5.0, 6.0, fbus=int(f), tbus=int(t))
            )
        structure = N1 if k % 3 == 0 else reactive(5) if k % 3 == 1 else {}
        raw.append(line(AC + str(k), changes, structure, base, results=label(float(k))))
    begin = time.process_time()
    records, report = import_proopf(raw, cases)
    taken = time.process_time() - begin
    assert len(records) == 600 and len(report) > 600
    assert taken < 20, taken
