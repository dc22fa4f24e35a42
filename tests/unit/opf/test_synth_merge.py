"""Instances put together: parts, duplicates, counts, datasheet, words of a model."""

import pytest

from headwater.opf.case import read_case, shipped_case
from headwater.opf.language import bank
from headwater.opf.record import canonical_hash
from headwater.opf.structure import empty
from headwater.opf.synth import merge, paraphrase, plan, shard, statistics
from headwater.opf.synth.datasheet import datasheet

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


# ---- merge ----------------------------------------------------------------------------------


def plain_record(n, system="case9", scenario="", value=1.1, level=1, change=0.01):
    asked = _record([scale(5, value)], name=system)
    return asked | {
        "id": f"syn-7-{n:06d}",
        "level": level,
        "regime": "concrete",
        "request": "x",
        "expected": [{"status": "optimal", "objective": 100.0, "computed_with": {"ipopt": 100.0}}],
        "synthesis": {
            "n": n,
            "scenario": scenario,
            "relative_change": change,
            "strict": True,
            "inactive": [],
            "attempt": 0,
        },
    }


def test_parts_are_dealt_by_hash_and_what_is_held_out():
    records = [plain_record(n, value=1 + n / 1000) for n in range(1, 801)]
    records.append(plain_record(900, system="case5"))
    records.append(plain_record(901, scenario="weather.wildfire_smoke", value=1.9))
    records.append(plain_record(902, scenario="weather.heat_wave", value=1.95))
    merged = merge.merge(reversed(records), [], settings())
    assert [r["id"] for r in merged.parts["ood_system"]] == ["syn-7-000900"]
    assert [r["id"] for r in merged.parts["ood_scenario"]] == ["syn-7-000901"]
    counts = {k: len(v) for k, v in merged.parts.items()}
    # binomial with p = 0.1, n = 801: four standard deviations are 34
    assert counts["test"] == pytest.approx(80, abs=34)
    assert counts["dev"] == pytest.approx(80, abs=34)
    assert sum(counts.values()) == 803
    assert merged.manifest["n"].is_monotonic_increasing
    # the part depends on what is asked, not on number, order or words
    again = merge.merge([plain_record(5, value=1.5) | {"request": "y"}], [], settings())
    part = again.manifest["part"].iloc[0]
    row = merged.manifest[merged.manifest["n"] == 500].iloc[0]
    assert (row["part"], row["hash"]) == (part, again.manifest["hash"].iloc[0])


def test_duplicates_go_and_a_shard_twice_is_refused():
    records = [plain_record(1), plain_record(2), plain_record(3, value=1.2)]
    merged = merge.merge(records, [], settings())
    assert list(merged.manifest["n"]) == [1, 3]
    assert merged.duplicates == 1
    with pytest.raises(ValueError, match="twice"):
        merge.merge([*records, plain_record(3, value=1.3)], [], settings())


def test_rejects_are_counted_by_reason(made, cases):
    merged = merge.merge(*made, settings())
    assert merged.rejects["count"].sum() == len(made[1])
    assert len({canonical_hash(r) for p in merged.parts.values() for r in p}) == len(
        merged.manifest
    )
    empty_merge = merge.merge([], [], settings())
    assert empty_merge.manifest.empty
    assert list(empty_merge.manifest.columns) == list(merge.MANIFEST)


def test_cross_check_takes_what_matpower_can_say():
    records = [plain_record(n) for n in range(300)]
    for r in records[:200]:
        r["reference_matpower_code"] = "results = 1;"
    first = merge.cross_check_sample(records, 0.02, 100, seed=1)
    assert len(first) == 100
    assert all("reference_matpower_code" in r for r in first)
    assert first == merge.cross_check_sample(records, 0.02, 100, seed=1)
    assert first != merge.cross_check_sample(records, 0.02, 100, seed=2)
    assert len(merge.cross_check_sample(records, 0.5, 1, seed=1)) == 150
    assert len(merge.cross_check_sample(records, 0.0, 1000, seed=1)) == 200


