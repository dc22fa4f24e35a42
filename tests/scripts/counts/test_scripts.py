"""Every rule script's `main`, called without Snakemake, in the order of the data."""

import logging
from types import SimpleNamespace

import pytest
import yaml

from headwater.core.config import load_schema, with_defaults
from headwater.core.io import read_dataset, read_json, read_table, read_yaml

LOG = logging.getLogger("test")
MEASURES = ("deviance", "mae_log1p", "aitchison")
PICTURES = ("svg", "png", "tsv", "json")


class Files(dict):
    """Names and paths, by attribute and by key, as Snakemake gives them."""

    __getattr__ = dict.__getitem__

    def __iter__(self):
        return iter(self.values())


@pytest.fixture(scope="module")
def stage(tmp_path_factory, script):
    """Return a function that runs a script in one folder; names without a path are outputs."""
    folder = tmp_path_factory.mktemp("scripts")

    def path(name):
        if isinstance(name, list):
            return [path(n) for n in name]
        return str(folder / name)

    def call(name, inputs, outputs, **params):
        ours = Files({k: path(v) for k, v in inputs.items()})
        made = Files({k: path(v) for k, v in outputs.items()})
        script(f"counts/{name}").main(ours, made, SimpleNamespace(**params), 1, LOG)
        return made

    call.folder = folder
    return call


@pytest.fixture(scope="module")
def settings():
    from pathlib import Path

    root = Path(__file__).resolve().parents[3]
    schema = load_schema(root / "workflow/schemas/config.schema.yaml")
    counts = yaml.safe_load((root / "config/test/counts.yaml").read_text())
    return with_defaults(counts, schema)["counts"]


@pytest.fixture(scope="module")
def cube(stage, settings):
    stage("prepare_simulation", {}, {"cube": "simulation.nc"}, scenario="tiny", seed=1)
    out = {"cube": "cube.nc", "filter": "filter.tsv", "check": "check.json"}
    stage("prepare_cube", {"source": "simulation.nc"}, out, prepare={}, title="Tiny")
    stage("split_series", {"cube": "cube.nc"}, {"folds": "folds.json"}, folds=3, seed=1)
    return read_dataset(stage.folder / "cube.nc")


@pytest.fixture(scope="module")
def fitted(stage, settings, cube):
    """Run selection with a grid of two points, two fits, and the choice between them."""
    base = {**settings["model"], "mode": "smooth"}
    fits = [{"fold": f"fold{k:02d}", "start": 0, "seed": 3 + k} for k in range(3)]
    grid = {1: [fits], 2: [fits[:2], fits[2:]]}  # in batches of three and of two
    models = []
    for c, batches in grid.items():
        for k, some in enumerate(batches):
            models.append(f"grid/d2_C{c}/batch{k:04d}.pt")
            stage(
                "fit_grid",
                {"cube": "cube.nc", "folds": "folds.json"},
                {"models": models[-1]},
                options={**base, "d": 2, "C": c},
                fits=some,
                work=str(stage.folder / "w" / str(c)),
                code="",
            )
    assert not any(p.is_file() for p in (stage.folder / "w").rglob("*"))
    stage(
        "evaluate_selection",
        {"cube": "cube.nc", "folds": "folds.json", "models": models},
        {"table": "select.tsv", "scores": "held_out.tsv", "selected": "selected.yaml"},
        dataset="tiny",
        grid=[(2, 1), (2, 2)],
    )
    kinds = {"model": "params.pt", "posterior": "posterior.nc", "trace": "trace.csv"}
    kinds["info"] = "fit.json"
    for seed in (0, 1):
        options = {**base, "seed": seed, "fold": None, "work": str(stage.folder / "w")}
        stage(
            "fit_plnica",
            {"cube": "cube.nc", "selected": "selected.yaml"},
            {k: f"model/seed{seed}/{v}" for k, v in kinds.items()},
            options=options,
        )
    plural = {"model": "models", "posterior": "posteriors", "trace": "traces", "info": "infos"}
    stage(
        "evaluate_stability",
        {plural[k]: [f"model/seed{s}/{v}" for s in (0, 1)] for k, v in kinds.items()},
        {"table": "stability.tsv", "scores": "stability_scores.tsv"}
        | {k: f"chosen/{v}" for k, v in kinds.items()},
        dataset="tiny",
    )
    return stage.folder


def test_simulation_becomes_a_cube(cube, stage):
    assert dict(cube.sizes)["feature"] == 6
    assert read_json(stage.folder / "check.json")["warnings"] == []
    assert len(read_json(stage.folder / "folds.json")["folds"]) == 3


def test_selection_and_choice(fitted):
    selected = read_yaml(fitted / "selected.yaml")
    assert selected["d"] == 2
    assert len(read_table(fitted / "select.tsv")) == 6
    chosen = (fitted / "chosen/params.pt").read_bytes()
    assert chosen in [(fitted / f"model/seed{s}/params.pt").read_bytes() for s in (0, 1)]
    assert "pyro-ppl" in str(read_json(fitted / "chosen/fit.json")["versions"])


