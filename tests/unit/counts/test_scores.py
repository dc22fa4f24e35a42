"""Measures of agreement and recovery against sklearn, closed forms and hand counts."""

import math

import numpy as np
import pytest
import xarray as xr
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score

from headwater.core.io import read_dataset
from headwater.counts import agreement
from headwater.counts.scores import recovery


@pytest.fixture
def rng():
    return np.random.default_rng(4)


def test_order_sign_and_scale_do_not_matter(rng):
    true = rng.normal(size=(9, 4))
    found = (true * [2.0, -1, 0.5, -3])[:, [2, 0, 3, 1]]
    order, signs, cosines = agreement.matched(true, found)
    np.testing.assert_array_equal(order, [1, 3, 0, 2])
    np.testing.assert_array_equal(signs, [1, -1, 1, -1])
    np.testing.assert_allclose(cosines, 1)
    assert agreement.gram_error(true, found) == pytest.approx(0, abs=1e-12)


def test_a_source_that_was_not_found_counts_as_zero():
    order, _, cosines = agreement.matched(np.eye(4)[:, :3], np.eye(4)[:, [2, 0]])
    np.testing.assert_array_equal(order, [1, -1, 0])
    np.testing.assert_array_equal(cosines, [1, 0, 1])


def test_more_columns_than_there_are_sources(rng):
    true = np.eye(5)[:, :2]
    order, _, cosines = agreement.matched(true, np.eye(5)[:, [3, 1, 0, 2]])
    np.testing.assert_array_equal(order, [2, 1])
    np.testing.assert_array_equal(cosines, [1, 1])


def test_null_of_one_column_is_the_mean_of_a_uniform_direction():
    K = 12
    true, found = np.eye(K)[:, :1], np.ones((K, 1))
    # E |u_1| of a uniform direction in R^K
    expected = math.gamma(K / 2) / (math.sqrt(math.pi) * math.gamma((K + 1) / 2))
    values = agreement.null_cosines(true, found, seed=0, draws=4000)
    assert values.mean() == pytest.approx(expected, abs=4 * values.std() / math.sqrt(4000))


@pytest.mark.parametrize(
    ("name", "value"),
    [("moderate_coherence", 0.693), ("high_coherence", 0.758), ("low_excitation", 0.380)],
)
def test_null_of_the_papers_scenarios(mirror, name, value):
    cube = read_dataset(mirror / f"counts/simulated/paper_{name}.nc")
    true = cube["true_mixing"].values
    draws = agreement.null_cosines(true, np.ones_like(true), seed=1)
    # published to three digits from as many draws of its own
    assert draws.mean() == pytest.approx(value, abs=4 * draws.std() / math.sqrt(200) + 5e-4)


def test_gram_error_by_hand():
    # two equal columns for two orthogonal ones: the Gram matrix is off by 1 in two places
    assert agreement.gram_error(np.eye(3)[:, :2], np.eye(3)[:, [0, 0]]) == pytest.approx(1.0)
    # one of two columns found: 1 is missing on the diagonal
    assert agreement.gram_error(np.eye(3)[:, :2], np.eye(3)[:, :1]) == pytest.approx(
        math.sqrt(1 / 2)
    )


@pytest.mark.parametrize("sizes", [(2, 2), (3, 2), (2, 4)])
def test_regimes_agree_with_sklearn_and_brute_force(rng, sizes):
    true, found = rng.integers(sizes[0], size=(7, 30)), rng.integers(sizes[1], size=(7, 30))
    found = np.where(rng.random((7, 30)) < 0.6, np.minimum(true, sizes[1] - 1), found)
    observed = rng.random((7, 30)) < 0.8
    table = agreement.contingency(true, found, observed, sizes).sum(0)
    assert table.sum() == observed.sum()
    peer = adjusted_rand_score(true[observed], found[observed])
    assert agreement.adjusted_rand(table) == pytest.approx(peer, abs=1e-12)
    swapped = agreement.contingency(true, sizes[1] - 1 - found, observed, sizes).sum(0)
    assert agreement.accuracy(swapped) == agreement.accuracy(table) <= 1


def test_accuracy_and_relabelling_by_hand():
    table = np.array([[1, 7], [5, 2]])
    assert agreement.accuracy(table) == pytest.approx(12 / 15)
    np.testing.assert_array_equal(agreement.relabelling(table), [1, 0])


def test_one_regime_found_of_two_is_worth_nothing():
    assert agreement.adjusted_rand(np.array([[30], [20]])) == 0
    assert agreement.adjusted_rand(np.array([[30]])) == 1


def test_mcc_agrees_with_corrcoef(rng):
    true, found = rng.normal(size=(6, 20, 3)), rng.normal(size=(6, 20, 3))
    found[..., 1] += 2 * true[..., 2]
    observed = rng.random((6, 20)) < 0.7
    true[~observed] = np.nan
    peer = np.corrcoef(true[observed].T, found[observed].T)[:3, 3:]
    sums = agreement.source_sums(true, found, observed)
    np.testing.assert_allclose(agreement.correlations(sums, 3), np.abs(peer), atol=1e-12)
    place = linear_sum_assignment(-np.abs(peer))
    assert agreement.source_mcc(sums, 3) == pytest.approx(np.abs(peer)[place].mean())


def test_a_common_trend_earns_mcc_but_not_when_taken_out(rng):
    trend = np.linspace(-5, 5, 25)[:, None]
    true = rng.normal(size=(40, 25, 2)) + trend
    found = rng.normal(size=(40, 25, 2)) + trend
    observed = np.ones((40, 25), dtype=bool)
    plain = agreement.source_mcc(agreement.source_sums(true, found, observed), 2)
    both = [agreement.detrended(p, observed) for p in (true, found)]
    assert plain > 0.85
    assert agreement.source_mcc(agreement.source_sums(*both, observed), 2) < 0.15


