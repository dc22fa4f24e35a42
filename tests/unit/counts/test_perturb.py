import numpy as np
import pytest
import xarray as xr
from true_model import true_model

from headwater.core.errors import InputError
from headwater.counts import simulate as sim
from headwater.counts.perturb import default_schedule, perturb

RATIO = "log2_fold_change"


@pytest.fixture(scope="module")
def one_regime():
    cube = sim.simulate_scenario("easy_one_regime", 1).isel(series=slice(0, 15), step=slice(0, 12))
    return true_model(cube), cube


@pytest.fixture(scope="module")
def two_regimes():
    cube = sim.simulate_scenario("tiny", 1)
    return true_model(cube), cube


def test_one_step_shift_moves_the_log_rate_by_gamma_delta_and_decays_as_a_power(one_regime):
    model, cube = one_regime
    for i, a in enumerate([0.9, -0.6, 0.2]):
        entry = {"kind": "shift", "source": i + 1, "from": 5, "to": 6, "delta": 0.7}
        r = perturb(model, cube, seed=1, schedule=[entry], draws=30)
        lags = np.arange(7)
        expected = np.outer(0.7 * a**lags, cube["true_mixing"].values[:, i]) / np.log(2)
        for name in (RATIO, RATIO + "_q05", RATIO + "_q95"):  # nothing random is left in it
            np.testing.assert_allclose(r[name][0, 5:], expected, atol=1e-6)
        assert np.isnan(r[RATIO][0, :5]).all() and np.isnan(r["baseline"][0, :5]).all()


def test_a_shift_over_several_steps_adds_up(one_regime):
    model, cube = one_regime
    entry = {"source": 1, "from": 3, "to": 6, "delta": 1.0}
    r = perturb(model, cube, seed=1, schedule=[entry], draws=30)[RATIO].values[0]
    size = [1, 1.9, 2.71, 2.71 * 0.9, 2.71 * 0.81]
    expected = np.outer(size, cube["true_mixing"].values[:, 0]) / np.log(2)
    np.testing.assert_allclose(r[3:8], expected, atol=1e-6)


def test_entries_of_one_name_act_together(one_regime):
    model, cube = one_regime
    both = [{"name": "both", "source": i, "from": 4, "delta": 0.5} for i in (1, 2)]
    joint = perturb(model, cube, seed=1, schedule=both, draws=30)
    alone = perturb(model, cube, seed=1, schedule=[e | {"name": None} for e in both], draws=30)
    assert joint["intervention"].values.tolist() == ["both"]
    assert alone.sizes["intervention"] == 2
    np.testing.assert_allclose(joint[RATIO][0, 4:], alone[RATIO][:, 4:].sum("intervention"), 1e-5)


def test_expected_counts_rise_by_the_exact_factor(one_regime):
    model, cube = one_regime
    r = perturb(model, cube, seed=1, schedule=[{"source": 2, "from": 4, "delta": 1.0}], draws=30)
    factor = np.exp(cube["true_mixing"].values[:, 1])
    np.testing.assert_allclose(r["perturbed"][0, 4] / r["baseline"][0, 4], factor)


def test_baseline_is_the_forecast_mean(one_regime):
    from headwater.counts.forecast import forecast

    model, cube = one_regime
    r = perturb(model, cube, seed=1, schedule=[{"source": 1, "from": 6, "delta": 1.0}], draws=2000)
    f = forecast(model, cube, 6, n_draws=2000, seed=2)["mean"].mean("series")
    np.testing.assert_allclose(r["baseline"][0, 6:], f, rtol=0.06)


def test_a_source_held_in_a_regime_reaches_that_regimes_mean():
    p, _, _, _ = sim.scenario("two_regimes")
    cube = sim.simulate(p, 40, 24, 3, log_offset=2.0)
    model = true_model(cube)
    runs = [{"name": f"r{c}", "source": 1, "from": 2, "to": 24, "regime": c} for c in (1, 2)]
    r = perturb(model, cube, seed=1, schedule=runs, draws=200)
    difference = r[RATIO].sel(intervention="r2") - r[RATIO].sel(intervention="r1")
    # stationary means b/(1-a): 1.5 in the first regime, -2 in the second
    expected = -3.5 * p["mixing"][:, 0] / np.log(2)
    # the slow regime (a = 0.8) starts within 4 nat of its mean
    np.testing.assert_allclose(difference[-1], expected, atol=5 * 0.8**21)


