"""What a synthesis accepts: solved anew, felt, worded; the same however jobs are cut."""

import json

import numpy as np
import pytest

from headwater.core.io import read_lines, read_table
from headwater.opf.case import read_case, shipped_case
from headwater.opf.engine import solve
from headwater.opf.language import fidelity
from headwater.opf.record import check_record, patched
from headwater.opf.structure import empty, items
from headwater.opf.synth import plan, shard
from headwater.opf.synth.draw import Draft
from headwater.opf.synth.evaluate import Bench

NAMES = ("case9", "case14")
OOD = ("case5",)


@pytest.fixture(scope="module")
def cases():
    return {name: read_case(shipped_case(name)) for name in (*NAMES, *OOD, "case30")}


def settings(instances=8, seed=7, **options):
    return plan.Settings(seed, instances, NAMES, OOD, **options)


@pytest.fixture(scope="module")
def made(cases):
    """Eight instances made at once."""
    return shard.make_shard(settings(), cases)


def _record(parameters=(), bindings=(), structure=None, name="case9"):
    return {
        "id": "t",
        "base_system": name,
        "parameters": list(parameters),
        "bindings": list(bindings),
        "structure": structure or empty(),
        "solver": {"violation": 1e-8},
    }


def scale(bus, value, field="PD"):
    return {"component": "bus", "bus": bus, "field": field, "op": "scale", "value": value}


# ---- acceptance -----------------------------------------------------------------------------


def attempt(bench, parameters=(), bindings=(), structure=None, level=1, strict=True):
    place = plan.Slot(0, level, strict, ("case9",), 1, "none", 1e-8)
    draft = Draft(place, 0, "case9", structure or empty(), list(parameters), list(bindings))
    return bench.evaluate(draft)


@pytest.fixture(scope="module")
def bench(cases):
    return Bench(cases, settings())


def test_an_attempt_that_moves_the_optimum_is_accepted(bench, cases):
    outcome = attempt(bench, [scale(5, 1.1), scale(7, 0.9)])
    assert outcome.reason == ""
    base = solve(cases["case9"]).objective
    alone = solve(patched(cases["case9"], _record([scale(5, 1.1)]))[0]).objective
    both = solve(patched(cases["case9"], _record([scale(5, 1.1), scale(7, 0.9)]))[0]).objective
    assert outcome.null == pytest.approx(base, rel=1e-8)
    assert outcome.unmodified == outcome.null or outcome.unmodified == pytest.approx(base, rel=1e-8)
    assert outcome.objectives == [pytest.approx(both, rel=1e-8)]
    assert outcome.effects["parameters[1]"] == pytest.approx(abs(alone - both) / both, rel=2e-3)


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ([scale("*", 3.0)], "not_optimal:infeasible"),
        ([scale(5, 1.00001)], "objective_unchanged"),
        ([scale(1, 1.1)], "refused:no_effect"),
        ([scale(99, 1.1)], "refused:unknown_bus"),
        ([scale(5, 1.1), scale(5, 1.1)], "refused:repeated_change"),
        (
            [{"component": "gen", "bus": 1, "field": "RAMP_AGC", "op": "set", "value": 3.0}],
            "refused:field_unused_by_formulation",
        ),
    ],
)
def test_an_attempt_is_rejected_for_a_named_reason(bench, parameters, reason):
    assert attempt(bench, parameters).reason == reason


def test_an_idle_item_is_left_out_of_a_strict_instance_and_named_in_a_loose_one(bench):
    idle = {"component": "bus", "bus": 9, "field": "VMIN", "op": "set", "value": 0.91}
    strict = attempt(bench, [scale(5, 1.1), idle])
    assert strict.reason == ""
    assert strict.draft.parameters == [scale(5, 1.1)]
    assert strict.pruned == 1
    assert strict.effects.keys() == {"parameters[0]"}
    loose = attempt(bench, [scale(5, 1.1), idle], strict=False)
    assert loose.reason == ""
    assert loose.draft.parameters == [scale(5, 1.1), idle]
    assert loose.inactive(1e-4) == ["parameters[1]"]
    assert attempt(bench, [idle], strict=False).reason == "objective_unchanged"


def test_an_idle_structure_and_equal_strategies_are_rejected(bench):
    slack = {
        "op": "add",
        "name": "spinning_reserve_requirement",
        "unit_cap_mw": 100.0,
        "requirement_mw": 1.0,
    }
    structure = empty("DCOPF") | {"constraints": [slack]}
    assert attempt(bench, [scale(5, 1.1)], structure=structure).reason == "structure_inactive"
    off = {
        "name": "gen_GEN_STATUS_3",
        "component": "gen",
        "bus": 3,
        "field": "GEN_STATUS",
        "direction": "set_zero",
        "default": 1.0,
        "rows": 1,
        "values": [0.0, 0.0],
    }
    outcome = attempt(bench, bindings=[off], level=2)
    assert outcome.reason in ("strategies_coincide", "not_optimal:infeasible")
    assert attempt(bench, bindings=[off], structure=empty("DCOPF"), level=2).reason == (
        "strategies_coincide"
    )


def test_an_item_whose_omission_is_infeasible_counts_as_active(bench, cases):
    grown = [scale("*", 2.8), scale("*", 2.8, "QD")]
    shed = {"op": "add", "name": "load_shedding", "voll": 5000.0, "power_factor": "constant"}
    outcome = attempt(bench, grown, structure=empty() | {"variables": [shed]}, level=3)
    assert cases["case9"].gen["PMAX"].sum() < 2.8 * cases["case9"].bus["PD"].sum()
    assert outcome.reason == ""
    assert outcome.effects["structure"] is None


