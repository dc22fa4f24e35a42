"""Counts drawn from the true law lie as near to the data as halves of the data do."""

import numpy as np
import pytest
import xarray as xr
from true_model import true_model

from headwater.counts.draws import draw_counts, draw_distance
from headwater.counts.simulate import simulate_scenario


@pytest.fixture(scope="module")
def cube():
    return simulate_scenario("two_regimes", 4)


def test_the_true_law_is_as_near_as_halves_and_a_wrong_one_is_not(cube):
    true = draw_distance(true_model(cube), cube, "x", 1).set_index("method")["value"]
    assert true["plnica"] < 1.5 * true["null"]
    mixing = cube["true_mixing"].values[::-1].copy()
    wrong = draw_distance(true_model(cube, mixing=mixing), cube, "x", 1).set_index("method")
    assert wrong.loc["plnica", "value"] > 2 * true["plnica"]


def test_moments_of_drawn_counts_are_those_of_the_simulator(cube):
    model = true_model(cube)
    data = model.tensors(cube)
    drawn = np.concatenate(
        [draw_counts(model, data, np.random.default_rng(s)).mean((0, 1))[None] for s in range(40)]
    )
    real = cube["counts"].values.reshape(-1, cube.sizes["feature"]).mean(0)
    spread = drawn.std(0)
    assert (np.abs(real - drawn.mean(0)) < 4 * spread).all()


def test_holes_stay_holes_and_equal_seeds_give_equal_rows(cube):
    part = cube.isel(series=slice(0, 12), step=slice(0, 9)).copy(deep=True)
    part["observed"][:, 4] = 0
    part["counts"][:, 4] = -1
    rows = [draw_distance(true_model(part), part, "x", s, draws=30) for s in (1, 1, 2)]
    assert rows[0].equals(rows[1]) and not rows[0].equals(rows[2])
    assert np.isfinite(rows[0]["value"]).all()


def test_one_series_has_no_halves(cube):
    one = cube.isel(series=[0])
    assert isinstance(one, xr.Dataset)
    assert draw_distance(true_model(one), one, "x", 1)["method"].tolist() == ["plnica"]