def test_regimes_go_on_from_the_forced_one():
    # the second regime cannot be left and only differs in its level: forcing it once is for good
    p = sim.random_parameters(3, 1, 2, 0)
    p["regime_init"] = np.array([[1.0, 0.0]])
    p["regime_transition"] = np.array([[[1.0, 0.0], [0.0, 1.0]]])
    p["ar_coef"], p["ar_bias"] = np.zeros((1, 2)), np.array([[0.0, 1.5]])
    p["ar_var"] = np.array([[0.1, 0.1]])
    cube = sim.simulate(p, 10, 8, 0, log_offset=2.0)
    entry = {"source": 1, "from": 3, "to": 4, "regime": 2}
    r = perturb(true_model(cube), cube, seed=0, schedule=[entry], draws=30)[RATIO].values[0]
    expected = 1.5 * p["mixing"][:, 0] / np.log(2)
    np.testing.assert_allclose(r[3:], np.tile(expected, (5, 1)), atol=1e-6)


def test_nothing_changes_without_a_change(two_regimes):
    model, cube = two_regimes
    r = perturb(model, cube, seed=1, schedule=[{"source": 1, "from": 0, "delta": 0.0}], draws=30)
    assert (r[RATIO] == 0).all()
    xr.testing.assert_equal(r["baseline"], r["perturbed"].rename("baseline"))


def test_default_shifts_each_source_by_its_stationary_sd(one_regime):
    model, cube = one_regime
    schedule = default_schedule(model, 12)
    sd = np.sqrt(np.array([0.3, 0.6, 0.8]) / (1 - np.array([0.9, -0.6, 0.2]) ** 2))
    np.testing.assert_allclose([e["delta"] for e in schedule], sd)
    r = perturb(model, cube, seed=1, draws=20)
    assert r.sizes["intervention"] == 3 and r["start"].values.tolist() == [6, 6, 6]
    expected = (sd * cube["true_mixing"].values).T / np.log(2)
    np.testing.assert_allclose(r[RATIO][:, 6], expected, atol=1e-6)


def test_stationary_moments_of_switching_sources_match_long_runs():
    p, _, _, _ = sim.scenario("two_regimes")
    mean, var = sim.stationary_moments(p)
    s = sim.sample_sources(p, 4000, 80, np.random.default_rng(0))[1][:, -1]
    assert (np.abs(s.mean(0) - mean) < 4 * s.std(0) / np.sqrt(4000)).all()
    z = (s - s.mean(0)) ** 2
    assert (np.abs(z.mean(0) - var) < 4 * z.std(0) / np.sqrt(4000)).all()
    p["ar_coef"][1] = 1.1
    assert np.isnan(sim.stationary_moments(p)[1][1])


def test_same_seed_same_result(two_regimes):
    model, cube = two_regimes
    xr.testing.assert_identical(
        perturb(model, cube, seed=3, draws=20), perturb(model, cube, seed=3, draws=20)
    )


@pytest.mark.parametrize(
    ("entry", "word"),
    [
        ({"source": 3, "from": 1, "delta": 1.0}, "source"),
        ({"source": 0, "from": 1, "delta": 1.0}, "source"),
        ({"source": 1, "from": 14, "delta": 1.0}, "from"),
        ({"source": 1, "from": 5, "to": 5, "delta": 1.0}, "to"),
        ({"source": 1, "from": 5, "to": 15, "delta": 1.0}, "to"),
        ({"source": 1, "from": 5, "regime": 3}, "regime"),
        ({"source": 1, "from": 5, "delta": float("nan")}, "delta"),
        ({"source": 1, "from": 5}, "neither"),
        ({"source": 1, "from": 5, "delta": 1.0, "regime": 1}, "one of the two"),
        ({"source": 1, "from": 5, "delta": 1.0, "kind": "regime"}, "kind"),
        ({"source": 1, "start": 5, "delta": 1.0}, "start"),
        ({"from": 5, "delta": 1.0}, "source"),
    ],
)
def test_bad_schedule_is_named(two_regimes, entry, word):
    model, cube = two_regimes
    with pytest.raises(InputError, match=rf"schedule\[0\].*{word}"):
        perturb(model, cube, seed=0, schedule=[entry], draws=20)


def test_two_regimes_at_once_are_refused(two_regimes):
    model, cube = two_regimes
    both = [{"name": "x", "source": 1, "from": 2, "to": 5, "regime": c} for c in (1, 2)]
    with pytest.raises(InputError, match="at once"):
        perturb(model, cube, seed=0, schedule=both, draws=20)
