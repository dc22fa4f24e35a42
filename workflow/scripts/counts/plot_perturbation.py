"""Draw the answer of the expected counts to the first intervention."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_dataset
    from headwater.core.page import save_figure
    from headwater.counts.report import response_plot

    plot = response_plot(read_dataset(inputs.response), read_dataset(inputs.cube))
    save_figure(plot, *outputs.perturbation)


run(main, globals().get("snakemake"))
