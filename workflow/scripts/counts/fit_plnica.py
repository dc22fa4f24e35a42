"""Fit Poisson log-normal ICA to all series: writes model, posterior, trace and summary."""

from pathlib import Path

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import (
        read_dataset,
        read_yaml,
        write_dataset,
        write_json,
        write_table,
        write_torch,
    )
    from headwater.core.provenance import versions
    from headwater.counts.fit import FitConfig, fit_plnica

    options = dict(params.options) | {k: read_yaml(inputs.selected)[k] for k in ("d", "C")}
    _, seed, work = (options.pop(name) for name in ("fold", "seed", "work"))
    config = FitConfig.from_mapping(options)
    fit = fit_plnica(read_dataset(inputs.cube), config, seed, work=Path(work), log=log)
    write_dataset(outputs.posterior, fit.posterior)
    write_table(outputs.trace, fit.trace)
    write_json(outputs.info, fit.info | {"versions": versions(seed=seed, device="cpu")})
    write_torch(outputs.model, fit.model.state())


run(main, globals().get("snakemake"))
