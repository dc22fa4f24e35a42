"""Decompositions and forecasters against peers, by hand, and without a look ahead."""

import numpy as np
import pytest
import xarray as xr
from scipy.stats import nbinom
from sklearn.decomposition import PCA as PeerPCA

from headwater.core.errors import InputError
from headwater.core.io import read_dataset
from headwater.counts.agreement import matched
from headwater.counts.baselines import DECOMPOSITIONS, FORECASTERS, forecast_origins
from headwater.counts.baselines import forecaster as shared
from headwater.counts.baselines.common import log_rates
from headwater.counts.baselines.pln_pca import State, gradient, maximise, sample_step
from headwater.counts.baselines.seasonal_mean import find_period
from headwater.counts.paper import published
from headwater.counts.ready import complete
from headwater.counts.simulate import simulate_scenario

DIMS = ("series", "step", "feature")


def cube_of(counts, exposure=1.0, observed=None, kind="library"):
    counts = np.asarray(counts)
    n, T, K = counts.shape
    seen = np.ones((n, T), dtype=bool) if observed is None else observed
    exposure = np.broadcast_to(exposure, (n, T)).astype(float)
    return xr.Dataset(
        {
            "counts": (DIMS, np.where(seen[..., None], counts, -1).astype(np.int32)),
            "observed": (DIMS[:2], seen.astype(np.int8)),
            "exposure": (DIMS[:2], np.where(seen, exposure, np.nan)),
        },
        {
            "series": [f"s{i}" for i in range(n)],
            "step": np.arange(T, dtype=np.int32),
            "feature": [f"f{k}" for k in range(K)],
        },
        {"exposure_kind": kind},
    )


def drawn(seed=0, n=6, T=16, K=5, holes=0.1):
    rng = np.random.default_rng(seed)
    rate = np.exp(0.5 * rng.normal(size=(n, T, K)).cumsum(1))
    exposure = rng.uniform(5, 50, (n, T))
    observed = rng.random((n, T)) > holes
    observed[:, 0] = True
    return cube_of(rng.poisson(rate * exposure[..., None]), exposure, observed)


def as_model(name, seed=0):
    cube = simulate_scenario(name, seed)
    return cube, cube["true_mixing"].transpose("feature", "source").values


# -------------------------------------------------------------------- decompositions


@pytest.mark.parametrize("name", DECOMPOSITIONS)
def test_every_decomposition_keeps_the_frame(name):
    cube = drawn(T=30)
    found = DECOMPOSITIONS[name].decompose(cube, 3, 7)
    mixing = found["mixing"].values
    np.testing.assert_allclose(np.linalg.norm(mixing, axis=0), 1)
    assert (mixing[np.abs(mixing).argmax(0), np.arange(3)] > 0).all()
    sources = found["sources"].transpose("series", "step", "source").values
    seen = cube["observed"].values == 1
    assert np.isfinite(sources[seen]).all() and np.isnan(sources[~seen]).all()
    spread = sources[seen].var(0)
    assert (np.diff(spread) <= 0).all()
    xr.testing.assert_identical(found, DECOMPOSITIONS[name].decompose(cube, 3, 7))
    with pytest.raises(InputError, match="number of components: found d = 6"):
        DECOMPOSITIONS[name].decompose(cube, 6, 7)


@pytest.mark.parametrize("name", ["pca", "fastica", "picard", "sobi"])
def test_linear_decompositions_explain_what_pca_explains(name):
    cube = drawn(T=30)
    z = log_rates(cube)[cube["observed"].values == 1]
    peer = PeerPCA(3).fit(z)
    found = DECOMPOSITIONS[name].decompose(cube, 3, 1)
    rows = found["sources"].values[cube["observed"].values == 1] @ found["mixing"].values.T
    np.testing.assert_allclose(rows, peer.transform(z) @ peer.components_, atol=1e-6)
    if name == "pca":
        _, _, cosines = matched(peer.components_.T, found["mixing"].values)
        np.testing.assert_allclose(cosines, 1)


