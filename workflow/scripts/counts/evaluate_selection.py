"""Choose the number of sources and regimes by the bound of held-out series."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_dataset, read_json, write_table, write_yaml
    from headwater.counts.batch import read_fits
    from headwater.counts.select import held_out_bounds, held_out_scores, select

    models = [inputs.models] if isinstance(inputs.models, str) else list(inputs.models)
    cube, folds = read_dataset(inputs.cube), read_json(inputs.folds)
    table = held_out_bounds(cube, folds, read_fits(models))
    scored, selected = select(table, params.grid)
    log.info("selected %s", selected)
    write_table(outputs.table, scored)
    write_table(outputs.scores, held_out_scores(scored, selected, params.dataset))
    write_yaml(outputs.selected, selected)


run(main, globals().get("snakemake"))
