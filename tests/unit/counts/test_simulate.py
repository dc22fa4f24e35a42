import numpy as np
import pytest
import xarray as xr

from headwater.core.errors import InputError
from headwater.counts import simulate as sim

PAPER = {  # max |off-diagonal| of the gram, condition number, mean count, zero share
    "paper_moderate_coherence": (0.647, 3.18, 313, 0.0015),
    "paper_high_coherence": (0.871, 6.13, 415, 0.0038),
    "paper_low_excitation": (0.513, 2.59, 10.5, 0.305),
}


@pytest.mark.parametrize("name", PAPER)
def test_mixing_of_the_paper_has_the_published_coherence(name):
    coherence, condition, _, _ = PAPER[name]
    mixing = sim.scenario(name)[0]["mixing"]
    g = mixing.T @ mixing
    np.testing.assert_allclose(np.diag(g), 1, atol=1e-12)
    assert abs(np.abs(g - np.diag(np.diag(g))).max() - coherence) < 6e-4
    assert abs(np.linalg.cond(mixing) - condition) < 6e-3


@pytest.mark.parametrize("name", PAPER)
def test_counts_have_the_size_and_zeros_of_the_published_draw(name):
    _, _, mean, zeros = PAPER[name]
    draws = [sim.simulate_scenario(name, seed)["counts"].values for seed in range(8)]
    # of whole series: they are independent, their entries are not
    means = np.concatenate([x.mean((1, 2)) for x in draws])
    share = np.concatenate([(x == 0).mean((1, 2)) for x in draws])
    # the published figure is one draw of 150 series
    assert abs(means.mean() - mean) < 4 * means.std() / np.sqrt(150)
    assert abs(share.mean() - zeros) < 4 * share.std() / np.sqrt(150)


@pytest.mark.parametrize("name", ["easy_one_regime", "two_regimes", *PAPER])
def test_scenario_has_the_truth_of_the_shared_file(name, mirror):
    path = mirror / "counts/simulated" / f"{name}.nc"
    with xr.open_dataset(path, mask_and_scale=False) as file:
        ours = sim.simulate_scenario(name, 0)
        assert ours["counts"].shape == file["counts"].shape
        np.testing.assert_allclose(ours["true_mixing"], file["true_mixing"], atol=2e-6)
        for key in ("ar_coef", "ar_bias", "ar_var"):
            theirs = file[key].values.reshape(ours["true_" + key].shape)
            np.testing.assert_allclose(ours["true_" + key], theirs, atol=1e-9)
        # and the law: pooled over series, the first two moments of every source
        a, b = ours["true_sources"].values, file["true_sources"].values
        for i in range(a.shape[2]):
            one, two = a[..., i].mean(1), b[..., i].mean(1)
            error = np.sqrt((one.var() + two.var()) / len(one))
            assert abs(one.mean() - two.mean()) < 4 * error


def stationary(n, T, seed):
    a = np.array([[0.8], [-0.5]])
    v = np.array([[0.09], [0.15]])
    p = {
        "mixing": np.array([[0.6, 0.0], [0.8, 0.6], [0.0, -0.8]]),
        "regime_init": np.ones((2, 1)),
        "regime_transition": np.ones((2, 1, 1)),
        "init_mean": np.zeros((2, 1)),
        "init_var": v / (1 - a**2),
        "ar_coef": a,
        "ar_bias": np.zeros((2, 1)),
        "ar_var": v,
    }
    return p, sim.simulate(p, n, T, seed, log_offset=1.0)


def test_moments_of_counts_match_the_formulas():
    p, cube = stationary(20000, 4, 3)
    x = cube["counts"].values[:, 3].astype(float)
    w = (p["mixing"] * p["init_var"][:, 0]) @ p["mixing"].T
    mean = np.exp(1 + np.diag(w) / 2)
    cov = np.outer(mean, mean) * np.expm1(w) + np.diag(mean)
    z = x - mean
    assert (np.abs(z.mean(0)) < 4 * z.std(0) / np.sqrt(len(z))).all()
    products = z[:, :, None] * z[:, None, :]
    assert (np.abs(products.mean(0) - cov) < 4 * products.std(0) / np.sqrt(len(z))).all()