def test_dynamics_separate_where_distributions_do_not_and_the_other_way():
    cube, true = as_model("easy_one_regime")  # Gaussian sources of distinct dynamics
    sobi = matched(true, DECOMPOSITIONS["sobi"].decompose(cube, 3, 0)["mixing"].values)[2]
    ica = matched(true, DECOMPOSITIONS["picard"].decompose(cube, 3, 0)["mixing"].values)[2]
    assert sobi.min() > 0.99 and ica.mean() < 0.95
    cube, true = as_model("two_regimes")
    for name in ("fastica", "picard"):
        assert (
            matched(true, DECOMPOSITIONS[name].decompose(cube, 3, 0)["mixing"].values)[2].min()
            > 0.99
        )


@pytest.mark.parametrize(
    ("name", "values"),
    [("easy_one_regime", {"sobi": 0.999}), ("two_regimes", {"fastica": 0.999, "sobi": 0.88})],
)
def test_shared_draws_give_the_known_cosines(mirror, name, values):
    path = mirror / f"counts/simulated/{name}.nc"
    cube = complete(read_dataset(path), path)
    for method, value in values.items():
        found = DECOMPOSITIONS[method].decompose(cube, 3, 0)["mixing"].values
        assert matched(cube["true_mixing"].values, found)[2].mean() == pytest.approx(
            value, abs=0.01
        )


@pytest.mark.parametrize("scenario", published()["recovery"]["scenarios"])
@pytest.mark.parametrize("method", ["picard", "fastica", "pca"])
def test_published_cosines_over_ten_draws(scenario, method):
    known = published()["recovery"]["scenarios"][scenario]["methods"][f"baseline:{method}"]
    found = []
    for seed in range(10):
        cube, true = as_model(f"paper_{scenario}", seed)
        mixing = DECOMPOSITIONS[method].decompose(cube, 5, seed)["mixing"].values
        found.append(matched(true, mixing)[2].mean())
    error = np.std(found, ddof=1) * np.sqrt(2 / 10)  # of the difference of two means of ten
    assert np.mean(found) == pytest.approx(known["value"], abs=3 * error + 5e-4)


@pytest.mark.parametrize(
    ("y", "mu", "variance", "bound", "mean", "var"),
    [  # the best Gaussian bound, from 200-node quadrature and optimisation
        (0, 0.0, 1.0, -0.97044942, -0.681240, 0.594799),
        (3, 1.0, 0.5, -1.95406910, 0.999187, 0.199935),
        (20, 2.5, 0.25, -3.68991034, 2.891835, 0.044578),
    ],
)
def test_pln_in_one_dimension(y, mu, variance, bound, mean, var):
    sd = np.sqrt(variance)
    state = State(
        x=np.array([[float(y)]]),
        offset=np.zeros((1, 1)),
        level=np.array([mu]),
        loading=np.array([[sd]]),
        mean=np.zeros((1, 1)),
        var=np.ones((1, 1)),
    )
    for _ in range(100):
        state = sample_step(state)
    assert state.bound() == pytest.approx(bound, abs=1e-6)
    assert mu + sd * state.mean.item() == pytest.approx(mean, abs=1e-4)
    assert variance * state.var.item() == pytest.approx(var, abs=1e-4)


def pln_state(seed, n=400, K=6, d=2):
    rng = np.random.default_rng(seed)
    loading = 0.5 * rng.normal(size=(K, d))
    level = rng.normal(3, 0.5, K)
    x = rng.poisson(np.exp(level + rng.normal(size=(n, d)) @ loading.T)).astype(float)
    start = rng.normal(size=(K, d)) * 0.3
    zero, one = np.zeros((n, d)), np.ones((n, d))
    return State(x, np.zeros((n, 1)), np.log(x.mean(0)), start, zero, one), loading


def test_no_newton_step_of_pln_pca_lowers_the_bound():
    state, _ = pln_state(1)
    for _ in range(8):
        after = sample_step(state)
        assert after.bound() >= state.bound() - 1e-9
        state = after


def test_gradient_of_pln_pca_agrees_with_differences():
    state, _ = pln_state(3, n=20)
    found = gradient(state)
    for k, i in ((0, 0), (2, 1), (5, 2)):
        up, down = (np.column_stack([state.level, state.loading]) for _ in range(2))
        up[k, i] += 1e-5
        down[k, i] -= 1e-5
        ends = [
            State(**{**state.__dict__, "level": v[:, 0], "loading": v[:, 1:]}).bound()
            for v in (up, down)
        ]
        assert found[k, i] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5, abs=1e-4)


