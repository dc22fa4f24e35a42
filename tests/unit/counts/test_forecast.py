from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr
from scipy.stats import kstest, norm, poisson
from true_model import true_model

from headwater.core.errors import InputError
from headwater.counts import forecast as module
from headwater.counts import simulate as sim
from headwater.counts.forecast import count_moments, forecast, forecast_origins, origin_states
from headwater.counts.particles import Particles, advance, law_of

SETTINGS = {"t0": [4], "exposure": "last", "draws": 100, "filter": "particle"}


def one_source(C, a, b, v, mixing=(0.6, 0.8)):
    a, b, v = (np.array([x], dtype=float) for x in (a, b, v))
    stay = 0.9 if C > 1 else 1.0
    kernel = np.array([[[stay, 1 - stay], [1 - stay, stay]]])[:, :C, :C]
    return {
        "mixing": np.array(mixing)[:, None],
        "regime_init": np.full((1, C), 1 / C),
        "regime_transition": kernel,
        "init_mean": b / (1 - a),
        "init_var": v / (1 - a**2),
        "ar_coef": a,
        "ar_bias": b,
        "ar_var": v,
    }


def grid_filter(p, counts, offset):
    """Exact filtering of one source by quadrature: regime probabilities and mean of s."""
    s = np.linspace(-6, 6, 1501)
    log_like = [
        poisson.logpmf(x, np.exp(np.outer(s, p["mixing"][:, 0]) + offset)).sum(1) for x in counts
    ]
    m0, v0 = p["init_mean"][0], p["init_var"][0]
    joint = p["regime_init"][0] * norm.pdf(s[:, None], m0, np.sqrt(v0))
    for t, like in enumerate(log_like):
        if t:
            moved = joint @ p["regime_transition"][0]  # s_{t-1} x u_t
            joint = np.stack(
                [
                    norm.pdf(s[:, None], a * s + b, np.sqrt(v)) @ moved[:, c]
                    for c, (a, b, v) in enumerate(
                        zip(p["ar_coef"][0], p["ar_bias"][0], p["ar_var"][0], strict=True)
                    )
                ],
                1,
            )
        joint = joint * np.exp(like - like.max())[:, None]
        joint /= joint.sum()
    return joint.sum(0), (joint.sum(1) * s).sum()


def states(cube, t0, draws, seed=0):
    model = true_model(cube)
    data = model.tensors(cube)
    law = law_of(model.parameters, data, False)
    return law, next(iter(origin_states(model, data, law, [t0], draws, "particle", [seed])))


@pytest.mark.parametrize("log_offset", [-1.0, 4.0])
def test_particle_filter_agrees_with_quadrature(log_offset):
    p = one_source(2, [0.7, 0.3], [0.3, -0.8], [0.1, 0.3])
    cube = sim.simulate(p, 4, 6, 5, log_offset=log_offset)
    _, state = states(cube, 6, 20000)
    for j in range(4):
        chance, mean = grid_filter(p, cube["counts"].values[j], log_offset)
        own = (state.regime[j, :, 0] == 1).mean()
        assert abs(own - chance[1]) < 0.03
        assert abs(state.source[j, :, 0].mean() - mean) < 0.03


def independent(name, n, T, seed):
    p, _, _, offset = sim.scenario(name)
    return sim.simulate(p, n, T, seed, log_offset=offset)


@pytest.mark.parametrize(
    ("name", "t0"),
    [("tiny", 6), ("two_regimes", 4), ("paper_low_excitation", 5), ("paper_high_coherence", 4)],
)
def test_with_the_true_parameters_pit_is_uniform_and_90_percent_cover_90(name, t0):
    n = 300
    cube = independent(name, n, t0 + 4, 21)
    f = forecast(true_model(cube), cube, t0, n_draws=299, seed=3)
    pit = f["pit"].values  # series are independent, steps and features are not
    for h in (0, 3):
        smallest = min(kstest(pit[:, h, k], "uniform").pvalue for k in range(pit.shape[2]))
        assert smallest > 1e-3 / pit.shape[2]
        inside = ((pit[:, h] > 0.05) & (pit[:, h] < 0.95)).mean(1)  # of each series
        assert abs(inside.mean() - 0.9) < 4 * inside.std() / np.sqrt(n)
    x = cube["counts"].values[:, t0:]
    inside = ((f["q05"] <= x) & (x <= f["q95"])).values.mean((1, 2))
    assert inside.mean() > 0.9 - 4 * inside.std() / np.sqrt(n)  # counts are whole: never less


