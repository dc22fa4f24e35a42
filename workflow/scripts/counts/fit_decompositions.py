"""Decompose the log counts by every baseline method, with as many components as the model."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_dataset, read_yaml, write_dataset
    from headwater.counts.baselines import DECOMPOSITIONS

    cube = read_dataset(inputs.cube)
    d = read_yaml(inputs.selected)["d"]
    for name, path in zip(params.methods, outputs, strict=True):
        write_dataset(path, DECOMPOSITIONS[name].decompose(cube, d, params.seed))


run(main, globals().get("snakemake"))
