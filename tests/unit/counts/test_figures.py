"""Figures and page of counts, on made-up posteriors."""

import re

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from sklearn.metrics import mean_poisson_deviance

from headwater.core import page, provenance, style
from headwater.core.comparison import Measure
from headwater.core.errors import InputError
from headwater.core.metrics import metric_frame, metric_row
from headwater.counts import figures, report, report_notes
from headwater.counts.figures.data import mean_deviance
from headwater.counts.paired import COLUMNS
from headwater.counts.split import make_folds

HOSTILE = '<script>alert(1)</script> $\\frac$ & "q"'
METRIC_COLUMNS = ["dataset", "method", "setting", "seed", "split", "metric"]
METRIC_COLUMNS += ["value", "ci_low", "ci_high", "n", "unit"]
EVENTS = [{"time": 2.0, "label": "dose <b>"}, {"time": 2.1, "label": "end"}]


def make_cube(n=3, T=6, K=4, seed=0, shared_times=True):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(5, (n, T, K)).astype("int32")
    observed = np.ones((n, T), "int8")
    if n * T > 3:
        observed[0, 1] = 0
        counts[0, 1] = -1
    times = np.tile(np.arange(T) * 1.5, (n, 1))
    if not shared_times:
        times = times + np.arange(n)[:, None] * 0.1
    exposure = np.where(observed == 1, 100.0, np.nan)
    times = np.where(observed == 1, times, np.nan)
    dims = ("series", "step")
    cube = xr.Dataset(
        {
            "counts": ((*dims, "feature"), counts),
            "observed": (dims, observed),
            "time": (dims, times, {"units": "days"}),
            "exposure": (dims, exposure),
        },
        coords={
            "series": [f"s{j}" for j in range(n)],
            "step": np.arange(T, dtype="int32"),
            "feature": [HOSTILE, *[f"f{k}" for k in range(1, K)]][:K],
        },
        attrs={"time_units": "days", "exposure_kind": "library", "source": HOSTILE},
    )
    return cube


def make_posterior(cube, d=2, C=2, seed=1):
    rng = np.random.default_rng(seed)
    n, T, K = (cube.sizes[k] for k in ("series", "step", "feature"))
    mixing = rng.standard_normal((K, d))
    prob = rng.dirichlet(np.ones(C), (n, T, d))
    return xr.Dataset(
        {
            "mixing": (("feature", "source"), mixing / np.linalg.norm(mixing, axis=0)),
            "source_mean": (("series", "step", "source"), rng.standard_normal((n, T, d))),
            "regime_prob": (("series", "step", "source", "regime"), prob),
            "expected_count": (("series", "step", "feature"), rng.gamma(5, 1, (n, T, K))),
        },
        coords={k: cube[k] for k in ("series", "step", "feature")},
    )


def trace(epochs=40):
    e = np.arange(epochs)
    names = ("elbo", "emission", "dynamics", "entropy")
    return pd.DataFrame({"epoch": e} | {n: -100 / (e + 1.0) for n in names})


def selection():
    rows = [
        {"d": d, "C": c, "fold": f, "seed": 0, "heldout": -d - c + 0.1 * f, "elbo_train": -1.0 * d}
        for d in (1, 2)
        for c in (1, 2)
        for f in range(3)
    ]
    return pd.DataFrame(rows)


def forecast_of(cube, factor=1.0, bands=True):
    mean = np.full(cube["counts"].shape, 5.0 * factor)
    names = {"mean": mean} | ({"q05": mean * 0, "q95": mean * 100} if bands else {})
    return xr.Dataset(
        {k: (("series", "step", "feature"), v) for k, v in names.items()}, coords=cube.coords
    )


def pit_table(counts):
    edges = np.linspace(0, 1, len(counts) + 1)
    columns = {"method": "plnica", "low": edges[:-1], "high": edges[1:], "count": counts}
    return pd.DataFrame(columns)


def score_rows():
    return pd.DataFrame(
        [
            ("plnica", "deviance", 2.0, 1.5, 2.5, 3, "nat"),
            ("baseline:step_mean", "deviance", 1.0, 0.8, 1.2, 3, "nat"),
            ("baseline:last", "deviance", 90.0, np.nan, np.nan, 3, "nat"),
            ("plnica", "mae_log1p", np.nan, np.nan, np.nan, 3, ""),
            ("baseline:step_mean", "mae_log1p", 0.4, 0.3, 0.5, 3, ""),
        ],
        columns=["method", "metric", "value", "ci_low", "ci_high", "n", "unit"],
    )


