"""Scores by the published rule and by ours, on answers whose worth is known beforehand."""

import math

import pandas as pd
import pytest
from scipy.stats import binomtest

from headwater.core.errors import InputError
from headwater.opf.benchmark import predicted_answers
from headwater.opf.case import read_case, shipped_case
from headwater.opf.mistakes import mistake, patch_scores
from headwater.opf.scoring import (
    discriminating,
    matches,
    mcnemar,
    null_rows,
    pass_at_k,
    per_record,
    score_rows,
)
from headwater.opf.structure import empty

CASES = {"case9": read_case(shipped_case("case9"))}


def record(name="T", expected=(100.0,), bindings=(), level=1):
    return {
        "id": name,
        "level": level,
        "regime": "abstract" if bindings else "concrete",
        "base_system": "case9",
        "parameters": [{"component": "bus", "bus": 5, "field": "PD", "op": "set", "value": 100.0}],
        "bindings": list(bindings),
        "structure": empty("DCOPF"),
        "solver": {},
        "expected": [{"status": "optimal", "objective": g} for g in expected],
    }


def run(objective, name="T", strategy=0, sample=0, **changes):
    row = {
        "id": name,
        "sample": sample,
        "strategy": strategy,
        "extracted": True,
        "ran": True,
        "converged": True,
        "objective": objective,
        "binding": None,
        "refused_wrong_direction": None,
        "recovered_patch": {
            "changes": [{"component": "bus", "key": [5, 4], "field": "PD", "value": 100.0}]
        },
        "error_class": "",
        "message": "",
        "sandbox_s": 1.0,
    }
    return row | changes


def one(record, *runs):
    return per_record([record], runs, CASES).iloc[0]


@pytest.mark.parametrize(
    ("objective", "right"),
    [(100 * (1 + 0.99e-4), True), (100 * (1 + 1.01e-4), False), (None, False), (math.inf, False)],
)
def test_the_published_tolerance(objective, right):
    assert matches(objective, 100.0) is right
    row = one(record(), run(objective))
    assert (row["compat"], row["strict"]) == (right, right)


def test_what_did_not_converge_is_right_by_the_published_rule_only():
    row = one(record(), run(100.0, converged=False, error_class="not_converged"))
    assert (row["compat"], row["strict"], row["silent"]) == (True, False, False)


def test_all_strategies_and_the_refusal_count_when_strict():
    two = record(expected=(100.0, 110.0))
    row = one(two, run(100.0, refused_wrong_direction=True), run(111.0, strategy=1))
    assert (row["compat"], row["strict"], row["silent"]) == (True, False, True)
    row = one(two, run(100.0, refused_wrong_direction=False), run(110.0, strategy=1))
    assert (row["compat"], row["strict"], row["error"]) == (True, False, "wrong direction accepted")
    row = one(two, run(100.0, refused_wrong_direction=True), run(110.0, strategy=1))
    assert row["strict"]
    assert not one(two, run(100.0, refused_wrong_direction=True))["strict"]  # one is missing


def change(value=100.0, bus=5, field="PD"):
    return {"component": "bus", "key": [bus, bus - 1], "field": field, "value": value}


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        (None, "unknown"),
        ([], "missing_change"),
        ([change()], "structure"),
        ([change(1.0)], "unit"),  # 100 MW in p.u. of 100 MVA
        ([change(1e6)], "unit"),
        ([change(-100.0)], "sign"),
        ([change(90.0)], "value"),
        ([change(bus=6)], "wrong_object"),
        ([change(field="QD")], "wrong_field"),
        ([change(), change(5.0, bus=7)], "extra_change"),
    ],
)
def test_classes_of_mistakes(found, kind):
    assert mistake(found, [change()], 100.0) == kind


def test_patches_as_sets():
    truth = [change(), change(5.0, bus=7)]
    assert patch_scores(truth, truth) == (1, 1, 1)
    assert patch_scores([change()], truth) == (1, 0.5, pytest.approx(2 / 3))
    assert patch_scores([change(100 * (1 + 1e-8))], [change()])[2] == 0
    assert patch_scores([], []) == (1, 1, 1)
    assert patch_scores([change()], []) == (0, 0, 0)


