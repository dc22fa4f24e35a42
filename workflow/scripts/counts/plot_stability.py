"""Draw how far the restarts agree."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.counts.stability import medoid_of

    from headwater.core.io import read_table
    from headwater.core.page import save_figure
    from headwater.counts.figures import stability

    table = read_table(inputs.table, index_col=0)
    save_figure(stability(table, medoid_of(table)), *outputs.stability)


run(main, globals().get("snakemake"))