def results(**changes):
    cube = make_cube()
    posterior = make_posterior(cube)
    names = ["a", "b", "c"]
    log_ratio = xr.DataArray(
        np.linspace(0, 1, 24).reshape(6, 4),
        dims=("step", "feature"),
        coords=[range(6), cube.feature.values],
    )
    values = {
        "cube": cube,
        "posterior": posterior,
        "trace": trace(),
        "selection": selection(),
        "selected": {"d": 1, "C": 1},
        "stability": pd.DataFrame(np.eye(3) + 0.5 * (1 - np.eye(3)), names, names),
        "medoid": "b",
        "spread": abs(posterior["mixing"]) * 0.1,
        "forecasts": {"plnica": forecast_of(cube), "baseline:last": forecast_of(cube, 2, False)},
        "t0": 3,
        "pit": pit_table([1, 2, 3, 4]),
        "comparisons": {
            "scores": (score_rows(), report.FORECAST, "Forecast scores", {}),
            "recovery": (
                score_rows().replace({"metric": {"deviance": "mixing_cosine"}}),
                report.RECOVERY,
                "Recovery",
                {"mixing_cosine": 0.4},
            ),
        },
        "response": {
            "log_ratio": log_ratio,
            "low": log_ratio - 1,
            "high": log_ratio + 1,
            "what": "What if",
        },
        "events": EVENTS,
    }
    return figures.Results(**(values | changes))


@pytest.fixture(scope="module")
def plots():
    return figures.draw(results())


ALL = ["observed", "bound", "selection", "stability", "mixing", "sources", "regimes", "fitted"]
ALL += ["recovery", "scores", "forecasts", "pit", "perturbation"]


def test_every_figure_is_drawn(plots):
    assert sorted(plots) == sorted(ALL)
    grouped = {n for _, names in report.GROUPS for n in names}
    assert grouped == set(ALL)


@pytest.mark.parametrize("name", ALL)
def test_figure_has_words_with_numbers_and_its_numbers(plots, name):
    plot = plots[name]
    assert len(re.findall(r"[.](?: |$)", plot.caption)) >= 2
    assert re.search(r"\d", plot.caption)
    assert plot.title and plot.alt
    assert len(plot.table)
    svg = style.svg_text(plot.figure)
    assert HOSTILE not in svg
    inline = style.inline_svg(svg, name, plot.alt)
    assert "<script" not in inline
    text = " ".join(re.findall(r"<text[^>]*>([^<]*)", svg))
    units = {"observed": "counts", "sources": "nat", "bound": "nat", "forecasts": "counts"}
    if name in units:
        assert units[name] in text
    if name in ("observed", "sources", "regimes", "fitted", "forecasts"):
        assert "time (days)" in text


def test_same_numbers_give_the_same_bytes(plots):
    cube = make_cube()
    again = {
        "observed": figures.observed_counts(cube),
        "sources": figures.sources(make_posterior(cube), cube, EVENTS),
        "pit": figures.pit_histogram(pit_table([1, 2, 3, 4])),
    }
    for name, plot in again.items():
        assert style.svg_text(plots[name].figure) == style.svg_text(plot.figure)


@pytest.mark.parametrize(("n", "T", "K", "d", "C"), [(1, 3, 1, 1, 1), (30, 3, 50, 8, 3)])
def test_smallest_and_many(n, T, K, d, C):
    cube = make_cube(n, T, K)
    posterior = make_posterior(cube, d, C)
    made = figures.draw(figures.Results(cube, posterior, trace(2)))
    assert ("regimes" in made) == (C > 1)
    assert len(made["mixing"].table) == K * d
    assert len(made["observed"].table) == min(n, 4) * T * min(K, 40)


def test_all_unobserved_and_constant_values_are_drawn():
    cube = make_cube()
    cube["counts"][:] = 0
    zero = figures.observed_counts(cube)
    assert "counts reach 0" in zero.caption
    cube["observed"][:] = 0
    cube["counts"][:] = -1
    assert figures.observed_counts(cube).table["count"].isna().all()


