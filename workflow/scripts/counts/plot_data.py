"""Draw the observed counts."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_dataset
    from headwater.core.page import save_figure
    from headwater.counts.figures import observed_counts

    save_figure(observed_counts(read_dataset(inputs.cube)), *outputs.observed)


run(main, globals().get("snakemake"))
