"""Fit Poisson log-normal ICA: to all series, or to those outside one fold."""

from pathlib import Path

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.provenance import versions
    from headwater.counts.fit import FitConfig, fit_plnica
    from headwater.counts.split import training_part

    from headwater.core.io import (
        read_dataset,
        read_json,
        read_yaml,
        write_dataset,
        write_json,
        write_table,
        write_torch,
    )

    cube = read_dataset(inputs.cube)
    if "folds" in inputs.keys():
        cube = training_part(cube, read_json(inputs.folds), params.fold)
        size = {"d": params.d, "C": params.C}
    else:
        size = read_yaml(inputs.selected)
    config = FitConfig.from_mapping(
        {**params.model, "mode": params.mode, "d": size["d"], "C": size["C"]}
    )
    fit = fit_plnica(cube, config, params.seed, work=Path(params.work), log=log)
    if "posterior" in outputs.keys():
        write_dataset(outputs.posterior, fit.posterior)
    write_table(outputs.trace, fit.trace)
    write_json(outputs.info, fit.info | {"versions": versions(seed=params.seed)})
    write_torch(outputs.model, fit.model.state())


run(main, globals().get("snakemake"))
