"""Fits: recovery of known truth, determinism, resumption after a kill, hard cases."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from sklearn.metrics import adjusted_rand_score

from headwater.core.errors import InputError
from headwater.core.io import read_dataset, read_torch, write_dataset, write_torch
from headwater.counts.config import FitConfig
from headwater.counts.data import cube_tensors
from headwater.counts.fit import fit_plnica
from headwater.counts.matching import match
from headwater.counts.model import Model
from headwater.counts.posterior import bound, posterior
from headwater.counts.ready import complete
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


def test_mini_batches_end_near_the_full_batch(tiny):
    whole = fit_plnica(tiny, replace(QUICK, epochs=80), seed=5).info["elbo"]
    part = fit_plnica(tiny, replace(QUICK, epochs=80, batch=5), seed=5)  # the last has 2
    assert bound(part.model, tiny)["elbo"].sum() == pytest.approx(whole, rel=0.01)


def test_a_held_out_series_has_a_bound_with_covariates_too(tiny):
    """One series alone makes every covariate constant: that is no fault outside training."""
    cube = tiny.copy(deep=True)
    dose = np.random.default_rng(0).normal(size=(12, 1))
    cube["covariates"] = (("series", "covariate"), dose)
    cube = cube.assign_coords(covariate=["dose"])
    model = fit_plnica(cube, replace(QUICK, intercept=True), seed=5).model
    alone = bound(model, cube.isel(series=[4]))["elbo"].iloc[0]
    assert alone == pytest.approx(bound(model, cube)["elbo"].iloc[4], abs=1e-9)


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
        ("zero feature", {"d": 3, "C": 2}),
        ("unseen series", {"d": 2, "C": 2}),
        ("constant counts", {"d": 2, "C": 2}),
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
    if change == "zero feature":
        cube["counts"][:, :, 2] = 0
    if change == "unseen series":
        cube["observed"][3] = 0
    if change == "constant counts":
        cube["counts"][:] = 7
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
        ({"d": "3"}, "counts.model.d: found '3'; expected a whole number"),
        ({"epochs": 2.5}, "expected a whole number"),
        ({"epochs": True}, "expected a whole number"),
        ({"intercept": 1}, "expected true or false"),
        ({"lr": float("nan")}, "expected a finite number"),
        ({"shared": []}, "a list of whole numbers"),
        ({"shared": [32, 0]}, "a list of whole numbers"),
        ({"epochs": 100}, "warmup: found 150; expected fewer than the 100 epochs"),
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
    dose = 1e6 + np.arange(12.0)
    cube["covariates"] = (("series", "covariate2"), np.stack([dose, 3 * dose - 5], 1))
    cube = cube.drop_vars("covariate").rename(covariate2="covariate")
    cube = cube.assign_coords(covariate=["dose", "twice"])
    with pytest.raises(InputError, match=r"'twice'.*a combination of the covariates before it"):
        fit_plnica(cube, replace(QUICK, intercept=True), seed=1)


def test_another_offset_or_feature_list_is_refused(tiny):
    model = fit_plnica(tiny, replace(QUICK, epochs=2, warmup=0), seed=1).model
    with pytest.raises(InputError, match="offset"):
        posterior(model, tiny.assign_attrs(exposure_kind="library"))
    with pytest.raises(InputError, match="feature"):
        posterior(model, tiny.isel(feature=slice(5)))


LONG = replace(QUICK, epochs=120, warmup=30, tolerance=0.0, checkpoint_seconds=0.01)
KILLED = """
import sys, pathlib
sys.path.insert(0, sys.argv[1])
from headwater.core.io import read_dataset
from headwater.counts.fit import fit_plnica
from test_fit import LONG
fit_plnica(read_dataset(sys.argv[2]), LONG, 5, work=pathlib.Path(sys.argv[3]))
"""


def test_a_killed_fit_goes_on_to_the_same_result(tiny, tmp_path):
    write_dataset(tmp_path / "cube.nc", tiny)
    cube, work = read_dataset(tmp_path / "cube.nc"), tmp_path / "work"
    here = str(Path(__file__).parent)
    job = subprocess.Popen(
        [sys.executable, "-c", KILLED, here, str(tmp_path / "cube.nc"), str(work)]
    )
    end = time.monotonic() + 120
    while not list(work.glob("state-*.pt")) and job.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    os.kill(job.pid, signal.SIGKILL)
    assert job.wait() == -signal.SIGKILL, "the fit ended before it could be killed"
    (saved,) = work.glob("state-*.pt")
    assert QUICK.init_epochs < read_torch(saved)["trainer"]["epoch"] < LONG.epochs
    resumed, whole = (fit_plnica(cube, LONG, 5, work=w) for w in (work, None))
    xr.testing.assert_identical(resumed.posterior, whole.posterior)
    pd.testing.assert_frame_equal(resumed.trace, whole.trace, check_exact=True)
    assert resumed.info == whole.info
    assert not work.exists()


THREADS = """
import sys
sys.path.insert(0, sys.argv[1])
import torch
torch.set_num_threads(int(sys.argv[2]))
from headwater.core.io import write_dataset
from headwater.counts.fit import fit_plnica
from headwater.counts.simulate import simulate_scenario
from test_fit import QUICK
write_dataset(sys.argv[3], fit_plnica(simulate_scenario("tiny", 3), QUICK, 5).posterior)
"""


@pytest.mark.slow  # threads that wait for a core of a busy machine
def test_another_number_of_threads_gives_the_same_to_a_millionth(tiny, tmp_path):
    target = tmp_path / "two.nc"
    here = str(Path(__file__).parent)
    subprocess.run([sys.executable, "-c", THREADS, here, "2", str(target)], check=True)
    one, two = fit_plnica(tiny, QUICK, 5).posterior, read_dataset(target)
    for name in ("source_mean", "source_var", "mixing", "regime_prob"):
        np.testing.assert_allclose(one[name], two[name], atol=1e-6, err_msg=name)


def test_checkpoints_of_other_data_are_not_taken_up(tiny, tmp_path):
    from headwater.counts.fit import Store

    data = cube_tensors(tiny, True)
    later = replace(data, dt=data.dt * 2)
    other = replace(data, covariates=data.covariates * 2)
    paths = {Store(tmp_path, x, QUICK, 5).path for x in (data, later, other)}
    assert len(paths | {Store(tmp_path, data, QUICK, 6).path}) == 4


def test_files_of_others_in_the_work_folder_stay(tiny, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    fit_plnica(tiny, QUICK, seed=5, work=tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]


def test_a_damaged_checkpoint_is_not_believed(tiny, tmp_path):
    from headwater.counts.fit import Store

    store = Store(tmp_path / "w", cube_tensors(tiny, QUICK.intercept), QUICK, 5)
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


def test_a_bound_that_no_counts_can_have_ends_in_one_error(tiny):
    # with such a rate exponents are clamped, and the clamped bound grows without end
    wild = replace(QUICK, lr=1e6)
    with pytest.raises(InputError, match=r"exponents were clamped.*lower counts\.model\.lr"):
        fit_plnica(tiny, wild, seed=1)


def test_as_many_covariates_as_series_are_warned_about(tiny):
    few = tiny.isel(series=slice(0, 3)).copy()
    few["covariates"] = (("series", "covariate"), np.array([[0.0, 1], [1, 0], [3, 2]]))
    few = few.assign_coords(covariate=["a", "b"])
    warned = fit_plnica(few, replace(QUICK, intercept=True), seed=1).info["warnings"]
    assert "2 covariates for 3 series: they explain any difference" in warned
