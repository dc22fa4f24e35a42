"""Forecast the series of one fold by every baseline, fitted on the other folds."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_dataset, read_json, write_dataset
    from headwater.counts.baselines import FORECASTERS, forecast_origins
    from headwater.counts.split import held_out_part, training_part

    cube, folds = read_dataset(inputs.cube), read_json(inputs.folds)
    training = training_part(cube, folds, params.fold)
    held_out = held_out_part(cube, folds, params.fold)
    for name, path in zip(params.methods, outputs, strict=True):
        fitted = FORECASTERS[name].fit(training)
        write_dataset(path, forecast_origins(fitted, held_out, params.forecast))


run(main, globals().get("snakemake"))