def test_a_wrong_variance_is_seen_by_pit_and_coverage():
    cube = independent("paper_high_coherence", 300, 8, 21)
    model = true_model(cube, ar_var=cube["true_ar_var"].values * 0.1)
    pit = forecast(model, cube, 4, n_draws=299, seed=3)["pit"].values[:, 3]
    loud = pit[:, int(cube["counts"].mean(("series", "step")).argmax())]  # little Poisson noise
    assert kstest(loud, "uniform").pvalue < 1e-4
    assert ((loud > 0.05) & (loud < 0.95)).mean() < 0.85


@pytest.mark.parametrize("kind", ["particle", "encoder"])
@pytest.mark.parametrize("exposure", ["true", "last", "mean"])
def test_nothing_from_the_origin_on_is_looked_at(kind, exposure):
    cube = sim.simulate_scenario("tiny", 1)
    model = true_model(cube)
    settings = SETTINGS | {"exposure": exposure, "filter": kind}
    before = forecast_origins(model, cube, settings, 5)
    other = cube.copy(deep=True)
    other["counts"].values[:, 4:] = 1000 - other["counts"].values[:, 4:]
    if exposure != "true":
        other["exposure"].values[:, 4:] *= 3
        other["observed"].values[:, 6:] = 0
    after = forecast_origins(model, other, settings, 5)
    names = ["mean", "var", "q05", "q50", "q95"]
    xr.testing.assert_identical(before[names], after[names])
    assert not np.array_equal(before["pit"], after["pit"], equal_nan=True)


@pytest.mark.parametrize("kind", ["particle", "encoder"])
def test_the_past_and_the_true_exposure_matter(kind):
    cube = sim.simulate_scenario("tiny", 1)
    model = true_model(cube)
    settings = SETTINGS | {"exposure": "true", "filter": kind}
    base = forecast_origins(model, cube, settings, 5)["mean"][0, :, 4:]
    other = cube.copy(deep=True)
    other["exposure"].values[:, 4:] *= 3
    more = forecast_origins(model, other, settings, 5)["mean"][0, :, 4:]
    np.testing.assert_allclose(more, 3 * base, rtol=1e-9)
    if kind == "particle":
        other["counts"].values[:, 3] *= 5
        changed = forecast_origins(model, other, settings, 5)["mean"][0, :, 4]
        assert np.abs(np.log(changed / more[:, 0])).max() > 0.1


def test_exposure_last_and_mean():
    cube = sim.simulate_scenario("tiny", 1)
    cube["exposure"].values[:, :4] *= np.array([1.0, 2.0, 3.0, 6.0])
    cube["counts"].values[0, 3], cube["observed"].values[0, 3] = -1, 0
    cube["exposure"].values[0, 3] = np.nan
    model = true_model(cube)
    last, mean = (
        forecast_origins(model, cube, SETTINGS | {"exposure": e}, 5)["mean"][0, :, 4:].values
        for e in ("last", "mean")
    )
    np.testing.assert_allclose(last[0] / mean[0], 3 / 2, rtol=1e-9)
    np.testing.assert_allclose(last[1:] / mean[1:], 2, rtol=1e-9)


def test_one_step_moments_are_those_of_a_poisson_log_normal():
    p = one_source(1, [0.5], [0.4], [0.3])
    cube = sim.simulate(p, 3, 4, 0, log_offset=1.0)
    law, _ = states(cube, 2, 50)
    s = np.array([-1.0, 0.2, 1.5])
    state = Particles(s[:, None, None], np.zeros((3, 1, 1), dtype=int), np.zeros((3, 1)))
    mean, var = count_moments(law, state, 2, np.full((3, 2), 1.0))
    m = np.outer(0.5 * s + 0.4, [0.6, 0.8]) + 1.0
    w = 0.3 * np.array([0.36, 0.64])
    np.testing.assert_allclose(mean, np.exp(m + w / 2))
    np.testing.assert_allclose(var, mean + mean**2 * np.expm1(w))


