"""Fit Poisson log-normal ICA to the series outside folds: a batch of one d and C."""

from pathlib import Path

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_dataset, read_json, write_torch
    from headwater.counts.batch import clear_work, fit_batch
    from headwater.counts.fit import FitConfig

    cube, folds = read_dataset(inputs.cube), read_json(inputs.folds)
    config, work = FitConfig.from_mapping(params.options), Path(params.work)
    states = fit_batch(cube, folds, config, params.fits, work, params.code, log)
    write_torch(outputs.models, states)
    clear_work(params.fits, work)


run(main, globals().get("snakemake"))
