"""Draw the bound over the epochs."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_table
    from headwater.core.page import save_figure
    from headwater.counts.figures import elbo_curve

    save_figure(elbo_curve(read_table(inputs.trace)), *outputs.bound)


run(main, globals().get("snakemake"))
