"""The table of scores, its intervals and tests, against statsmodels, scipy and by hand."""

import io

import numpy as np
import pandas as pd
import pytest

from headwater.core.errors import InputError
from headwater.core.metrics import (
    METRIC_COLUMNS,
    bootstrap_interval,
    check_metrics,
    collect,
    mean_interval,
    metric_frame,
    metric_row,
    paired_test,
    parse_setting,
    setting_text,
    t_interval,
    wilson_interval,
)


@pytest.fixture
def rows():
    return [
        metric_row(
            "mice",
            "plnica",
            "deviance",
            1.5,
            setting={"d": 3, "C": 2},
            seed=4,
            split="horizon",
            interval=(1.0, 2.0),
            n=5,
            unit="nat",
        ),
        metric_row("mice", "baseline:var", "deviance", float("nan")),
    ]


def test_a_table_survives_text(rows):
    table = metric_frame(rows)
    assert tuple(table.columns) == METRIC_COLUMNS
    text = table.to_csv(sep="\t", index=False)
    assert (
        text.splitlines()[1] == "mice\tplnica\td=3;C=2\t4\thorizon\tdeviance\t1.5\t1.0\t2.0\t5\tnat"
    )
    again = check_metrics(pd.read_csv(io.StringIO(text), sep="\t"))
    pd.testing.assert_frame_equal(again, table)


def test_collect_keeps_every_row_and_takes_empty_tables(rows):
    empty = pd.read_csv(io.StringIO("\t".join(METRIC_COLUMNS) + "\n"), sep="\t")
    table = collect([metric_frame(rows[:1]), empty, metric_frame(rows[1:])])
    assert list(table["method"]) == ["plnica", "baseline:var"]
    assert tuple(collect([]).columns) == METRIC_COLUMNS


def test_collect_refuses_the_same_number_twice(rows):
    with pytest.raises(InputError, match=r"row 2 .*one row for each"):
        collect([metric_frame(rows[:1]), metric_frame(rows[:1])])


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("dataset", "", "column dataset"),
        ("value", float("inf"), "finite"),
        ("value", "high", "'high'"),
        ("ci_low", 3.0, "ci_low <= ci_high"),
        ("ci_high", float("nan"), "ci_low <= ci_high"),
        ("n", 2.5, "whole number"),
        ("seed", -1, "whole number"),
        ("setting", "d", "key=value"),
    ],
)
def test_faulty_rows_are_named(rows, column, value, words):
    table = pd.DataFrame(rows[:1]).astype(object)
    table.loc[0, column] = value
    with pytest.raises(InputError, match=words) as caught:
        check_metrics(table, "scores.tsv")
    assert "scores.tsv" in str(caught.value) and "\n" not in str(caught.value)


def test_columns_must_be_those_of_the_contract(rows):
    with pytest.raises(InputError, match="'extra'"):
        check_metrics(metric_frame(rows).assign(extra=1))
    with pytest.raises(InputError, match="'unit'"):
        check_metrics(metric_frame(rows).drop(columns="unit"))


def test_settings_go_there_and_back():
    assert parse_setting(setting_text({"d": 3, "exposure": "true"})) == {
        "d": "3",
        "exposure": "true",
    }
    with pytest.raises(ValueError, match="holds"):
        setting_text({"a": "x;y"})


@pytest.mark.parametrize(("successes", "n"), [(0, 10), (3, 17), (90, 100), (5, 5)])
def test_wilson_agrees_with_statsmodels(successes, n):
    from statsmodels.stats.proportion import proportion_confint

    peer = proportion_confint(successes, n, alpha=0.1, method="wilson")
    assert wilson_interval(successes, n, 0.9) == pytest.approx(peer, abs=1e-12)


def test_student_agrees_with_statsmodels():
    from statsmodels.stats.weightstats import DescrStatsW

    values = np.random.default_rng(0).gamma(2, size=7)
    assert t_interval(values) == pytest.approx(DescrStatsW(values).tconfint_mean(), rel=1e-12)


def test_bca_of_a_mean_agrees_with_scipy_and_theory():
    values = np.random.default_rng(1).normal(3, 2, size=400)
    low, high = bootstrap_interval(values, seed=2)
    half = 1.959964 * values.std(ddof=1) / 20
    assert (low, high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.03)


def test_any_statistic_of_rows_can_be_bootstrapped():
    rng = np.random.default_rng(3)
    pairs = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=200)
    low, high = bootstrap_interval(pairs, lambda p: np.corrcoef(p.T)[0, 1], n_resamples=500)
    # Fisher's transformation: half width 1.96 / sqrt(n - 3) in atanh(r)
    r = np.corrcoef(pairs.T)[0, 1]
    assert np.arctanh([low, high]) == pytest.approx(
        np.arctanh(r) + np.array([-1, 1]) * 1.96 / np.sqrt(197), abs=0.04
    )


@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_bootstrap_covers_as_often_as_it_says(method):
    rng = np.random.default_rng(5)
    hits = 0
    for trial in range(200):
        low, high = bootstrap_interval(
            rng.exponential(size=40), level=0.9, method=method, n_resamples=300, seed=trial
        )
        hits += low <= 1 <= high
    assert 0.82 <= hits / 200 <= 0.96  # 0.9 less what 40 skewed values cost; sd of the share 0.02


def test_bootstrap_is_the_same_every_time():
    values = np.arange(12.0) ** 2
    assert bootstrap_interval(values, seed=7) == bootstrap_interval(values, seed=7)
    assert bootstrap_interval(values, seed=7) != bootstrap_interval(values, seed=8)


def test_intervals_of_too_few_or_equal_units():
    assert np.isnan(mean_interval([1.0])).all()
    assert np.isnan(wilson_interval(0, 0)).all()
    assert bootstrap_interval([2.0] * 12) == (2.0, 2.0)
    assert mean_interval([1.0, 2.0, 4.0]) == t_interval([1.0, 2.0, 4.0])


def test_wilcoxon_by_hand():
    # five pairs, all a > b: exact two-sided p = 2 / 2^5
    result = paired_test([2, 3, 4, 5, 7.0], [1, 1, 1, 1, 1.0])
    assert result.p_value == pytest.approx(0.0625)
    assert (result.n, result.effect, result.median_difference) == (5, 1.0, 3.0)
    # ranks of |d| = 1, 2, 3, 4; the smallest is below: (9 - 1) / 10
    assert paired_test([0, 2, 3, 4.0], [1, 0, 0, 0.0]).effect == pytest.approx(0.8)


def test_wilcoxon_without_any_difference():
    assert paired_test([1.0, 2.0], [1.0, 2.0])[2:] == (0.0, 1.0, 0.0)
    with pytest.raises(ValueError, match="shapes"):
        paired_test([1.0], [1.0, 2.0])