def test_deviance_agrees_with_scikit_learn():
    rng = np.random.default_rng(0)
    counts, mean = rng.poisson(2, (1, 5, 3)).astype(float), rng.gamma(2, 1, (1, 5, 3))
    expected = mean_poisson_deviance(counts.ravel(), mean.ravel())
    assert mean_deviance(counts, mean)[0] == pytest.approx(expected)
    counts[0, 0] = np.nan
    expected = mean_poisson_deviance(counts[0, 1:].ravel(), mean[0, 1:].ravel())
    assert mean_deviance(counts, mean)[0] == pytest.approx(expected)
    assert np.isnan(mean_deviance(np.full((1, 2, 2), np.nan), np.ones((1, 2, 2)))[0])


def test_sources_are_averaged_over_observed_series_only(plots):
    table = plots["sources"].table
    values = make_posterior(make_cube())["source_mean"].values[:, 1, 0]
    row = table[(table["component"] == 1) & (table["step"] == 1)].iloc[0]
    assert row["series"] == 2  # the first series is unobserved at step 1
    assert row["mean"] == pytest.approx(values[1:].mean())
    assert row["sd"] == pytest.approx(values[1:].std(ddof=1))
    assert row["time"] == 1.5


def test_times_that_differ_between_series_become_steps():
    cube = make_cube(shared_times=False)
    plot = figures.sources(make_posterior(cube), cube)
    assert list(plot.table["time"][:3]) == [0.0, 1.0, 2.0]
    assert "step" in plot.alt


def test_selection_shows_means_and_standard_errors():
    plot = figures.selection_curve(selection(), {"d": 1, "C": 1})
    row = plot.table[(plot.table["d"] == 2) & (plot.table["C"] == 1)].iloc[0]
    assert row["heldout"] == pytest.approx(-2.9)
    assert row["heldout_se"] == pytest.approx(0.1 / np.sqrt(3))
    assert row["n"] == 3


def test_switches_between_regimes_are_counted():
    cube = make_cube(1, 5, 2)
    cube["observed"][:] = 1
    posterior = make_posterior(cube, 1, 2)
    up = np.array([0.99, 0.01, 0.99, 0.99, 0.01])
    cube["observed"][0, 4] = 0  # neither a switch nor a step without a clear regime
    posterior["regime_prob"][:] = np.stack([1 - up, up], -1)[None, :, None, :]
    plot = figures.regimes(posterior, cube)
    assert "switches 2 times" in plot.caption
    assert "100% of the steps" in plot.caption
    assert "nothing to show" in figures.regimes(make_posterior(cube, 1, 1)).caption


def test_loadings_are_ordered_by_size_and_keep_their_sign(plots):
    mixing = make_posterior(make_cube())["mixing"].values
    table = plots["mixing"].table
    assert table["loading"].to_numpy() == pytest.approx(mixing.T.ravel())
    assert table["sd"].to_numpy() == pytest.approx(np.abs(mixing.T.ravel()) * 0.1)


@pytest.mark.parametrize(
    ("counts", "share"), [([5] * 10, "plnica 0%"), ([10] + [0] * 9, "plnica 90%")]
)
def test_pit_says_how_much_mass_is_in_the_wrong_place(counts, share):
    plot = figures.pit_histogram(pit_table(counts))
    assert share in plot.caption
    assert plot.table["density"].sum() / len(counts) == pytest.approx(1.0)


def test_forecasts_start_at_t0_and_cover():
    cube = make_cube()
    plot = figures.forecast_panels(cube, {"plnica": forecast_of(cube)}, t0=3)
    predicted = plot.table[plot.table["method"] == "plnica"]
    assert predicted["step"].min() == 3
    assert "Of 18 points shown, 100% fall" in plot.caption
    without = figures.forecast_panels(cube, {"last": forecast_of(cube, bands=False)}, t0=3)
    assert "No method gives a band." in without.caption


def test_a_forecast_of_some_steps_is_laid_on_the_grid_of_the_cube():
    cube = make_cube()
    part = forecast_of(cube).isel(step=slice(4, None))
    plot = figures.forecast_panels(cube, {"plnica": part}, t0=3)
    assert sorted(plot.table.loc[plot.table["method"] == "plnica", "step"].unique()) == [4, 5]


def test_scores_name_the_baseline_that_wins_and_the_null(plots):
    assert "a baseline wins, step mean with 1 nat" in plots["scores"].caption
    assert "Chance alone gives 0.4" in plots["recovery"].caption


def test_measures_without_any_row_are_left_out():
    measures = [Measure("deviance", "deviance"), Measure("absent", "absent")]
    plot = figures.score_bars(score_rows(), measures, "t")
    assert set(plot.table["metric"]) == {"deviance"}


