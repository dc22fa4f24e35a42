"""Draw the recovery scores of model and baselines with the null beside them."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_table
    from headwater.core.page import save_figure
    from headwater.counts.report import recovery_bars

    plot = recovery_bars(read_table(inputs.scores), params.dataset)
    save_figure(plot, *outputs.recovery)


run(main, globals().get("snakemake"))
