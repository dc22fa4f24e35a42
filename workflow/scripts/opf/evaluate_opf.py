"""Collect the numbers of the domain."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_table, write_table
    from headwater.core.metrics import collect

    write_table(outputs.metrics, collect(map(read_table, inputs.tables)))


run(main, globals().get("snakemake"))
