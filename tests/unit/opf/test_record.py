"""Records: read strictly with file, line and key of a fault; one hash for one request."""

import copy
import gzip
import hashlib
import itertools
import json

import jsonschema
import pytest

from headwater.core.errors import InputError
from headwater.opf.case import read_case, shipped_case
from headwater.opf.explain import explain
from headwater.opf.record import (
    canonical_hash,
    complete,
    lint_record,
    patched,
    read_records,
    schema,
    unique,
)

PD = {"component": "bus", "bus": 9, "field": "PD", "op": "scale", "value": 1.25}
CAP = {"component": "gen", "bus": 1, "field": "PMAX", "op": "set", "value": 250}
LINE = {"component": "branch", "fbus": 4, "tbus": 5, "field": "BR_STATUS", "op": "set", "value": 0}
BINDING = {
    "name": "bus_PD_9", "component": "bus", "bus": 9, "field": "PD",
    "direction": "increase", "default": 29.5, "rows": 1, "values": [30.975, 32.45],
}  # fmt: skip
RESERVE = {
    "op": "add", "name": "spinning_reserve_requirement", "unit_cap_mw": 40, "requirement_mw": 60,
}  # fmt: skip


def record(**more):
    base = {"id": "a", "base_system": "case14", "request": "Solve it.", "parameters": [PD, CAP]}
    return copy.deepcopy(base | more)


def dc(**groups):
    return {"formulation": "DCOPF", **groups}


def write(tmp_path, *records, name="records.jsonl"):
    path = tmp_path / name
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    return path


@pytest.fixture(scope="module")
def case14():
    return read_case(shipped_case("case14"))


def test_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(schema())
    for name, part in schema()["properties"].items():
        assert part.keys() & {"type", "enum"}, name


def test_shared_records_are_read(mirror):
    records = read_records(mirror / "opf" / "requests.jsonl")
    assert [r["level"] for r in records] == [1] * 5 + [2] * 5 + [3] * 7 + [4] * 4
    raw = [json.loads(t) for t in (mirror / "opf" / "requests.jsonl").read_text().splitlines()]
    for ours, theirs in zip(records, raw, strict=True):
        assert {k: ours[k] for k in theirs} == theirs
        assert complete({k: v for k, v in ours.items() if k != "level"}) == ours
    assert len({canonical_hash(r) for r in records}) == 21


def test_what_is_left_out_is_filled_in(tmp_path):
    (found,) = read_records(write(tmp_path, record()))
    assert found["bindings"] == [] and found["solver"] == {}
    assert (found["level"], found["regime"]) == (1, "concrete")
    nothing = {"objective": [], "constraints": [], "variables": []}
    assert found["structure"] == {"formulation": "ACOPF", **nothing}
    abstract = record(bindings=[BINDING], structure=dc(constraints=[RESERVE]))
    del abstract["parameters"]
    (found,) = read_records(write(tmp_path, abstract))
    assert (found["level"], found["regime"]) == (4, "abstract")


def test_packed_files_and_blank_lines(tmp_path):
    path = tmp_path / "records.jsonl.gz"
    text = json.dumps(record()) + "\n\n" + json.dumps(record(id="b", request="a\u2028b")) + "\r\n"
    path.write_bytes(gzip.compress(text.encode()))
    assert [r["id"] for r in read_records(path)] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"id": "a", ', ["line 1, column", "no JSON", "cut line"]),
        ("[]", ["line 1", "[]", "a JSON object"]),
        ('{"id": "a", "id": "b"}', ["line 1, id", "twice"]),
        ('{"id": "a", "x": NaN}', ["line 1", "NaN", "finite"]),
        ('{"id": "a", "x": -Infinity}', ["-Infinity", '"Inf"']),
        ("[" * 100_000, ["line 1", "JSON"]),
        ("", ["no record"]),
        ("\n \n", ["no record"]),
    ],
)
def test_lines_that_are_no_record(tmp_path, text, words):
    path = tmp_path / "records.jsonl"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_records(path)
    assert "records.jsonl" in str(error.value)
    for word in words:
        assert word in str(error.value)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        read_records(tmp_path / "absent.jsonl")
    (tmp_path / "latin.jsonl").write_bytes(b'{"id": "\xe9"}')
    with pytest.raises(InputError, match=r"byte 8.*UTF-8"):
        read_records(tmp_path / "latin.jsonl")
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(b"{}" * 99)[:15])
    with pytest.raises(InputError, match=r"cut\.jsonl\.gz"):
        read_records(tmp_path / "cut.jsonl.gz")


