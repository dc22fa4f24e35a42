"""Predict what a schedule of interventions does to the expected counts."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_dataset, read_torch, write_dataset
    from headwater.counts.model import Model
    from headwater.counts.perturb import perturb

    model = Model.from_state(read_torch(inputs.model))
    cube = read_dataset(inputs.cube)
    write_dataset(outputs.response, perturb(model, cube, seed=params.seed, **params.perturb))


run(main, globals().get("snakemake"))
