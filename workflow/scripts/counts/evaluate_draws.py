"""Score counts drawn from the fitted model by their distance from the data."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_dataset, read_torch, write_table
    from headwater.counts.draws import draw_distance
    from headwater.counts.model import Model

    model = Model.from_state(read_torch(inputs.model))
    scores = draw_distance(model, read_dataset(inputs.cube), params.dataset, params.seed)
    write_table(outputs.scores, scores)


run(main, globals().get("snakemake"))