def test_pln_pca_ends_at_a_maximum_and_finds_the_span():
    state, loading = pln_state(2, n=1500)
    found, converged = maximise(state)
    assert converged
    rng = np.random.default_rng(0)
    for name in ("level", "loading", "mean"):  # no direction leads up from a maximum
        value = getattr(found, name)
        for _ in range(5):
            moved = value + 1e-2 * rng.normal(size=value.shape)
            fields = {**found.__dict__, name: moved}
            assert State(**fields).bound() < found.bound()
    turned = np.linalg.svd(found.loading, full_matrices=False)[0]
    basis = np.linalg.svd(loading, full_matrices=False)[0]
    assert np.linalg.svd(turned.T @ basis)[1].min() > 0.995


def test_pln_pca_finds_the_loadings_of_one_source():
    # of several, the independence of q over sources biases B B' (not its span)
    state, loading = pln_state(4, n=3000, d=1)
    found, _ = maximise(state)
    # standard errors are about sqrt(1 / (2 n)) of the size for the scale, less for the rest
    np.testing.assert_allclose(found.loading @ found.loading.T, loading @ loading.T, atol=0.05)


# ----------------------------------------------------------------------- forecasters


@pytest.mark.parametrize("name", FORECASTERS)
@pytest.mark.parametrize("exposure", ["last", "mean"])
def test_nothing_from_the_origin_on_is_looked_at(name, exposure):
    fitted = FORECASTERS[name].fit(drawn(seed=1))
    cube = drawn(seed=2)
    other = cube.copy(deep=True)
    other["counts"][:, 9:] = 999
    other["exposure"][:, 9:] = 7.0
    other["observed"][:, 9:] = 1
    one, two = (fitted.forecast(c, 9, exposure) for c in (cube, other))
    for variable in ("mean", "var", "q05", "q50", "q95"):
        np.testing.assert_array_equal(one[variable], two[variable])
        assert np.isnan(one[variable][:, :9]).all() and np.isfinite(one[variable][:, 9:]).all()


@pytest.mark.parametrize("name", FORECASTERS)
def test_a_series_is_forecast_the_same_in_any_company(name):
    fitted = FORECASTERS[name].fit(drawn(seed=1))
    cube = drawn(seed=2)
    alone = fitted.forecast(cube.isel(series=[2]), 6)
    np.testing.assert_allclose(alone["mean"], fitted.forecast(cube, 6)["mean"][2:3], rtol=1e-12)


def test_persistence_and_training_mean_by_hand():
    observed = np.ones((2, 4), dtype=bool)
    observed[0, 1] = False
    cube = cube_of(
        [[[2, 8], [9, 9], [6, 4], [1, 1]], [[4, 6], [10, 10], [2, 2], [3, 1]]],
        [[10, 10, 20, 5], [10, 40, 8, 4]],
        observed,
    )
    last = FORECASTERS["persistence"].fit(cube).forecast(cube, 2)["mean"].values
    np.testing.assert_allclose(last[0, 2:], [[4, 16], [1, 4]])  # proportions of step 0
    np.testing.assert_allclose(last[1, 2:], [[2, 2], [1, 1]])  # of step 1
    mean = FORECASTERS["training_mean"].fit(cube).forecast(cube, 1)["mean"].values
    np.testing.assert_allclose(mean[1, 1], [10, 10])  # only the second series was seen there
    np.testing.assert_allclose(mean[0, 2], [20 * (0.3 + 0.25) / 2, 20 * (0.2 + 0.25) / 2])
    assert np.isnan(mean[0, 1]).all()  # its exposure is not known


def test_without_a_past_persistence_takes_the_training_mean():
    cube = drawn(seed=3)
    fitted = FORECASTERS["persistence"].fit(cube)
    mean = FORECASTERS["training_mean"].fit(cube)
    empty = cube.copy(deep=True)
    empty["observed"][:, :4] = 0
    np.testing.assert_allclose(fitted.forecast(empty, 4)["mean"], mean.forecast(empty, 4)["mean"])


