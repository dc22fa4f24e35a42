"""Score all forecasts on the held-out series, after the origin and by the paper's protocol."""

from pathlib import Path

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_dataset, write_table
    from headwater.counts.paired import forecast_tests
    from headwater.counts.scores import score_forecasts

    forecasts = {
        (method_of(path, params.model), Path(path).stem): read_dataset(path)
        for path in inputs.forecasts
    }
    scores, detail, pit = score_forecasts(
        read_dataset(inputs.cube), forecasts, dataset=params.dataset, seed=params.seed
    )
    write_table(outputs.scores, scores)
    write_table(outputs.detail, detail)
    write_table(outputs.tests, forecast_tests(detail, params.model))
    write_table(outputs.pit, pit)


def method_of(path, model):
    """Return a method's name in the tables; the model with one regime is a baseline."""
    name = Path(path).parent.name
    if name == model:
        return name
    return "baseline:one_regime" if name.startswith("plnica") else f"baseline:{name}"


run(main, globals().get("snakemake"))