def test_long_horizons_reach_the_stationary_law_with_marginal_variance():
    p = one_source(1, [0.5], [0.4], [0.3])
    cube = sim.simulate(p, 200, 40, 0, log_offset=1.0)
    f = forecast(true_model(cube), cube, 2, n_draws=400, seed=1)
    w = 0.3 / 0.75 * np.array([0.36, 0.64])
    m = 0.8 * np.array([0.6, 0.8]) + 1.0
    mean = np.exp(m + w / 2)
    np.testing.assert_allclose(f["mean"][:, -1].mean("series"), mean, rtol=0.01)
    np.testing.assert_allclose(
        f["var"][:, -1].mean("series"), mean + mean**2 * np.expm1(w), rtol=0.03
    )


def test_moments_agree_with_draws_of_two_regimes():
    cube = sim.simulate_scenario("two_regimes", 4)
    law, state = states(cube.isel(series=slice(0, 5)), 6, 20000)
    base = np.full((5, 12), 2.0)
    mean, _ = count_moments(law, state, 6, base)
    rng = np.random.default_rng(0)
    moved = advance(law, state, 6, 5, 20000, rng)
    draws = np.exp(moved.source @ law.mixing.T + 2.0)
    assert (np.abs(draws.mean(1) - mean) < 5 * draws.std(1) / np.sqrt(20000)).all()


def test_explosive_coefficients_are_clipped_and_announced():
    cube = sim.simulate_scenario("tiny", 1)
    a = cube["true_ar_coef"].values.copy()
    assert forecast(true_model(cube), cube, 4, n_draws=50).attrs["clipped_ar_coefficients"] == 0
    wild, cut = a.copy(), a.copy()
    wild[0, 1], wild[1, 0] = 1.3, -1.0
    cut[0, 1], cut[1, 0] = 0.999, -0.999
    one = forecast(true_model(cube, ar_coef=wild), cube, 4, n_draws=50)
    two = forecast(true_model(cube, ar_coef=cut), cube, 4, n_draws=50)
    assert one.attrs["clipped_ar_coefficients"] == 2
    xr.testing.assert_equal(one, two)


def test_missing_steps():
    p, _, _, offset = sim.scenario("tiny")
    cube = sim.simulate(p, 30, 10, 2, log_offset=offset, missing=0.3)
    cube["observed"].values[0, :4] = 0  # nothing known of the first series before the origin
    cube["exposure"].values[0, :4] = np.nan
    f = forecast(true_model(cube), cube, 4, n_draws=50)
    seen = cube["observed"].values[:, 4:] == 1
    np.testing.assert_array_equal(np.isfinite(f["pit"].values), np.repeat(seen[..., None], 6, 2))
    assert (f["var"].values[seen] > 0).all()
    late = forecast(true_model(cube), cube, 4, "last", n_draws=50)
    assert np.isnan(late["mean"][0]).all() and np.isfinite(late["mean"][1:]).all()


def test_origins_shape_order_and_repeatability():
    cube = sim.simulate_scenario("tiny", 1)
    model = true_model(cube)
    both = forecast_origins(model, cube, SETTINGS | {"t0": [8, 4]}, 5)
    assert dict(both.sizes) == {"t0": 2, "series": 12, "step": 14, "feature": 6}
    assert both["t0"].values.tolist() == [4, 8]
    assert np.isnan(both["mean"].sel(t0=8)[:, :8]).all()
    assert np.isfinite(both["mean"].sel(t0=8)[:, 8:]).all()
    state = torch.random.get_rng_state()
    xr.testing.assert_identical(both, forecast_origins(model, cube, SETTINGS | {"t0": [4, 8]}, 5))
    assert torch.equal(state, torch.random.get_rng_state())
    # an origin's forecast does not depend on which others are asked for
    alone = forecast_origins(model, cube, SETTINGS | {"t0": [8]}, 5)
    xr.testing.assert_equal(alone.isel(t0=0), both.isel(t0=1))


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"t0": [0]}, "t0"),
        ({"t0": [14]}, "t0"),
        ({"exposure": "future"}, "exposure"),
        ({"filter": "kalman"}, "filter"),
        ({"draws": 3}, "draws"),
    ],
)
def test_bad_settings_are_named(change, word):
    cube = sim.simulate_scenario("tiny", 1)
    with pytest.raises(InputError, match=f"counts.forecast.{word}"):
        forecast_origins(true_model(cube), cube, SETTINGS | change, 0)


