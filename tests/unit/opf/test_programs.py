"""Programs emitted for requests: they reach the optimum that independent tools reach."""

import json
import re
import shutil

import pytest

from headwater.opf import octave
from headwater.opf.case import read_case, shipped_case
from headwater.opf.code import NotExpressible, matpower_code, python_code
from headwater.opf.engine import Options, solve
from headwater.opf.record import read_records
from headwater.opf.structure import empty

OCTAVE = pytest.mark.skipif(shutil.which("octave") is None, reason="GNU Octave is not installed")
QUICK = {"HW-L1-05", "HW-L3-01", "HW-L3-07", "HW-L4-04"}


def run_matlab(code, values, files=None):
    """Return objective and success of a program of ours."""
    if code.startswith("function"):
        body, files = f"results = run_opf({values});", {**(files or {}), "run_opf.m": code}
    else:
        body = code
    out = octave._run(body + "\nout = struct('f', results.f, 's', double(results.success));", files)
    return out["f"].item(), bool(out["s"].item())


def shared_records(mirror):
    return read_records(mirror / "opf/requests.jsonl")


def check(record, mirror, monkeypatch):
    path = mirror / f"opf/cases/{record['base_system']}.m"
    monkeypatch.chdir(path.parent)
    for strategy, wanted in enumerate(record["expected"]):
        values = [b["values"][strategy] for b in record.get("bindings") or []]
        found, success = run_matlab(
            matpower_code(record), ", ".join(map(repr, values)), {path.name: path.read_text()}
        )
        assert success
        assert found == pytest.approx(wanted["objective"], rel=1e-6)
        space = {}
        exec(python_code(record), space)
        result = space["run_opf"](*values) if values else space["result"]
        assert result["objective"] == pytest.approx(wanted["objective"], rel=1e-6)


@OCTAVE
@pytest.mark.parametrize("name", sorted(QUICK))
def test_programs_of_shared_requests(mirror, name, monkeypatch):
    check(next(r for r in shared_records(mirror) if r["id"] == name), mirror, monkeypatch)


@OCTAVE
@pytest.mark.slow
def test_programs_of_all_shared_requests(mirror, monkeypatch):
    for record in shared_records(mirror):
        check(record, mirror, monkeypatch)


def record(name=None, group="constraints", formulation="DCOPF", **values):
    structure = empty(formulation)
    if name:
        structure[group] = [{"op": "add", "name": name, **values}]
    return {
        "id": "T",
        "base_system": "case30",
        "parameters": [],
        "bindings": [],
        "structure": structure,
        "solver": {"violation": 1e-8},
    }


@OCTAVE
@pytest.mark.parametrize(
    ("name", "group", "values"),
    [
        ("soft_line_limits", "constraints", {"penalty": 3.0}),
        ("robust_line_limits", "constraints", {"buses": [15, 21], "delta_mw": [1.0, 2.0]}),
        ("emission_cost", "objective", {"price": 20.0, "beta": 0.4, "alpha": 0.001}),
        (
            "spinning_reserve_requirement",
            "constraints",
            {"unit_cap_mw": 20.0, "requirement_mw": 60.0, "price": [1.0, 2, 3, 4, 5, 6]},
        ),
    ],
)
def test_matlab_and_engine_agree_where_no_answer_is_published(name, group, values):
    # two independent models of one sentence: MATPOWER's and ours; the rows bind here
    case = read_case(shipped_case("case30"))
    tight = case.with_tables(branch=case.branch.assign(RATE_A=case.branch["RATE_A"] * 0.75))
    one = record(name, group, **values)
    code = matpower_code(one).replace(
        "mpopt =", "mpc.branch(:, RATE_A) = mpc.branch(:, RATE_A) * 0.75;\nmpopt =", 1
    )
    ours = solve(tight, one["structure"], Options())
    found, success = run_matlab(code, "")
    assert success
    assert found == pytest.approx(ours.objective, rel=1e-6)
    plain = solve(tight, empty("DCOPF"), Options())
    assert abs(ours.objective / (plain.objective or 1e9) - 1) > 1e-5


def bound_record():
    one = record()
    one["bindings"] = [
        {
            "name": "bus_PD_7",
            "component": "bus",
            "bus": 7,
            "field": "PD",
            "direction": "increase",
            "values": [25.0, 26.0],
        }
    ]
    return one


@OCTAVE
def test_a_value_that_goes_the_wrong_way_is_refused_by_the_matlab_function():
    code = matpower_code(bound_record())
    assert run_matlab(code, "25")[1]
    with pytest.raises(RuntimeError, match="assert"):
        run_matlab(code, "20")


def test_a_value_that_goes_the_wrong_way_is_refused_by_the_python_function(monkeypatch):
    monkeypatch.chdir(shipped_case("case30").parent)
    space = {}
    exec(python_code(bound_record()), space)
    assert space["run_opf"](25.0)["status"] == "optimal"
    with pytest.raises(Exception, match="direction_violated"):
        space["run_opf"](20.0)


def test_the_request_stands_in_the_python_script_as_it_is():
    one = record("emission_cap", rates_t_per_mwh=0.5, cap_t_per_h=80.0)
    text = re.search(r'json\.loads\(r"""(.*?)"""\)', python_code(one), re.S).group(1)
    assert json.loads(text)["structure"] == one["structure"]


def test_what_has_no_program_is_named():
    with pytest.raises(NotExpressible, match="formulation SOCP"):
        matpower_code(record(formulation="SOCP"))
    with pytest.raises(NotExpressible, match="unit_commitment"):
        matpower_code(record("unit_commitment", "variables"))
    with pytest.raises(NotExpressible, match="more than one branch"):
        matpower_code(record("transmission_switching", "variables", max_open=2))
