"""Fit Poisson log-normal ICA, for forecasts, to the series outside one fold."""

from pathlib import Path

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_dataset, read_json, write_torch
    from headwater.counts.fit import FitConfig, fit_plnica
    from headwater.counts.split import training_part

    options = dict(params.options)
    fold, seed, work = (options.pop(name) for name in ("fold", "seed", "work"))
    config = FitConfig.from_mapping(options)
    cube = training_part(read_dataset(inputs.cube), read_json(inputs.folds), fold)
    fit = fit_plnica(cube, config, seed, work=Path(work), log=log)
    write_torch(outputs.model, fit.model.state())


run(main, globals().get("snakemake"))