def test_encoder_state_needs_a_predictive_model():
    cube = sim.simulate_scenario("tiny", 1)
    with pytest.raises(InputError, match="predictive"):
        forecast_origins(true_model(cube, "smooth"), cube, SETTINGS | {"filter": "encoder"}, 0)


def gap_case(seed=0):
    p = one_source(1, [0.6], [0.4], [0.3])
    p = p | {"ar_coef": np.array([[0.6]]), "ar_bias": np.array([[0.4]])}
    cube = sim.simulate(p, 40, 12, seed, log_offset=2.0)
    model = true_model(cube)
    return cube, model, replace(model, config=replace(model.config, time_model="gap"))


def test_gap_with_unit_intervals_is_step():
    cube, step, gap = gap_case()
    one, two = (forecast(m, cube, 5, n_draws=100, seed=1) for m in (step, gap))
    for name in one:
        np.testing.assert_allclose(one[name], two[name], rtol=1e-9)


def test_gap_of_three_forgets_as_three_steps_do():
    cube, _, gap = gap_case()
    cube["time"].values[:, 6:] += 2  # step 6 comes three units after step 5
    far = forecast(gap, cube, 6, n_draws=4000, seed=1)["mean"][:, 0]
    cube["time"].values[:, 6:] -= 2
    near = forecast(gap, cube, 6, n_draws=4000, seed=1)["mean"][:, 2]
    np.testing.assert_allclose(far, near, rtol=0.05)


def test_blocks_of_series_change_nothing_but_the_draws(monkeypatch):
    cube = sim.simulate_scenario("tiny", 1)
    model = true_model(cube)
    whole = forecast(model, cube, 6, n_draws=4000)["mean"]
    monkeypatch.setattr(module, "BLOCK", 5)
    parts = forecast(model, cube, 6, n_draws=4000)["mean"]
    np.testing.assert_allclose(parts, whole, rtol=0.1)
    assert (parts != whole).any()


def test_no_origins_given_takes_the_default_ones():
    origins = pytest.importorskip("headwater.counts.origins")
    cube = sim.simulate_scenario("tiny", 1)
    f = forecast_origins(true_model(cube), cube, SETTINGS | {"t0": []}, 0)
    assert f["t0"].values.tolist() == list(origins.default_origins(14))


def test_a_known_total_is_multinomial():
    """Shares of fixed rates: mean n p, variance n p (1 - p), binomial draws."""
    from headwater.counts.forecast import _shares

    p = np.array([0.5, 0.3, 0.2])
    eta = np.log(p) + 3.0 + np.zeros((2, 40000, 1))
    drawn, mean, var = _shares(eta, np.array([1000.0, np.nan]), np.random.default_rng(1))
    np.testing.assert_allclose(mean[0], 1000 * p)
    np.testing.assert_allclose(var[0], 1000 * p * (1 - p))
    np.testing.assert_allclose(drawn[0].mean(0), 1000 * p, rtol=0.01)
    np.testing.assert_allclose(drawn[0].var(0), var[0], rtol=0.05)
    assert np.isnan(mean[1]).all()


def test_totals_are_told_by_the_steps_before_the_origin():
    import torch

    from headwater.counts.data import CubeTensors
    from headwater.counts.forecast import _closed

    x = torch.tensor([[[3.0, 4.0], [1.0, 2.0], [9.0, 9.0]]]).double()
    one = torch.ones(1, 3).double()
    total = x.sum(-1)

    def data(exposure):
        return CubeTensors(x, one, exposure.log(), torch.zeros(1, 0), one, one)

    assert _closed("library", data(total), 3, "auto") == 0.0
    assert _closed("logsum", data(total + 1), 3, "auto") == 1.0
    assert _closed("library", data(total * 2), 3, "auto") is None
    later = total.clone()
    later[0, 2] = 99.0
    assert _closed("library", data(later), 2, "auto") == 0.0
    assert _closed("valid_days", data(total), 3, "auto") is None
    assert _closed("library", data(total), 3, "none") is None
    with pytest.raises(InputError, match="closure"):
        _closed("valid_days", data(total), 3, "total")
