"""Draw how far the restarts agree."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_table
    from headwater.core.page import save_figure
    from headwater.counts.figures import stability
    from headwater.counts.stability import most_central, similarity

    matrix = similarity(read_table(inputs.table))
    save_figure(stability(matrix, matrix.index[most_central(matrix)]), *outputs.stability)


run(main, globals().get("snakemake"))