def test_sliced_wasserstein_of_a_shift(rng):
    one = rng.normal(size=(300, 6))
    delta = np.array([3.0, 0, 4, 0, 0, 0])
    # every projection is shifted by theta'delta: the mean square is |delta|^2 / K
    found = agreement.sliced_wasserstein2(one, one + delta, seed=1, projections=4000)
    assert found == pytest.approx(5 / math.sqrt(6), rel=0.03)
    assert agreement.sliced_wasserstein2(one, one[::-1], seed=1) == pytest.approx(0, abs=1e-12)


def test_sliced_wasserstein_of_unequal_samples_on_a_line():
    # quantiles differ by 1 between 1/3 and 1/2 and from 2/3 on
    one, two = np.array([[0.0], [1.0]]), np.array([[0.0], [1.0], [2.0]])
    expected = math.sqrt(1 / 6 + 1 / 3)
    assert agreement.sliced_wasserstein2(one, two, seed=0, projections=3) == pytest.approx(expected)
    assert agreement.sliced_wasserstein2(one, np.repeat(one, 7, 0), seed=0) == pytest.approx(0)


def test_rows_are_standardised():
    rows = agreement.standardised_rows(np.array([[0, 5, 90], [3, 3, 3]]))
    np.testing.assert_allclose(rows.mean(1), 0, atol=1e-12)
    np.testing.assert_allclose(rows.std(1), [1, 0], atol=1e-12)


def known(rng, n=30, T=20, d=3, K=8):
    sources = rng.normal(size=(n, T, d))
    mixing = rng.normal(size=(K, d))
    regimes = (sources > 0).astype(np.int8)
    dims = ("series", "step", "source")
    return xr.Dataset(
        {
            "observed": (("series", "step"), (rng.random((n, T)) < 0.9).astype(np.int8)),
            "true_mixing": (("feature", "source"), mixing / np.linalg.norm(mixing, axis=0)),
            "true_sources": (dims, sources),
            "true_regimes": (dims, regimes),
            "true_ar_coef": (("source", "regime"), [[0.1, 0.9], [0.2, 0.8], [0.3, 0.7]]),
        }
    )


def shuffled(cube):
    """Return the truth as a fit could find it: other order, sign, scale and labels."""
    order, sign = [2, 0, 1], np.array([-1.0, 1, -1])
    mixing = cube["true_mixing"].values[:, order] * sign
    return xr.Dataset(
        {
            "mixing": (("feature", "source"), mixing),
            "source_mean": (("series", "step", "source"), cube["true_sources"].values[..., order]),
            "regime_map": (
                ("series", "step", "source"),
                1 - cube["true_regimes"].values[..., order],
            ),
            "ar_coef": (("source", "regime"), cube["true_ar_coef"].values[order][:, ::-1]),
        }
    )


def values_of(rows):
    return dict(zip(rows["metric"][rows["method"] != "null"], rows["value"], strict=False))


def test_the_truth_itself_gets_full_marks(rng):
    cube = known(rng)
    rows = recovery(cube, shuffled(cube), dataset="sim", method="plnica", seed=1)
    found = rows[rows["method"] == "plnica"].set_index("metric")["value"]
    for metric in ("mixing_cosine", "source_mcc", "source_mcc_detrended", "regime_ari"):
        assert found[metric] == pytest.approx(1), metric
    assert found["regime_accuracy"] == 1 and found["ar_coef_error"] == pytest.approx(0)
    assert found["gram_error"] == pytest.approx(0, abs=1e-12)
    assert set(rows["setting"]) == {"d=3;C=2"}
    null = rows[rows["method"] == "null"]
    assert null["metric"].tolist() == ["mixing_cosine"]
    assert null["value"].item() == found["mixing_cosine_null"] < 0.9


def test_noise_lies_inside_its_interval_and_below_the_truth(rng):
    cube = known(rng)
    fit = shuffled(cube)
    fit["source_mean"] = fit["source_mean"] + rng.normal(size=fit["source_mean"].shape)
    rows = recovery(cube, fit, dataset="sim", method="baseline:x", seed=1)
    assert not (rows["method"] == "null").any()
    row = rows.set_index("metric").loc["source_mcc"]
    # signal and noise of variance 1: correlation 1 / sqrt(2)
    assert row["ci_low"] < 1 / math.sqrt(2) < row["ci_high"]
    assert row["ci_high"] - row["ci_low"] < 0.1 and row["n"] == 30


def test_regimes_at_random_have_an_ari_of_zero(rng):
    cube = known(rng)
    fit = shuffled(cube)
    fit["regime_map"] = fit["regime_map"].copy(data=rng.integers(2, size=fit["regime_map"].shape))
    rows = recovery(cube, fit, dataset="sim", method="plnica", seed=1).set_index("metric")
    assert abs(rows.loc["regime_ari", "value"]) < 0.02
    assert rows.loc["regime_accuracy", "value"] < 0.58


def test_fewer_sources_than_the_truth_are_penalised(rng):
    cube = known(rng)
    fit = shuffled(cube).isel(source=[0, 1])
    found = recovery(cube, fit, dataset="sim", method="plnica", seed=1).set_index("metric")["value"]
    assert found["source_mcc"] == pytest.approx(2 / 3, abs=1e-12)
    assert found["mixing_cosine_2"] == 0 and found["regime_ari"] == pytest.approx(2 / 3)
    assert "ar_coef_error" not in found