def test_only_requests_whose_every_item_is_felt_discriminate():
    assert discriminating({"drop_one_relative_effect": {"a": 0.01, "b": None}})
    assert not discriminating({"drop_one_relative_effect": {"a": 0.01, "b": 1e-5}})
    assert not discriminating({})


def test_pass_at_k_by_enumeration():
    # 2 of 5 right: of the 10 pairs 3 hold no right one
    assert pass_at_k([True, True, False, False, False], 2) == pytest.approx(1 - 3 / 10)
    assert pass_at_k([False] * 4, 2) == 0
    assert pass_at_k([True, False], 2) == 1


def test_mcnemar_is_the_exact_sign_test():
    one_right = [True] * 8 + [False] * 2 + [True] * 5
    two_right = [False] * 8 + [True] * 2 + [True] * 5
    assert mcnemar(one_right, two_right) == pytest.approx(binomtest(8, 10).pvalue)
    assert mcnemar(one_right, one_right) == 1.0


def test_the_null_model_is_right_where_nothing_changes():
    # MATPOWER 8.1: case9, DC
    same, other = record("A", (5216.026607747,)), record("B", (6000.0,))
    tables = null_rows([same, other], CASES)
    rows = tables["baseline:null_unmodified_network"].set_index("id")
    assert rows["compat"].tolist() == [True, False]
    assert rows["strict"].tolist() == [True, False]
    ac = tables["baseline:null_ac_only"].set_index("id")
    assert ac["compat"].tolist() == [False, False]  # 5296.69 $/h


def test_rows_of_metrics_with_wilson_intervals():
    records = [record(f"R{k}", level=1 + k % 2) for k in range(10)]
    runs = [run(100.0 if k < 4 else 50.0, f"R{k}") for k in range(10)]
    scores = score_rows("set", "model", per_record(records, runs, CASES))
    row = scores[(scores["metric"] == "strict_accuracy") & (scores["split"] == "all")].iloc[0]
    assert (row["value"], row["n"]) == (0.4, 10)
    # Wilson's interval of 4 of 10, statsmodels proportion_confint(4, 10, method="wilson")
    assert row["ci_low"] == pytest.approx(0.168180, abs=1e-6)
    assert row["ci_high"] == pytest.approx(0.687326, abs=1e-6)
    silent = scores[(scores["metric"] == "feasible_but_wrong_rate") & (scores["split"] == "all")]
    assert silent["value"].iloc[0] == 0.6
    assert set(scores["split"]) == {"all", "level1", "level2", "concrete"}


def test_several_samples_give_pass_at_k():
    runs = [run(100.0 if k == 2 else 1.0, sample=k) for k in range(3)]
    scores = score_rows("set", "model", per_record([record()], runs, CASES))
    at = scores[scores["metric"] == "pass_at_k"].set_index("setting")["value"]
    assert at["k=2"] == pytest.approx(2 / 3)
    assert at["k=3"] == 1
    strict = scores[(scores["metric"] == "strict_accuracy") & (scores["split"] == "all")]
    assert strict["value"].iloc[0] == 0  # the first sample


def test_a_file_of_predictions_is_checked():
    records = [record("A"), record("B")]
    good = [{"id": "B", "text": "y"}, {"id": "A", "sample": 0, "text": ""}]
    assert [r["id"] for r in predicted_answers(records, good, "p.jsonl")] == ["A", "B"]
    for rows, words in (
        ([{"id": "A"}], "line 1: found no text"),
        ([{"id": "C", "text": ""}], "line 1: found id 'C'"),
        ([*good, {"id": "A", "text": ""}], "line 3: found id 'A', sample 0, as in line 2"),
        (good[:1], "no answer to 'A'"),
    ):
        with pytest.raises(InputError, match=r"p\.jsonl") as error:
            predicted_answers(records, rows, "p.jsonl")
        assert words in error.value.line()


def test_an_empty_benchmark_has_columns():
    assert isinstance(per_record([], [], CASES), pd.DataFrame)
