"""Score reconstructions and forecasts of the mouse left out, beside the paper's numbers."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_dataset, read_json, read_table, write_table
    from headwater.core.metrics import collect
    from headwater.counts.batch import read_fits
    from headwater.counts.model import Model
    from headwater.counts.paper import mice_table
    from headwater.counts.posterior import posterior
    from headwater.counts.scores import score_reconstruction
    from headwater.counts.split import held_out_part

    cube, folds = read_dataset(inputs.cube), read_json(inputs.folds)
    found = {}
    for state, fold, start in read_fits(inputs.models):
        if start > 0:
            continue
        model = Model.from_state(state)
        name = f"plnica_d{model.config.d}_C{model.config.C}"
        found[(name, fold)] = posterior(model, held_out_part(cube, folds, fold))
    rebuilt = score_reconstruction(cube, found, "paper_mice", params.seed)
    scores = collect([rebuilt, read_table(inputs.forecasts)])
    write_table(outputs.scores, scores)
    write_table(outputs.table, mice_table(scores, "paper_mice", params.origins))


run(main, globals().get("snakemake"))
