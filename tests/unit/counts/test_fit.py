"""Fits: recovery of known truth, determinism, resumption after a kill, hard cases."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from sklearn.metrics import adjusted_rand_score

from headwater.core.errors import InputError
from headwater.core.io import read_torch, write_dataset, write_torch
from headwater.counts.config import FitConfig
from headwater.counts.cube import complete
from headwater.counts.fit import fit_plnica
from headwater.counts.matching import match
from headwater.counts.model import Model
from headwater.counts.posterior import bound, posterior
from headwater.counts.simulate import random_design, simulate_scenario

QUICK = FitConfig(d=2, C=2, intercept=False, epochs=40, warmup=15, init_epochs=5)


@pytest.fixture(scope="module")
def tiny():
    return simulate_scenario("tiny", 3)


def shared(mirror, name):
    path = mirror / f"counts/simulated/{name}.nc"
    return complete(xr.open_dataset(path).load(), path)


def recovery(cube, fit):
    order, _, cosines = match(
        cube["true_mixing"].transpose("feature", "source").values, fit.posterior["mixing"].values
    )
    truth = cube["true_sources"].values
    found = fit.posterior["source_mean"].values[..., order]
    d = truth.shape[-1]
    mcc = [abs(np.corrcoef(truth[..., i].ravel(), found[..., i].ravel())[0, 1]) for i in range(d)]
    regimes = fit.posterior["regime_map"].values[..., order]
    ari = [
        adjusted_rand_score(cube["true_regimes"].values[..., i].ravel(), regimes[..., i].ravel())
        for i in range(d)
    ]
    return cosines, np.array(mcc), np.array(ari)


@pytest.mark.slow
def test_one_regime_is_recovered(mirror):
    cube = shared(mirror, "easy_one_regime")
    fit = fit_plnica(cube, FitConfig(d=3, C=1, intercept=False), seed=1)
    cosines, mcc, _ = recovery(cube, fit)
    assert cosines.mean() >= 0.98
    assert mcc.mean() >= 0.92


@pytest.mark.slow
def test_two_regimes_are_recovered(mirror):
    cube = shared(mirror, "two_regimes")
    fit = fit_plnica(cube, FitConfig(d=3, C=2, intercept=False), seed=1)
    cosines, mcc, ari = recovery(cube, fit)
    assert cosines.mean() >= 0.97
    assert mcc.mean() >= 0.95
    assert ari.min() >= 0.8
    assert fit.info["elbo"] / cube.sizes["series"] >= -1290


def test_training_raises_the_bound_and_is_deterministic(tiny):
    one, two = (fit_plnica(tiny, QUICK, seed=5) for _ in range(2))
    assert one.trace["elbo"].iloc[-1] > one.trace["elbo"].iloc[0]
    xr.testing.assert_identical(one.posterior, two.posterior)
    assert one.info == two.info
    other = fit_plnica(tiny, QUICK, seed=6)
    assert not np.array_equal(one.posterior["source_mean"], other.posterior["source_mean"])


def test_trace_adds_up(tiny):
    trace = fit_plnica(tiny, QUICK, seed=5).trace
    total = trace["emission"] + trace["dynamics"] + trace["entropy"]
    np.testing.assert_allclose(trace["elbo"], total)


def test_model_file_gives_the_same_posterior_and_bound(tiny, tmp_path):
    fit = fit_plnica(tiny, QUICK, seed=5)
    write_torch(tmp_path / "params.pt", fit.model.state())
    model = Model.from_state(read_torch(tmp_path / "params.pt"))
    xr.testing.assert_identical(posterior(model, tiny), fit.posterior)
    parts = bound(model, tiny)
    assert list(parts["series"]) == list(tiny["series"].values)
    assert (parts["n_observed"] == 14 * 6).all()
    np.testing.assert_allclose(
        parts["elbo"], parts["emission"] + parts["dynamics"] + parts["entropy"]
    )


def test_bound_of_one_series_does_not_depend_on_its_company(tiny):
    model = fit_plnica(tiny, QUICK, seed=5).model
    alone = bound(model, tiny.isel(series=[4]))["elbo"].iloc[0]
    assert alone == pytest.approx(bound(model, tiny)["elbo"].iloc[4], abs=1e-9)


def test_predictive_mode_does_not_look_ahead(tiny):
    config = replace(QUICK, mode="predictive")
    model = fit_plnica(tiny, config, seed=5).model
    changed = tiny.copy(deep=True)
    changed["counts"][:, 8:] = 77
    one, two = posterior(model, tiny), posterior(model, changed)
    for name in ("source_mean", "source_var", "regime_prob", "regime_map"):
        np.testing.assert_array_equal(one[name][:, :8], two[name][:, :8], err_msg=name)
    assert not np.array_equal(one["source_mean"][:, 8:], two["source_mean"][:, 8:])


def test_counts_at_unobserved_steps_do_not_matter(tiny):
    holes = tiny.copy(deep=True)
    holes["observed"][2, 5:8] = 0
    changed = holes.copy(deep=True)
    changed["counts"][2, 5:8] = -1
    changed["exposure"][2, 5:8] = np.nan
    one, two = (fit_plnica(c, QUICK, seed=5).posterior for c in (holes, changed))
    xr.testing.assert_identical(one, two)
    assert np.isnan(one["expected_count"][2, 5:8]).all()


def test_irregular_times_with_the_gap_model(tiny):
    cube = tiny.copy(deep=True)
    steps = np.cumsum([0, *([1, 2, 0.5, 1] * 4)])[: cube.sizes["step"]]
    cube["time"][:] = np.tile(steps, (cube.sizes["series"], 1))
    fit = fit_plnica(cube, replace(QUICK, time_model="gap"), seed=5)
    a = fit.posterior["ar_coef"].values
    assert ((a > 0) & (a < 1)).all()
    assert fit.trace["elbo"].iloc[-1] > fit.trace["elbo"].iloc[0]


def test_a_covariate_of_scale_a_million_is_found():
    """x ~ Poisson with a log-rate that moves by beta per unit of c; beta is known."""
    rng = np.random.default_rng(0)
    cube = random_design(80, 8, 5, 1, 1, 2)
    value = rng.normal(3e6, 1e6, size=80)
    effect = np.array([0.5, -0.3, 0.0, 0.2, 0.4]) / 1e6
    log_rate = (
        cube["true_sources"].values @ cube["true_mixing"].values.T
        + 2.0
        + (value[:, None] * effect)[:, None]
    )
    cube["counts"] = (("series", "step", "feature"), rng.poisson(np.exp(log_rate)).astype("int32"))
    cube["covariates"] = (("series", "covariate"), value[:, None])
    cube = cube.assign_coords(covariate=["dose"])
    fit = fit_plnica(cube, FitConfig(d=1, C=1, epochs=300, warmup=30), seed=1)
    found = fit.posterior["effects"].sel(covariate="dose").values
    np.testing.assert_allclose(found, effect, atol=0.08e-6)


@pytest.mark.parametrize(
    ("change", "sizes"),
    [
        ("one series", {"d": 2, "C": 2}),
        ("one feature", {"d": 1, "C": 2}),
        ("one source", {"d": 1, "C": 1}),
        ("zero series", {"d": 2, "C": 2}),
        ("large counts", {"d": 2, "C": 2}),
        ("many regimes", {"d": 2, "C": 6}),
    ],
)
def test_hard_cases_end_in_finite_numbers(tiny, change, sizes):
    cube = tiny.copy(deep=True)
    if change == "one series":
        cube = cube.isel(series=[0])
    if change == "one feature":
        cube = cube.isel(feature=[0])
    if change == "zero series":
        cube["counts"][3] = 0
    if change == "large counts":
        cube["counts"][:] = cube["counts"] * 10_000_000
    fit = fit_plnica(cube, replace(QUICK, **sizes), seed=1)
    for name in ("source_mean", "source_var", "mixing", "ar_var", "regime_prob"):
        assert np.isfinite(fit.posterior[name]).all(), name


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"d": 7}, "at most 6, the number of features"),
        ({"C": 500}, "the number of observed transitions"),
    ],
)
def test_sizes_that_the_data_cannot_carry(tiny, options, text):
    with pytest.raises(InputError, match=text):
        fit_plnica(tiny, replace(QUICK, **options), seed=1)


def test_small_data_and_square_mixing_are_said(tiny):
    fit = fit_plnica(tiny.isel(series=slice(3), step=slice(4)), replace(QUICK, d=6), seed=1)
    text = " ".join(fit.info["warnings"])
    assert "equals the number of features" in text
    assert "are few for" in text


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"dd": 1}, "unknown key"),
        ({"family": "arr"}, "did you mean 'ar'"),
        ({"d": 0}, "at least 1"),
    ],
)
def test_faults_of_the_options_are_named(options, text):
    with pytest.raises(InputError, match=text):
        FitConfig.from_mapping(options)


def test_covariate_faults_are_named(tiny):
    cube = tiny.copy(deep=True)
    cube["covariates"] = (("series", "covariate"), np.full((12, 1), 4.0))
    cube = cube.assign_coords(covariate=["dose"])
    with pytest.raises(InputError, match=r"'dose'.*the same value 4"):
        fit_plnica(cube, replace(QUICK, intercept=True), seed=1)
    cube["covariates"][3] = np.nan
    with pytest.raises(InputError, match=r"'dose', series 's03'.*no finite number"):
        fit_plnica(cube, QUICK, seed=1)


def test_another_offset_or_feature_list_is_refused(tiny):
    model = fit_plnica(tiny, replace(QUICK, epochs=2, warmup=0), seed=1).model
    with pytest.raises(InputError, match="offset"):
        posterior(model, tiny.assign_attrs(exposure_kind="library"))
    with pytest.raises(InputError, match="feature"):
        posterior(model, tiny.isel(feature=slice(5)))


RESUME = """
import sys, pathlib
from headwater.core.io import read_dataset, write_dataset
from headwater.counts.fit import FitConfig, fit_plnica
config = FitConfig(d=2, C=2, intercept=False, epochs=400, warmup=50, init_epochs=5,
                   tolerance=0.0, checkpoint_seconds=0.01)