# ---- whole instances ------------------------------------------------------------------------


def test_records_are_valid_solved_and_felt(made, cases):
    """Every expected value comes back from a solve from scratch, with the patch applied anew."""
    records, _ = made
    assert [r["synthesis"]["n"] for r in records] == list(range(8))
    for record in records:
        check_record(record)
        case = cases[record["base_system"]]
        null = "DCOPF" if record["structure"]["formulation"] in ("DCOPF", "ED") else "ACOPF"
        base = solve(case, empty(null)).objective
        assert len(record["expected"]) == (2 if record["level"] in (2, 4) else 1)
        for strategy, answer in enumerate(record["expected"]):
            changed, found = patched(case, record, strategy)
            assert {f.code for f in found} <= {"several_generators"}
            fresh = solve(changed, record["structure"])
            assert fresh.objective == pytest.approx(answer["objective"], rel=1e-6)
            assert abs(fresh.objective - base) / abs(base) > 1e-4
        _check_drops(record, case)


def _check_drops(record, case):
    effects = record["drop_one_relative_effect"]
    for kind in ("parameters", "bindings"):
        for k in range(len(record[kind])):
            less = {**record, kind: [x for j, x in enumerate(record[kind]) if j != k]}
            solution = solve(patched(case, less)[0], record["structure"])
            told = effects[f"{kind}[{k}]"]
            if not solution.optimal:
                assert told is None
                continue
            ours = record["expected"][0]["objective"]
            true = abs(solution.objective - ours) / abs(ours)
            assert told == pytest.approx(true, rel=6e-3, abs=2e-8)
            if record["synthesis"]["strict"]:
                assert true > 1e-4
    structured = record["level"] > 2
    assert ("structure" in effects) == structured


def test_texts_say_their_records_and_programs_come_with_them(made):
    for record in made[0]:
        assert fidelity.check(record) == []
        assert record["regime"] == ("abstract" if record["level"] in (2, 4) else "concrete")
        assert bool(record["bindings"]) == (record["level"] in (2, 4))
        extended = items(record["structure"]) or record["structure"]["formulation"] in (
            "ED",
            "SOCP",
        )
        assert bool(extended) == (record["level"] > 2)
        assert "run_opf" in record["reference_python_code"]
        if record["level"] in (2, 4):
            # direction and values agree
            for b in record["bindings"]:
                signs = {np.sign(v - b["default"]) for v in b["values"]}
                wanted = {"increase": {1.0}, "decrease": {-1.0}, "set_zero": {-1.0, 1.0}}
                assert signs <= wanted[b["direction"]]


def test_the_python_program_of_a_record_gives_its_answer(made, cases, tmp_path, monkeypatch):
    from headwater.opf.case import write_case

    monkeypatch.chdir(tmp_path)
    for record in made[0][:4]:
        name = record["base_system"]
        (tmp_path / f"{name}.m").write_text(write_case(cases[name]))
        space = {"__name__": "program"}
        exec(compile(record["reference_python_code"], "program", "exec"), space)
        values = [b["values"][0] for b in record["bindings"]]
        result = space["run_opf"](*values) if values else space["result"]
        assert result["objective"] == pytest.approx(record["expected"][0]["objective"], rel=1e-6)


def test_shards_orders_and_interruptions_change_nothing(made, cases, tmp_path):
    whole = json.dumps(made)
    parts = [shard.make_shard(settings(), cases, k, 3) for k in (2, 0, 1)]
    parts = [parts[1], parts[2], parts[0]]
    joined = [[row for part in parts for row in part[k]] for k in (0, 1)]
    assert json.dumps(joined) == whole

    class Killed(Exception):
        pass

    def kill(done, count):
        if done == 3:
            raise Killed

    with pytest.raises(Killed):
        shard.make_shard(settings(), cases, work=tmp_path, progress=kill)
    kept = tmp_path / "instances.jsonl"
    lines = kept.read_text().splitlines()
    assert len(lines) == 4
    kept.write_text("\n".join(lines) + '\n{"n": 3, "rec')  # cut in the middle of a line
    numbers = []
    again = shard.make_shard(
        settings(), cases, work=tmp_path, progress=lambda done, count: numbers.append(done)
    )
    assert json.dumps(again) == whole
    assert numbers == list(range(4, 9))  # the three that were there are not made again


def test_finished_instances_of_other_settings_code_or_networks_are_not_used(cases, tmp_path):
    options = {"work": tmp_path, "signature": "a"}

    def fresh(wanted, networks=cases, **changed):
        numbers = []
        shard.make_shard(
            wanted, networks, progress=lambda d, c: numbers.append(d), **(options | changed)
        )
        return len(numbers)

    assert fresh(settings(2)) == 2
    assert fresh(settings(2)) == 0
    assert fresh(settings(2), signature="b") == 2
    assert fresh(settings(2, seed=8), signature="b") == 2
    bus = cases["case9"].bus.copy()
    bus.loc[4, "PD"] += 1.0
    other = {**cases, "case9": cases["case9"].with_tables(bus=bus)}
    assert fresh(settings(2, seed=8), other, signature="b") == 2


def test_equal_shards_are_equal_bytes(made, tmp_path):
    for name in ("a", "b"):
        shard.write_shard(tmp_path / f"{name}.jsonl.gz", tmp_path / f"{name}.csv", *made)
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()
    assert read_lines(tmp_path / "a.jsonl.gz") == json.loads(json.dumps(made[0]))
    table = read_table(tmp_path / "a.csv")
    assert list(table.columns) == list(shard.REJECT_COLUMNS)
    assert len(table) == len(made[1])