def test_agreement_with_matpower():
    manifest = merge.merge([plain_record(1), plain_record(2, value=1.2)], [], settings()).manifest
    runs = [
        {"id": "syn-7-000001", "strategy": 0, "objective": 100.009, "converged": True},
        {"id": "syn-7-000002", "strategy": 0, "objective": 100.011, "converged": True},
        {"id": "syn-7-000002", "strategy": 0, "objective": 100.0, "converged": False},
    ]
    table = merge.agreement(manifest, runs)
    assert list(table["agrees"]) == [True, False, False]
    assert table["relative_difference"].iloc[0] == pytest.approx(9e-5)
    assert table["matpower"].isna().tolist() == [False, False, True]


# ---- counts, datasheet, paraphrase ----------------------------------------------------------


def test_counts_for_figures_by_hand():
    records = [
        plain_record(1, change=2e-4),
        plain_record(2, value=1.2, change=-0.5),
        plain_record(3, value=1.3, change=50.0, level=3),
    ]
    records[2]["structure"] = empty() | {
        "objective": [{"op": "add", "name": "congestion_cost", "price": 3.0}]
    }
    rejected = [
        {
            "n": 1,
            "attempt": a,
            "level": 1,
            "base_system": "case9",
            "formulation": "ACOPF",
            "structure": "",
            "reason": reason,
        }
        for a, reason in enumerate(
            ["objective_unchanged", "not_optimal:infeasible", "not_optimal:infeasible"]
        )
    ]
    merged = merge.merge(records, rejected, settings())
    table = statistics.effect_histogram(merged.manifest)
    hit = table[table["count"] > 0]
    assert hit["level"].tolist() == [1, 1, 3]
    assert hit["low"].tolist() == pytest.approx([1e-4, 0.31622777, 10.0])
    assert table["count"].sum() == 3
    reasons = statistics.reject_reasons(merged.rejects)
    assert reasons["reason"].tolist() == ["not_optimal:infeasible", "objective_unchanged"]
    assert reasons["count"].tolist() == [2, 1]
    fields = statistics.field_coverage(merged.manifest)
    assert fields.loc["PD", "case9"] == 3
    assert fields.drop("PD").to_numpy().sum() == 0
    assert {"VM", "RAMP_AGC"}.isdisjoint(fields.index)
    extensions = statistics.extension_coverage(merged.manifest)
    assert extensions.loc["congestion_cost"].tolist() == [0, 0, 1, 0]
    counts = statistics.summary(merged, settings(3))
    assert (counts["kept"], counts["rejected_attempts"]) == (3, 3)
    assert counts["acceptance_rate"] == pytest.approx(0.5)


def test_the_datasheet_tells_the_counts_and_stays_the_same(made):
    merged = merge.merge(*made, settings())
    text = datasheet(merged, settings())
    assert text == datasheet(merge.merge(*made, settings()), settings())
    assert f"{len(merged.manifest)} instances" in text
    for name, count in merged.manifest["base_system"].value_counts().items():
        assert f"| {name} | {count} |" in text
    for scenario in bank.scenarios().values():
        assert (scenario.name in text) == scenario.held_out


def test_an_empty_synthesis_has_a_datasheet_too():
    merged = merge.merge([], [], settings(0))
    assert "0 instances" in datasheet(merged, settings(0))
    assert statistics.effect_histogram(merged.manifest).empty


def test_words_of_a_model_are_kept_only_where_nothing_is_lost(made):
    record = made[0][0]
    asked = []

    def model(answer):
        def ask(text):
            asked.append(text)
            return answer

        return ask

    same, found = paraphrase.reworded(record, model(f'"Please: {record["request"]}"'))
    assert found == []
    assert same["request"] == f"Please: {record['request']}"
    assert same["synthesis"]["request_template"] == record["request"]
    assert record["request"] in asked[0]
    kept, found = paraphrase.reworded(record, model("Raise some loads in the network."))
    assert kept["request"] == record["request"]
    assert {f.code for f in found} == {"lost_in_paraphrase"}