fit = fit_plnica(read_dataset(sys.argv[1]), config, 5, work=pathlib.Path(sys.argv[2]))
write_dataset(sys.argv[3], fit.posterior)
"""


def test_a_killed_fit_goes_on_to_the_same_result(tiny, tmp_path):
    write_dataset(tmp_path / "cube.nc", tiny)
    command = [sys.executable, "-c", RESUME, str(tmp_path / "cube.nc")]
    subprocess.run([*command, str(tmp_path / "w0"), str(tmp_path / "whole.nc")], check=True)
    assert not (tmp_path / "w0").exists()
    work = tmp_path / "w1"
    job = subprocess.Popen([*command, str(work), str(tmp_path / "resumed.nc")])
    end = time.monotonic() + 60
    while not list(work.glob("state-*.pt")) and time.monotonic() < end:
        time.sleep(0.01)
    os.kill(job.pid, signal.SIGKILL)
    job.wait()
    assert list(work.glob("state-*.pt")), "the fit ended before it could be killed"
    assert not (tmp_path / "resumed.nc").exists()
    subprocess.run([*command, str(work), str(tmp_path / "resumed.nc")], check=True)
    assert (tmp_path / "resumed.nc").read_bytes() == (tmp_path / "whole.nc").read_bytes()


def test_a_damaged_checkpoint_is_not_believed(tiny, tmp_path):
    from headwater.counts.fit import Store

    store = Store(tmp_path / "w", tiny, QUICK, 5)
    store.save({"x": 1})
    store.path.write_bytes(store.path.read_bytes()[:100])
    fit = fit_plnica(tiny, QUICK, seed=5, work=tmp_path / "w")
    xr.testing.assert_identical(fit.posterior, fit_plnica(tiny, QUICK, seed=5).posterior)


def test_a_bound_that_is_not_finite_ends_in_one_error(tiny, monkeypatch):
    from headwater.counts import training

    def broken(self):
        self.epoch += 1
        return training.Step(float("nan"), float("nan"), 0.0, 0.0, 0.0, 0, 0.1, 2)

    monkeypatch.setattr(training.Trainer, "run_epoch", broken)
    with pytest.raises(InputError, match=r"epoch 1, term emission, series 's02'"):
        fit_plnica(tiny, QUICK, seed=1)