def test_recovery_and_forecasts_and_collection(fitted, stage, settings):
    methods = settings["baselines"]["decompositions"]
    made = {f"o{k}": f"decompositions/{m}.nc" for k, m in enumerate(methods)}
    stage(
        "fit_decompositions",
        {"cube": "cube.nc", "selected": "selected.yaml"},
        made,
        methods=methods,
        seed=1,
    )
    stage(
        "evaluate_recovery",
        {
            "cube": "cube.nc",
            "posterior": "chosen/posterior.nc",
            "decompositions": list(made.values()),
        },
        {"scores": "recovery.tsv"},
        dataset="tiny",
        methods=methods,
        seed=1,
    )
    forecast = {**settings["forecast"], "t0": [7]}
    names = settings["baselines"]["forecasters"]
    stage(
        "predict_baselines",
        {"cube": "cube.nc", "folds": "folds.json"},
        {n: f"forecasts/{n}/fold00.nc" for n in names},
        methods=names,
        forecast=forecast,
        fold="fold00",
        seed=1,
    )
    options = {**settings["model"], "d": 2, "C": 2, "mode": "predictive", "seed": 3}
    stage(
        "fit_forecaster",
        {"cube": "cube.nc", "folds": "folds.json"},
        {"model": "forecasters/d2_C2/fold00.pt"},
        options={**options, "fold": "fold00", "work": str(stage.folder / "f")},
    )
    stage(
        "predict_forecasts",
        {"cube": "cube.nc", "folds": "folds.json", "model": "forecasters/d2_C2/fold00.pt"},
        {"forecasts": "forecasts/plnica_d2_C2/fold00.nc"},
        forecast=forecast,
        fold="fold00",
        seed=1,
    )
    files = [f"forecasts/{n}/fold00.nc" for n in ("plnica_d2_C2", *names)]
    stage(
        "evaluate_forecasts",
        {"cube": "cube.nc", "folds": "folds.json", "forecasts": files},
        {
            "scores": "forecasts.tsv",
            "detail": "detail.tsv",
            "tests": "tests.tsv",
            "pit": "pit.tsv",
        },
        dataset="tiny",
        model="plnica_d2_C2",
        seed=1,
    )
    stage(
        "evaluate_draws",
        {"cube": "cube.nc", "model": "chosen/params.pt"},
        {"scores": "draws.tsv"},
        dataset="tiny",
        seed=1,
    )
    parts = ["held_out.tsv", "forecasts.tsv", "stability_scores.tsv", "recovery.tsv", "draws.tsv"]
    stage("evaluate_counts", {"scores": parts}, {"metrics": "metrics.tsv"})
    metrics = read_table(stage.folder / "metrics.tsv")
    assert set(read_table(stage.folder / "tests.tsv")["metric"]) == set(MEASURES)
    wanted = {
        "sliced_wasserstein2",
        "deviance",
        "mae_log1p",
        "aitchison",
        "mixing_cosine",
        "source_mcc",
        "regime_ari",
    }
    assert wanted <= set(metrics["metric"])
    assert {"plnica", "baseline:training_mean", "baseline:pca", "null"} <= set(metrics["method"])

    figures = {n: [f"figures/{n}.{k}" for k in PICTURES] for n in ("scores", "forecasts", "pit")}
    stage(
        "plot_forecasts",
        {"cube": "cube.nc", "scores": "forecasts.tsv", "pit": "pit.tsv", "forecasts": files},
        figures,
        dataset="tiny",
    )
    stage(
        "plot_recovery",
        {"scores": "recovery.tsv"},
        {"recovery": [f"figures/recovery.{k}" for k in PICTURES]},
        dataset="tiny",
    )


def test_pictures(fitted, stage):
    def figure(name):
        return [f"figures/{name}.{k}" for k in PICTURES]

    stage("plot_data", {"cube": "cube.nc"}, {"observed": figure("observed")})
    stage("plot_fit", {"trace": "chosen/trace.csv"}, {"bound": figure("bound")})
    stage(
        "plot_selection",
        {"table": "select.tsv", "selected": "selected.yaml"},
        {"selection": figure("selection")},
    )
    stage("plot_stability", {"table": "stability.tsv"}, {"stability": figure("stability")})
    stage(
        "plot_components",
        {
            "cube": "cube.nc",
            "posterior": "chosen/posterior.nc",
            "posteriors": ["model/seed0/posterior.nc", "model/seed1/posterior.nc"],
            "stability": "stability.tsv",
        },
        {n: figure(n) for n in ("mixing", "sources", "regimes", "fitted")},
        marks=[{"time": 7.0, "label": "change"}],
    )
    for path in sorted((stage.folder / "figures").glob("*.svg")):
        assert path.read_text().startswith("<?xml")
        assert len(read_table(path.with_suffix(".tsv"))) > 0


def test_perturbation(fitted, stage, settings):
    stage(
        "predict_perturbation",
        {"cube": "cube.nc", "model": "chosen/params.pt"},
        {"response": "perturbation.nc"},
        perturb=settings["perturb"],
        seed=1,
    )
    stage(
        "plot_perturbation",
        {"cube": "cube.nc", "response": "perturbation.nc"},
        {"perturbation": [f"figures/perturbation.{k}" for k in PICTURES]},
    )
    assert set(read_dataset(stage.folder / "perturbation.nc").sizes) >= {"intervention", "step"}


def test_weather_becomes_event_days(stage):
    from headwater.core.config import load_schema as load

    root = stage.folder
    stage("prepare_weather", {}, {"daily": "weather.nc"})
    from pathlib import Path

    schema = Path(__file__).resolve().parents[3] / "workflow/schemas/counts.events.schema.yaml"
    events = load(schema)["default"]
    stage("prepare_events", {"daily": "weather.nc"}, {"events": "e.nc"}, prepare={}, events=events)
    out = {"cube": "w.nc", "filter": "wf.tsv", "check": "wc.json"}
    stage("prepare_cube", {"source": "e.nc"}, out, prepare={}, title="Weather")
    cube = read_dataset(root / "w.nc")
    wet = cube["counts"].sel(feature="wet_days").values.sum()
    from vega_datasets import local_data

    assert wet == (local_data.seattle_weather()["precipitation"] >= 1.0).sum()