def test_sources_follow_their_autoregression():
    p, cube = stationary(4000, 6, 4)
    s = cube["true_sources"].values
    for i in range(2):
        slope = (s[:, 1:, i] * s[:, :-1, i]).sum() / (s[:, :-1, i] ** 2).sum()
        error = np.sqrt(p["ar_var"][i, 0] / (s[:, :-1, i] ** 2).sum())
        assert abs(slope - p["ar_coef"][i, 0]) < 4 * error


def test_regimes_move_by_their_transition_matrix():
    p = sim.random_parameters(4, 2, 3, 0)
    A = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.3, 0.3, 0.4]])
    p["regime_transition"] = np.stack([A, A[::-1]])
    u = sim.simulate(p, 500, 30, 1)["true_regimes"].values
    for i in range(2):
        for c in range(3):
            after = u[:, 1:, i][u[:, :-1, i] == c]
            share = np.bincount(after, minlength=3) / len(after)
            truth = p["regime_transition"][i, c]
            assert (np.abs(share - truth) < 4 * np.sqrt(truth * (1 - truth) / len(after))).all()


def test_same_seed_same_cube_and_another_seed_another():
    one, two = sim.simulate_scenario("tiny", 7), sim.simulate_scenario("tiny", 7)
    xr.testing.assert_identical(one, two)
    assert (one["counts"] != sim.simulate_scenario("tiny", 8)["counts"]).any()


def test_missing_steps_hold_no_counts_and_no_exposure():
    p, _ = stationary(2, 3, 0)
    cube = sim.simulate(p, 200, 10, 1, missing=0.3)
    gone = cube["observed"].values == 0
    assert 0.2 < gone.mean() < 0.4
    assert (cube["counts"].values[gone] == -1).all() and (cube["counts"].values[~gone] >= 0).all()
    assert np.isnan(cube["exposure"].values[gone]).all()


def test_covariates_shift_the_log_rate():
    p, _ = stationary(2, 3, 0)
    p["ar_var"], p["init_var"] = p["ar_var"] * 1e-12, p["init_var"] * 1e-12
    p["effects"] = np.array([[2.0, 1.0], [1.0, 0.0], [3.0, -1.0]])
    c = np.repeat([0.0, 1.0], 500)[:, None]
    cube = sim.simulate(p, 1000, 3, 1, covariates=c)
    x = cube["counts"].values
    for value, rate in ((0.0, [2.0, 1.0, 3.0]), (1.0, [3.0, 1.0, 2.0])):
        mine = x[c[:, 0] == value].reshape(-1, 3)
        error = np.sqrt(np.exp(rate) / len(mine))
        assert (np.abs(mine.mean(0) - np.exp(rate)) < 4 * error).all()


def test_random_design_has_the_asked_size():
    cube = sim.random_design(5, 7, 6, 3, 2, 1)
    assert cube["counts"].shape == (5, 7, 6)
    assert cube["true_regimes"].values.max() == 1
    assert 1 < cube["counts"].values.mean() < 200


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: sim.simulate_scenario("two_regime", 1), "two_regimes"),
        (lambda: sim.random_design(2, 3, 2, 3, 1, 0), "d <= K"),
        (lambda: sim.simulate(stationary(1, 3, 0)[0], 2, 3, 0, log_offset=50.0), "log rate"),
        (
            lambda: sim.simulate(stationary(1, 3, 0)[0], 2, 3, 0, covariates=np.ones((2, 2))),
            "effects",
        ),
        (lambda: sim.simulate({"mixing": np.ones((2, 1))}, 2, 3, 0), "regime_init"),
    ],
)
def test_bad_input_is_named(call, word):
    with pytest.raises(InputError, match=word):
        call()
