"""Agreement of repeated fits: by construction."""

import numpy as np
import pytest
import xarray as xr

from headwater.counts.stability import compare, loading_spread, most_central, similarity


def fit_of(mixing):
    mixing = mixing / np.linalg.norm(mixing, axis=0)
    K, d = mixing.shape
    return xr.Dataset(
        {
            "mixing": (("feature", "source"), mixing),
            "regime_init": (("source", "regime"), np.full((d, 2), 0.5)),
        },
        {"feature": [f"f{k}" for k in range(K)]},
    )


@pytest.fixture
def mixing():
    return np.random.default_rng(0).normal(size=(10, 3))


def test_fits_that_differ_in_order_and_sign_agree_fully(mixing):
    fits = [
        fit_of(mixing),
        fit_of(-mixing[:, [2, 0, 1]]),
        fit_of(mixing[:, [1, 0, 2]] * [1, -1, 1]),
    ]
    table, scores, medoid = compare(fits, "sim")
    np.testing.assert_allclose(table["cosine"], 1)
    assert len(table) == 3 * 2 * 3 and medoid == 0
    assert scores.set_index("metric").loc["mixing_stability", "value"] == pytest.approx(1)
    assert set(scores["setting"]) == {"d=3;C=2"}
    np.testing.assert_allclose(loading_spread(fits, medoid), 0, atol=1e-12)


def test_an_outlier_is_not_the_medoid_and_its_component_shows(mixing):
    rng = np.random.default_rng(1)
    bad = mixing.copy()
    # orthogonal to all columns: agrees with none
    bad[:, 1] = np.linalg.qr(np.column_stack([mixing, rng.normal(size=10)]))[0][:, 3]
    near = [mixing + 0.01 * rng.normal(size=mixing.shape) for _ in range(3)]
    fits = [fit_of(bad), *map(fit_of, near)]
    table, scores, medoid = compare(fits, "sim")
    assert medoid != 0
    values = scores.set_index("metric")["value"]
    assert values["mixing_stability_1"] > 0.99 and values["mixing_stability_3"] > 0.99
    assert values["mixing_stability_2"] == pytest.approx(2 / 3, abs=0.01)
    matrix = similarity(table)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    assert matrix.iloc[0, 1] == pytest.approx(2 / 3, abs=0.01)
    spread = loading_spread(fits, medoid)
    assert spread[:, 1].mean() > 10 * spread[:, 0].mean()


def test_medoid_by_hand():
    fits = [fit_of(np.array([[np.cos(a)], [np.sin(a)]])) for a in (0.0, 0.5, 0.7)]
    table, _, medoid = compare(fits, "sim")
    assert medoid == 1
    first = table[(table["one"] == 0) & (table["other"] == 2)]["cosine"].item()
    assert first == pytest.approx(np.cos(0.7))
    assert most_central(similarity(table)) == 1


def test_one_fit_is_its_own_medoid(mixing):
    table, scores, medoid = compare([fit_of(mixing)], "sim")
    assert table.empty and scores.empty and medoid == 0
    assert similarity(table).shape == (1, 1)
    np.testing.assert_array_equal(loading_spread([fit_of(mixing)], 0), 0)
