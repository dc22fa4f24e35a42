"""Collect the scores of all data sets in one long table."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_table, write_table
    from headwater.core.metrics import collect

    write_table(outputs.metrics, collect(read_table(path) for path in inputs.scores))


run(main, globals().get("snakemake"))