def wrong(key, value):
    return record(parameters=[CAP, PD | {key: value}])


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"id": "a"}, ["no 'base_system'"]),
        (record(id="a b"), ["record a b, id", "'a b'"]),
        (record(id=3), ["id", "3", "a string"]),
        ({k: v for k, v in record().items() if k != "parameters"}, ["parameters or bindings"]),
        (record(request=""), ["request", "some text"]),
        (record(paramters=[]), ["'paramters'", "did you mean 'parameters'"]),
        (record(level=5), ["level", "5", "1 or 2 or 3 or 4"]),
        (record(parameters="PD"), ["parameters", "'PD'", "array"]),
        (wrong("bus", "9"), ["parameters[1], bus", "'9'", "bus number"]),
        (wrong("bus", 0), ["parameters[1], bus", "0"]),
        (wrong("component", "line"), ["parameters[1]", "'line'", "bus, gen or branch"]),
        (wrong("field", "PDX"), ["parameters[1], field", "'PDX'", "did you mean 'PD'"]),
        (wrong("field", "PMAX"), ["PMAX is a field of gen"]),
        (wrong("op", "add"), ["parameters[1], op", "'add'", "set or scale"]),
        (wrong("value", "1.25"), ["parameters[1], value", "'1.25'", "a number"]),
        (wrong("value", True), ["parameters[1], value", "True"]),
        (wrong("valeu", 3), ["parameters[1], valeu", "did you mean 'value'"]),
        (record(parameters=[LINE | {"circuit": 0}]), ["parameters[0], circuit", "0"]),
        (record(parameters=[{"component": "bus"}]), ["parameters[0]", "no 'bus'"]),
        (record(parameters=[3]), ["parameters[0]", "3"]),
        (record(bindings=[BINDING | {"direction": "up"}]), ["bindings[0], direction", "'up'"]),
        (record(bindings=[BINDING | {"values": ["x"]}]), ["bindings[0].values[0]", "'x'"]),
        (record(bindings=[BINDING | {"name": "9"}]), ["bindings[0].name", "'9'"]),
        (record(structure={}), ["structure", "no 'formulation'"]),
        (record(structure=dc(objectives=[])), ["structure", "objectives"]),
        (record(structure=dc(objective=[{}])), ["structure.objective[0]", "no 'name'"]),
        (record(solver={"violation": 0}), ["solver.violation", "more than 0"]),
        (record(solver={"violation": 0.1}), ["solver.violation", "at most 0.001"]),
        (record(expected=[]), ["expected", "at least 1"]),
        (record(expected=[{"status": "fine"}]), ["expected[0].status", "'fine'", "optimal"]),
        (record(expect={"severity": "error"}), ["expect", "no 'code'"]),
    ],
)
def test_faults_name_file_line_record_and_key(tmp_path, bad, words):
    path = write(tmp_path, record(id="first"), bad)
    with pytest.raises(InputError) as error:
        read_records(path)
    for word in ("records.jsonl, line 2", *words):
        assert word in str(error.value), str(error.value)


def test_an_id_stands_once(tmp_path):
    with pytest.raises(InputError, match=r"line 3, id.*'a' again, as on line 1"):
        read_records(write(tmp_path, record(), record(id="b"), record()))


def test_no_limit_is_written_as_a_word(tmp_path, case14):
    limit = CAP | {"value": "Inf"}
    (found,) = read_records(write(tmp_path, record(parameters=[limit])))
    changed, findings = patched(case14, found)
    assert not findings and changed.gen["PMAX"][0] == float("inf")
    demand = PD | {"op": "set", "value": "Inf"}
    (found,) = read_records(write(tmp_path, record(parameters=[demand])))
    assert [f.code for f in patched(case14, found)[1]] == ["nan_or_inf"]


def test_findings_carry_the_record_and_the_structure_is_checked(case14):
    penalty = {"op": "add", "name": "voltage_deviation_penalty", "beta": 10.0}
    bad = record(structure=dc(objective=[penalty]), parameters=[PD | {"bus": 41}])
    found = patched(case14, bad)[1]
    assert {f.code for f in found} == {"extension_not_applicable", "unknown_bus"}
    assert all(f.message.startswith(f"{f.code}: record a, ") for f in found)


def test_strategies_take_their_values(case14):
    abstract = complete(record(parameters=[CAP], bindings=[BINDING]))
    for strategy, value in enumerate(BINDING["values"]):
        changed, found = patched(case14, abstract, strategy)
        assert not found and changed.bus["PD"][8] == value and changed.gen["PMAX"][0] == 250
    assert [f.code for f in patched(case14, abstract, 2)[1]] == ["missing_value"]