# --- the page ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(plots, tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures")
    page.save_figures(plots, folder)
    return folder


def make_report(folder, kind="simulated"):
    return report.DatasetReport(
        "mice",
        f"Mice {HOSTILE}",
        make_cube(),
        page.load_figures(folder, prefix="mice-"),
        kind,
        {"d": 2, "C": 2},
        pd.DataFrame({"start": ["sobi"], "elbo": [-1.0]}),
        [f"warned of {HOSTILE}"],
    )


def metrics():
    rows = score_rows().assign(dataset="mice", setting="t0=3", seed=np.nan, split="horizon")
    return rows[METRIC_COLUMNS]


def test_page_of_a_run(saved):
    made = provenance.build_provenance(
        domain="counts",
        run="demo",
        inputs=[{"name": HOSTILE, "sha256": "0" * 64, "bytes": 1, "licence": "CC0"}],
        config={"seed": 1},
        seeds={"run": 1},
        threads={},
        command="snakemake counts",
    )
    built = report.build_page([make_report(saved)], metrics(), made)
    html = page.render_page(built)
    assert html.count("<svg") == len(ALL)
    assert html.count("<script") == 1
    assert "Simulated data: Mice" in built.banner
    assert built.head_figure == "mice-sources"
    assert page.head_of(built)["figure"]["name"] == "mice-sources"
    assert "a baseline wins" in built.lead
    assert "The model wins 0 of 1 comparisons" in html  # a NaN is no contest
    assert "snakemake counts" in html
    assert "0" * 64 in html
    assert html == page.render_page(report.build_page([make_report(saved)], metrics(), made))


def test_real_data_have_no_banner_unless_something_stands_in(saved):
    real = make_report(saved, "real")
    assert report.banner([real]) == ""
    assert report.banner([real], ["A stub."]) == "A stub."
    assert "Embedded" in report.banner([make_report(saved, "embedded")])


def test_events_outside_the_data_are_told_apart():
    cube = make_cube()  # times 0 to 7.5
    events = [{"time": t, "label": str(t)} for t in (-1.0, 0.0, 7.5, 1e9)]
    inside, outside = figures.events_within(events, cube)
    assert [e["time"] for e in inside] == [0.0, 7.5]
    assert [e["time"] for e in outside] == [-1.0, 1e9]


def test_tests_draws_and_folds_are_said_in_words():
    rows = [("deviance", "baseline:var", 20, -0.5, 0.001, 0.002, -0.9)]
    rows += [("deviance", "baseline:training_mean", 20, 0.5, 0.001, 0.002, 0.9)]
    rows += [("aitchison", "baseline:var", 20, 0.1, 0.4, 0.4, 0.2)]
    (table,) = report_notes.tests_table(pd.DataFrame(rows, columns=list(COLUMNS)), "mice")
    assert "2 of 3 differences" in table.caption
    assert "1 in its favour and 1 against it" in table.caption
    assert report_notes.tests_table(None, "mice") == []
    distances = [("plnica", 0.25), ("null", 0.125)]
    drawn = metric_frame(
        [metric_row("mice", m, "sliced_wasserstein2", v, split="draws") for m, v in distances]
    )
    assert "lie 0.25 from the data" in report_notes.draws_note(drawn, "mice")
    assert "two halves of the data lie 0.125 apart" in report_notes.draws_note(drawn, "mice")
    assert report_notes.draws_note(drawn, "rats") == ""
    cube = make_cube()
    folds = make_folds(cube, "kfold", 2)
    assert report_notes.folds_note(cube, folds).startswith("2 folds of whole series")
    folds["folds"][0]["train"].append(folds["folds"][0]["test"][0])
    with pytest.raises(InputError, match="in training and test"):
        report_notes.folds_note(cube, folds)


def test_every_number_of_the_head_tables_is_a_row_of_metrics():
    rows = report.head_rows(metrics(), "mice", report.FORECAST)
    assert [label for label, _ in rows] == ["horizon, t0 = 3"]
    merged = rows[0][1].merge(metrics(), on=["method", "metric", "value"])
    assert len(merged) == len(rows[0][1]) == 5


def test_data_card_counts_what_is_observed():
    cards = {c.label: c.value for c in report.data_card(make_cube()).cards}
    assert (cards["series"], cards["steps"], cards["features"]) == (3, 6, 4)
    assert cards["entries observed"] == f"{100 * 17 / 18:.1f}%"
    assert cards["exposure, median"] == 100.0
