"""Which files and settings belong to which job of counts.smk."""

from functools import cache

from headwater.counts import catalogue

COUNTS = config.get("counts", {})
PAPER = COUNTS.get("paper")
PAPER_SCENARIOS = ("moderate_coherence", "high_coherence", "low_excitation")
GRID_JOBS = 200  # of one data set, before several fits share a job


def count_entries(tables, names, per_dataset=()):
    """Return the rows of `names` in the tables of data sets, or stop with one line."""
    found = stop_on_input_error(
        catalogue.read_catalogue, [located(table) for table in tables]
    )
    stop_on_input_error(catalogue.chosen, found, per_dataset, "per_dataset")
    return stop_on_input_error(catalogue.chosen, found, names)


def paper_draws(scenario):
    """Return the names of the draws of a scenario of the paper."""
    return [f"paper_{scenario}_draw{k}" for k in range(1, PAPER["draws"] + 1)]


def paper_entries():
    """Return the data sets of the paper: the mice, and every draw of every scenario."""
    names = ["paper_mice", *(f"paper_{scenario}" for scenario in PAPER_SCENARIOS)]
    rows = count_entries(PAPER["tables"], names)
    return {"paper_mice": rows["paper_mice"]} | {
        draw: rows[f"paper_{scenario}"]
        for scenario in PAPER_SCENARIOS
        for draw in paper_draws(scenario)
    }


# Data sets of the report, and with them those of the targets paper_counts_*.
REPORT_SETS = (
    count_entries(COUNTS["tables"], COUNTS["datasets"], COUNTS["per_dataset"])
    if COUNTS
    else {}
)
COUNT_SETS = REPORT_SETS | (paper_entries() if PAPER else {})
DOMAIN_FILES["counts"] = sorted(
    {f for entry in COUNT_SETS.values() for f in entry.inputs}
)
COUNT_SETTINGS = {
    name: stop_on_input_error(
        catalogue.settings_of, entry, COUNTS, SCHEMA["properties"]["counts"]
    )
    for name, entry in COUNT_SETS.items()
}


wildcard_constraints:
    batch=r"\d{4}",
    dataset="|".join(COUNT_SETS) or "no_data_set",


DECOMPOSITIONS = COUNTS.get("baselines", {}).get("decompositions", [])
FORECASTERS = COUNTS.get("baselines", {}).get("forecasters", [])


def counts_setting(*keys):
    """Return a params function: this data set's own value of a configuration key."""

    def value(wildcards):
        found = COUNT_SETTINGS[wildcards.dataset]
        for key in keys:
            found = found[key]
        return found

    return value


def counts_files(column):
    """Return an input function: the local files of one column of this data set's row."""

    def paths(wildcards):
        found = getattr(COUNT_SETS[wildcards.dataset], column)
        names = [found] if isinstance(found, str) else found
        return [data_file(name) for name in names if name]

    return paths


def cube_source(wildcards):
    """Return what the cube of this data set is made from."""
    entry = COUNT_SETS[wildcards.dataset]
    folder = f"<results>/counts/{wildcards.dataset}"
    made = {
        "simulation": "simulation.nc",
        "weather": "events.nc",
        "daily": "events.nc",
        "table": "samples.nc",
    }
    if entry.reader == "cube":
        return data_file(entry.files[0])
    return f"{folder}/{made[entry.reader]}"


def daily_source(wildcards):
    """Return the daily files that events are counted in."""
    entry = COUNT_SETS[wildcards.dataset]
    if entry.reader == "weather":
        return f"<results>/counts/{wildcards.dataset}/weather.nc"
    return [data_file(name) for name in entry.files]


def counts_folds(dataset):
    """Return the names of the folds of a data set."""
    return [f"fold{k:02d}" for k in range(COUNT_SETTINGS[dataset]["split"]["folds"])]


def grid_of(dataset):
    """Return the (d, C) pairs among which the model is selected."""
    grid = COUNT_SETTINGS[dataset]["select"]
    return [(d, c) for d in as_list(grid["d"]) for c in as_list(grid["C"])]


@cache
def grid_fits(dataset):
    """Return fold and start of every fit of a grid point; more seeds add to the end."""
    return [
        (fold, start)
        for start in range(COUNT_SETTINGS[dataset]["select"]["seeds"])
        for fold in counts_folds(dataset)
    ]


