"""Starts: joint diagonalisation of exact matrices, the shared data, regimes by EM."""

import numpy as np
import pytest
import torch
import xarray as xr
from sklearn.metrics import adjusted_rand_score

from headwater.counts.data import cube_tensors
from headwater.counts.distributions import SwitchingAR
from headwater.counts.hmm import viterbi
from headwater.counts.initialise import (
    detrended,
    first_mixing,
    log_rates,
    regime_guess,
    switching_em,
)
from headwater.counts.matching import match
from headwater.counts.parameters import Parameters
from headwater.counts.ready import complete
from headwater.counts.sobi import joint_diagonaliser, lagged_covariances, sobi


def rotation(d, seed):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]


def shared(mirror, name):
    path = mirror / f"counts/simulated/{name}.nc"
    return complete(xr.open_dataset(path).load(), path)


def start_cosines(cube, kind):
    data = cube_tensors(cube, False)
    mixing = first_mixing(log_rates(data), data.observed.numpy(), 3, kind, 0)
    truth = cube["true_mixing"].transpose("feature", "source").values
    return match(truth, mixing)[2]


def test_matrices_that_share_axes_are_made_diagonal():
    turn = rotation(4, 0)
    diagonals = np.random.default_rng(1).normal(size=(5, 4))
    matrices = np.stack([turn @ np.diag(x) @ turn.T for x in diagonals])
    found = joint_diagonaliser(matrices)
    np.testing.assert_allclose(found.T @ found, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(np.sort(np.abs(turn.T @ found), axis=1)[:, :-1], 0, atol=1e-8)


def test_lagged_covariance_of_a_known_path_leaves_holes_out():
    paths = np.array([[[1.0], [2.0], [99.0], [3.0], [5.0]]])
    observed = np.array([[1, 1, 0, 1, 1]])
    found = lagged_covariances(paths, observed, lags=(1, 3))
    assert found[:, 0, 0].tolist() == [(2 * 1 + 5 * 3) / 2, (3 * 1 + 5 * 2) / 2]


def test_sobi_separates_gaussian_sources_of_different_memory():
    """AR(1) with a = 0.95, 0.5, -0.6: no ICA by non-Gaussianity could do it."""
    rng = np.random.default_rng(2)
    s = np.zeros((60, 200, 3))
    a = np.array([0.95, 0.5, -0.6])
    s[:, 0] = rng.normal(size=(60, 3))
    for t in range(1, 200):
        s[:, t] = a * s[:, t - 1] + np.sqrt(1 - a**2) * rng.normal(size=(60, 3))
    turn = rotation(3, 3)
    cosines = match(turn, sobi(s @ turn.T))[2]
    assert cosines.min() > 0.999


def test_sobi_start_on_one_regime(mirror):
    """|cos| found by an independent implementation: 0.9998, 0.9994, 0.9979."""
    found = np.sort(start_cosines(shared(mirror, "easy_one_regime"), "sobi"))
    np.testing.assert_allclose(found, [0.9979, 0.9994, 0.9998], atol=5e-4)


def test_fastica_start_on_two_regimes(mirror):
    """An independent implementation found 0.999; that holds to three decimals: 0.9989 for the
    worst column whatever contrast, tolerance or seed FastICA gets after the detrending.
    """
    assert start_cosines(shared(mirror, "two_regimes"), "fastica").min().round(3) >= 0.999


def test_common_trend_is_taken_out_over_observed_series_only():
    rate = np.array([[[1.0], [5.0]], [[3.0], [7.0]], [[100.0], [9.0]]])
    observed = np.array([[1, 1], [1, 1], [0, 1]])
    found = detrended(rate, observed)
    assert found[:2, 0, 0].tolist() == [-1.0, 1.0]
    assert found[:, 1, 0].tolist() == [-2.0, 0.0, 2.0]


def test_em_finds_the_regimes_of_known_sources():
    """Two levels, persistent chain: EM with the sources as given finds levels and path."""
    rng = np.random.default_rng(4)
    n, steps = 30, 60
    u = np.zeros((n, steps), dtype=int)
    u[:, 0] = rng.integers(2, size=n)
    for t in range(1, steps):
        u[:, t] = np.where(rng.random(n) < 0.9, u[:, t - 1], 1 - u[:, t - 1])
    s = np.zeros((n, steps))
    bias = np.array([-1.0, 1.5])
    s[:, 0] = bias[u[:, 0]]
    for t in range(1, steps):
        s[:, t] = 0.3 * s[:, t - 1] + bias[u[:, t]] + 0.3 * rng.normal(size=n)
    paths = torch.as_tensor(s[..., None])
    guess = regime_guess(paths, torch.ones(n, steps), 2, 0)
    nothing = {"mixing": torch.ones(1, 1).double(), "effects": torch.zeros(1, 0).double()}
    found = switching_em(paths, Parameters(**nothing, **guess))
    order = found.ar_bias[0].argsort()
    np.testing.assert_allclose(found.ar_coef[0], 0.3, atol=0.03)
    np.testing.assert_allclose(found.ar_bias[0, order], bias, atol=0.05)
    stay = torch.diagonal(found.regime_transition[0])
    np.testing.assert_allclose(stay, 0.9, atol=4 * np.sqrt(0.9 * 0.1 / (n * steps / 2)))
    law = SwitchingAR(found, n, steps)
    zero = torch.zeros_like(paths)
    path = viterbi(law.potentials(paths, zero, zero), found.regime_init, found.regime_transition)
    assert adjusted_rand_score(u.ravel(), path.numpy().ravel()) > 0.97


@pytest.mark.parametrize("C", [2, 3])
def test_first_regimes_are_never_equal(C):
    """Equal regimes are a saddle point; constant sources must not give them."""
    guess = regime_guess(torch.zeros(4, 6, 1).double(), torch.ones(4, 6), C, 0)
    levels = guess["init_mean"][0]
    assert (levels.diff() > 1e-3).all()
    assert (guess["init_var"] > 0).all()
