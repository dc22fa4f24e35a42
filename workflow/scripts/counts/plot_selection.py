"""Draw the held-out bound over the grid of sizes."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_table, read_yaml
    from headwater.core.page import save_figure
    from headwater.counts.figures import selection_curve

    plot = selection_curve(read_table(inputs.table), read_yaml(inputs.selected))
    save_figure(plot, *outputs.selection)


run(main, globals().get("snakemake"))