@cache
def batch_size(dataset):
    """Return how many fits of a grid point one job does (counts.select.batch)."""
    fits = len(grid_fits(dataset))
    shared = -(-len(grid_of(dataset)) * fits // GRID_JOBS)
    return min(COUNT_SETTINGS[dataset]["select"]["batch"] or shared, fits)


def batches_of(dataset):
    """Return the files of all fits of the grid of a data set."""
    count = -(-len(grid_fits(dataset)) // batch_size(dataset))
    return [
        f"<results>/counts/{dataset}/grid/d{d}_C{c}/batch{number:04d}.pt"
        for d, c in grid_of(dataset)
        for number in range(count)
    ]


def grid_batches(wildcards):
    """Return the fold fits that selection compares; none where nothing is to be selected."""
    dataset = wildcards.dataset
    return batches_of(dataset) if len(grid_of(dataset)) > 1 else []


def batch_fits(wildcards):
    """Return fold, start and seed of every fit of a batch."""
    dataset, number = wildcards.dataset, int(wildcards.batch)
    size = batch_size(dataset)
    point = {name: wildcards[name] for name in ("dataset", "d", "C")}
    return [
        {
            "fold": fold,
            "start": start,
            "seed": job_seed(
                config["seed"], "fit_grid", {**point, "fold": fold, "seed": start}
            ),
        }
        for fold, start in grid_fits(dataset)[number * size : (number + 1) * size]
    ]


def batch_minutes(wildcards, attempt):
    """Return the minutes asked for a batch; what is done is kept for the next attempt."""
    more = 10 * (batch_size(wildcards.dataset) - 1)
    return (RESOURCES["model"]["runtime"] + more) * attempt


def batch_work(wildcards):
    """Return the folder of the checkpoints of a grid point, whatever the size of batches."""
    point = f"{wildcards.dataset}/d{wildcards.d}_C{wildcards.C}"
    return f"results/{config['run']}/counts/work/fit_grid/{point}"


def grid_options(wildcards):
    """Return the options of the fits of a grid point."""
    size = {"d": int(wildcards.d), "C": int(wildcards.C)}
    return {**COUNT_SETTINGS[wildcards.dataset]["model"], **size, "mode": "smooth"}


def restarts(name):
    """Return an input function: one file of every restart of the selected model."""
    return lambda wildcards: [
        f"<results>/counts/{wildcards.dataset}/model/seed{seed}/{name}"
        for seed in range(COUNT_SETTINGS[wildcards.dataset]["seeds"])
    ]


def forecast_models(dataset):
    """Return names of the forecast models: the configured one and its one-regime baseline."""
    forecast = COUNT_SETTINGS[dataset]["forecast"]
    return list(dict.fromkeys(f"d{forecast['d']}_C{c}" for c in (forecast["C"], 1)))


def forecast_files(wildcards):
    """Return the forecasts of every method for every fold of a data set."""
    models = [f"plnica_{m}" for m in forecast_models(wildcards.dataset)]
    return [
        f"<results>/counts/{wildcards.dataset}/forecasts/{method}/{fold}.nc"
        for method in [*models, *FORECASTERS]
        for fold in counts_folds(wildcards.dataset)
    ]


def has_truth(dataset):
    """Return whether the mixing and sources behind a data set are known."""
    return (
        COUNT_SETS[dataset].reader == "simulation" or COUNT_SETTINGS[dataset]["truth"]
    )


def score_parts(dataset):
    """Return the names of the score tables of a data set."""
    return [
        "held_out",
        "forecasts",
        "stability_scores",
        "draws",
        *(["recovery"] if has_truth(dataset) else []),
    ]


def fit_options(rule, mode):
    """Return a params function: all that a fit needs to know beside its files."""

    def options(wildcards):
        place = [f"results/{config['run']}/counts/work", rule, *map(str, wildcards)]
        return {
            **COUNT_SETTINGS[wildcards.dataset]["model"],
            **{k: int(wildcards[k]) for k in ("d", "C") if k in wildcards.keys()},
            **{k: wildcards[k] for k in ("family",) if k in wildcards.keys()},
            "mode": mode,
            "fold": wildcards.get("fold"),
            "seed": job_seed(config["seed"], rule, wildcards),
            "work": "/".join(place),
        }

    return options


def counts_figure_names(dataset):
    """Return the names of the figures of a data set, in the order of the page."""
    seeds = COUNT_SETTINGS[dataset]["seeds"]
    return [
        "observed",
        "bound",
        *(["selection"] if len(grid_of(dataset)) > 1 else []),
        *(["stability"] if seeds > 1 else []),
        *("mixing", "sources", "regimes", "fitted"),
        *(["recovery"] if has_truth(dataset) else []),
        *("scores", "forecasts", "pit", "perturbation"),
    ]


def counts_figures(dataset):
    """Return the files of all figures of a data set."""
    return [
        f"<results>/counts/{dataset}/figures/{name}.{kind}"
        for name in counts_figure_names(dataset)
        for kind in ("svg", "png", "tsv", "json")
    ]


def first_fold_forecasts(wildcards):
    """Return the forecasts of the first fold, the model first, for the panels."""
    return [f for f in forecast_files(wildcards) if Path(f).stem == "fold00"]


# Snakemake names it as a missing file; an exception would come with a traceback.
NO_PAPER = (
    "none: config: counts.paper: missing, the targets paper_counts_* need it; "
    "use --configfile config/paper/counts.yaml"
)


def paper_page(name):
    """Return the page of a target, or what is to be done where nothing of it is configured."""
    return f"<results>/counts/paper/{name}.html" if PAPER else NO_PAPER


def paper_files(*patterns):
    """Return an input function: files of every draw; a pattern holds {draw}."""

    def files(wildcards):
        if not PAPER:
            return NO_PAPER
        names = [d for scenario in PAPER_SCENARIOS for d in paper_draws(scenario)]
        return [p.format(draw=name) for name in names for p in patterns]

    return files


def paper_labels(wildcards):
    """Return scenario and number of every draw, in the order of `paper_files`."""
    return [(s, k) for s in PAPER_SCENARIOS for k in range(1, PAPER["draws"] + 1)]


def paper_grid(wildcards):
    """Return the fold fits of every size that the mice are reconstructed with."""
    return batches_of("paper_mice") if PAPER else NO_PAPER