def test_exposure_to_come_by_hand():
    observed = np.array([[1, 1, 0, 1, 1], [0, 0, 0, 1, 1]], dtype=bool)
    cube = cube_of(np.ones((2, 5, 2)), [[2, 4, 9, 8, 1], [9, 9, 9, 3, 5]], observed)
    np.testing.assert_allclose(
        shared.future_exposure(cube, 3, "last")[:, 3:], [[4, 4], [np.nan] * 2]
    )
    np.testing.assert_allclose(
        shared.future_exposure(cube, 3, "mean")[:, 3:], [[3, 3], [np.nan] * 2]
    )
    np.testing.assert_allclose(shared.future_exposure(cube, 3, "true")[:, 3:], [[8, 1], [3, 5]])
    with pytest.raises(InputError, match="one of true, last, mean"):
        shared.future_exposure(cube, 3, "next")


def test_a_period_is_found_and_continued():
    rng = np.random.default_rng(4)
    season = np.exp(np.sin(2 * np.pi * np.arange(84) / 12)[:, None] * [1.0, -0.5, 0.8])
    counts = rng.poisson(40 * season, (5, 84, 3))
    cube = cube_of(counts, 1.0, kind="valid_days")
    fitted = FORECASTERS["seasonal_mean"].fit(cube.isel(series=slice(4)))
    assert fitted.period == 12
    mean = fitted.forecast(cube.isel(series=[4]), 60)["mean"].values[0, 60:]
    # five periods of Poisson(40) are averaged
    assert np.abs(mean / (40 * season[60:]) - 1).mean() < 0.08
    early = fitted.forecast(cube.isel(series=[4]), 3)["mean"].values[0, 3:]
    assert np.abs(early / (40 * season[3:]) - 1).mean() < 0.08


def test_a_given_period_is_used_and_noise_has_none():
    cube = drawn(seed=5)
    cube.attrs["period"] = 4
    assert FORECASTERS["seasonal_mean"].fit(cube).period == 4
    trend = np.arange(30.0)[None, :, None] * np.ones((3, 1, 2))
    assert find_period(trend) == 30


def test_var_agrees_with_statsmodels():
    from statsmodels.tsa.api import VAR

    rng = np.random.default_rng(6)
    kernel = np.array([[0.7, 0.2], [-0.3, 0.5]])
    path = np.zeros((200, 2))
    for t in range(1, 200):
        path[t] = [0.3, -0.1] + kernel @ path[t - 1] + 0.3 * rng.normal(size=2)
    # counts so large that log(x + 0.5) - o is the path
    cube = cube_of(np.round(1e7 * np.exp(path))[None], 1e7, kind="valid_days")
    fitted = FORECASTERS["var"].fit(cube)
    fitted.penalty = 0.0
    peer = VAR(path).fit(1, trend="c")
    from headwater.counts.baselines.var import _solve

    both = _solve(*(m.sum(0) for m in _moments_of(fitted, cube)), 0.0)
    np.testing.assert_allclose(both[:, 1:], peer.coefs[0], atol=1e-4)


def _moments_of(fitted, cube):
    from headwater.counts.baselines.var import _moments

    paths = log_rates(cube) - fitted.mean
    return _moments(paths, np.ones(paths.shape[:2], dtype=bool))[:2]


def test_var_forecasts_the_path_of_known_dynamics():
    rng = np.random.default_rng(7)
    kernel = np.array([[0.9, 0.0, 0.0], [0.2, 0.6, 0.0], [0.0, -0.2, 0.7]])
    paths = np.zeros((30, 40, 3))
    paths[:, 0] = rng.normal(size=(30, 3))
    for t in range(1, 40):
        paths[:, t] = paths[:, t - 1] @ kernel.T + 0.1 * rng.normal(size=(30, 3))
    cube = cube_of(np.round(1e6 * np.exp(paths)), 1e6, kind="valid_days")
    fitted = FORECASTERS["var"].fit(cube)
    np.testing.assert_allclose(fitted.kernel, kernel, atol=0.05)
    found = np.log(fitted.forecast(cube, 20)["mean"].values / 1e6)
    expected = paths[:, 19]
    for t in range(20, 26):
        expected = expected @ kernel.T
        assert np.abs(found[:, t] - expected).mean() < 0.03


