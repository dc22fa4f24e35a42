"""Deal the series into folds, once, for every method."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_dataset, write_json
    from headwater.counts.split import make_folds

    cube = read_dataset(inputs.cube)
    write_json(outputs.folds, make_folds(cube, "kfold", params.folds, params.seed))


run(main, globals().get("snakemake"))