def test_published_values_are_taken_where_asked(case14):
    odd = {
        "name": "gen_QMIN_2", "component": "gen", "bus": 2, "field": "QMIN",
        "direction": "decrease", "values": [-42.0, -44.0], "published_values": [-38.0, -36.0],
    }  # fmt: skip
    abstract = record(parameters=[], bindings=[odd, BINDING])
    ours, found = patched(case14, abstract)
    assert not found and ours.gen["QMIN"][1] == -42
    theirs, found = patched(case14, abstract, 1, published=True)
    assert not found and theirs.gen["QMIN"][1] == -36 and theirs.bus["PD"][8] == 32.45


def test_islands_of_any_strategy_are_found(case14):
    cut = {"component": "branch", "fbus": 7, "tbus": 8, "field": "BR_STATUS"}
    found = lint_record(record(parameters=[cut | {"op": "set", "value": 0}]), case14)
    assert [f.code for f in found] == ["island_created"] and "bus 8" in found[0].message
    assert "record a" in found[0].where


def test_same_request_has_the_same_hash():
    first = record(parameters=[PD, CAP, LINE], structure=dc(constraints=[RESERVE]))
    digest = canonical_hash(first)
    assert len(digest) == 64 and int(digest, 16)
    for order in itertools.permutations([PD, CAP, LINE]):
        assert canonical_hash(first | {"parameters": list(order)}) == digest
    floats = json.loads(json.dumps(first).replace("250", "250.0").replace("40", "40.0"))
    assert canonical_hash(floats) == digest
    written = RESERVE | {"price": 0.0}  # the default
    assert canonical_hash(first | {"structure": dc(constraints=[written])}) == digest
    other_words = first | {"id": "z", "request": "Otherwise said.", "level": 3, "expected": []}
    assert canonical_hash(other_words) == digest
    assert canonical_hash(complete(first)) == digest
    sorted_keys = json.loads(json.dumps(first, sort_keys=True))
    assert canonical_hash(sorted_keys) == digest


def test_another_request_has_another_hash():
    first = record(structure=dc(constraints=[RESERVE]))
    others = [
        first | {"base_system": "case30"},
        first | {"parameters": [PD]},
        first | {"parameters": [PD | {"value": 1.26}, CAP]},
        first | {"parameters": [PD | {"op": "set"}, CAP]},
        first | {"parameters": [PD, PD, CAP]},
        first | {"bindings": [BINDING]},
        first | {"bindings": [BINDING | {"direction": "decrease"}]},
        first | {"structure": dc()},
        first | {"structure": {"formulation": "ED", "constraints": [RESERVE]}},
        first | {"structure": dc(constraints=[RESERVE | {"requirement_mw": 61}])},
    ]
    assert len({canonical_hash(r) for r in [first, *others]}) == 1 + len(others)
    one = PD | {"op": "set", "value": 40}
    assert canonical_hash(record(parameters=[one, PD])) != canonical_hash(
        record(parameters=[PD, one])
    )


def test_test_values_do_not_make_another_request():
    other = BINDING | {"values": [40, 50], "default": 29, "rows": 2}
    first, second = record(bindings=[BINDING]), record(id="b", bindings=[other])
    assert [r["id"] for r in unique([first, second, record(id="c")])] == ["a", "c"]


def test_the_hash_is_that_of_the_sorted_text():
    text = (
        '{"base_system":"case14","bindings":[],"parameters":[{"bus":1,"component":"gen",'
        '"field":"PMAX","op":"set","value":250},{"bus":9,"component":"bus","field":"PD",'
        '"op":"scale","value":1.25}],"structure":{"constraints":[],"formulation":"ACOPF",'
        '"objective":[],"variables":[]}}'
    )
    assert canonical_hash(record()) == hashlib.sha256(text.encode()).hexdigest()


def test_a_record_in_sentences(case14):
    out = record(
        parameters=[PD, CAP, LINE, PD | {"bus": "*", "value": 2}],
        bindings=[BINDING],
        structure=dc(constraints=[RESERVE]),
    )
    told = explain(out, case14)
    assert told[:6] == [
        "DC optimal power flow of case14.",
        "The real power demand at bus 9 is multiplied by 1.25 (from 29.5 to 36.875 MW).",
        "The maximum real output of the unit at bus 1 is set to 250 MW (from 332.4 MW).",
        "Branch 4-5 is switched off.",
        "The real power demand at every bus is multiplied by 2 (in total from 259 to 518 MW).",
        "The real power demand at bus 9 goes up from 29.5 MW; tried with 30.975 and 32.45.",
    ]
    assert "40 MW" in told[6] and "requirement_mw 60 MW" in told[6] and len(told) == 7
    assert explain(record())[1] == "The real power demand at bus 9 is multiplied by 1.25."


def test_what_cannot_be_read_is_quoted_not_hidden():
    odd = record(parameters=[{"component": "bus"}], structure=dc(objective=[{"name": "magic"}]))
    told = explain(odd)
    assert "{'component': 'bus'}" in told[1] and "magic" in told[2]