def test_compositional_var_gives_parts_of_the_library():
    cube = drawn(seed=8)
    cube["exposure"] = cube["counts"].where(cube["counts"] >= 0).sum("feature") + 1.0
    cube["exposure"] = cube["exposure"].where(cube["observed"] == 1)
    fitted = FORECASTERS["var"].fit(cube)
    forecast = fitted.forecast(cube, 5)["mean"].values[:, 5:]
    total = forecast.sum(-1) / cube["exposure"].values[:, 5:]
    seen = np.isfinite(total)
    np.testing.assert_allclose(total[seen], fitted.share)
    assert 0.9 < fitted.share < 1


def test_law_has_its_moments_and_quantiles():
    law = shared._Law(np.array([4.0, 4.0]), np.array([0.5, 0.0]))
    draws = nbinom.rvs(2, 2 / 6, size=200_000, random_state=1)
    assert draws.var() == pytest.approx(4 + 0.5 * 16, rel=0.02)  # m + phi m^2
    assert law.quantile(0.95)[0] == np.quantile(draws, 0.95)
    assert law.quantile(0.95)[1] == 8  # Poisson(4): P(x <= 7) = 0.949, P(x <= 8) = 0.979
    pit = shared._Law(np.full(draws.shape, 4.0), np.full(draws.shape, 0.5)).pit(
        draws.astype(float), np.random.default_rng(2)
    )
    assert np.histogram(pit, 10, (0, 1))[0] / len(pit) == pytest.approx(0.1, abs=0.003)


def test_intervals_of_the_training_mean_cover_series_like_the_training_ones():
    rng = np.random.default_rng(9)
    path = rng.uniform(20, 60, (25, 6))
    counts = nbinom.rvs(5, 5 / (5 + path), size=(60, 25, 6), random_state=3)
    cube = cube_of(counts)
    fitted = FORECASTERS["training_mean"].fit(cube.isel(series=slice(40)))
    np.testing.assert_allclose(fitted.spread[2:], 0.2, atol=0.05)  # phi = 1 / 5
    test = cube.isel(series=slice(40, None))
    forecast = fitted.forecast(test, 5)
    y = test["counts"].values[:, 5:]
    inside = (forecast["q05"].values[:, 5:] <= y) & (y <= forecast["q95"].values[:, 5:])
    assert 0.87 < inside.mean() < 0.94
    bins = np.histogram(forecast["pit"].values[:, 5:], 10, (0, 1))[0] / y.size
    np.testing.assert_allclose(bins, 0.1, atol=0.03)


def test_origins_are_joined():
    cube = drawn(seed=10)
    fitted = FORECASTERS["persistence"].fit(cube)
    joined = forecast_origins(fitted, cube, {"t0": [8, 3], "exposure": "last", "draws": 400})
    assert joined["t0"].values.tolist() == [3, 8] and joined.attrs["exposure"] == "last"
    np.testing.assert_array_equal(joined["mean"][1], fitted.forecast(cube, 8, "last")["mean"])
    spread = forecast_origins(fitted, cube, {"t0": []})["t0"].values.tolist()
    assert spread == sorted(set(spread)) and spread[0] >= 1 and spread[-1] < 16
    for t0 in (0, 16):
        with pytest.raises(InputError, match="steps from 1 to 15"):
            fitted.forecast(cube, t0)


@pytest.mark.parametrize("name", FORECASTERS)
def test_one_training_series_and_one_feature_are_enough(name):
    cube = drawn(seed=11, n=1, K=1, holes=0)
    forecast = FORECASTERS[name].fit(cube).forecast(cube, 8)
    assert np.isfinite(forecast["mean"][:, 8:]).all() and np.isfinite(forecast["q95"][:, 8:]).all()


@pytest.mark.parametrize("name", FORECASTERS)
def test_all_zero_series_are_forecast_as_zero(name):
    cube = cube_of(np.zeros((3, 10, 2)), 10.0)
    forecast = FORECASTERS[name].fit(cube).forecast(cube, 4)
    assert (forecast["mean"].values[:, 4:] <= 1).all() and (
        forecast["q05"].values[:, 4:] == 0
    ).all()
