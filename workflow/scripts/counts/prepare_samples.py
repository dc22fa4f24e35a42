"""Read a count table with its metadata and taxonomy into samples x features."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import write_dataset
    from headwater.counts.tables import read_sample_table

    table = read_sample_table(
        one(inputs.counts), one(inputs.metadata), one(inputs.taxonomy), params.prepare
    )
    log.info("read %s", dict(table.sizes))
    write_dataset(outputs.samples, table)


def one(files):
    """Return the only file of a named input, or None when the row names none."""
    return files if isinstance(files, str) else next(iter(files), None)


run(main, globals().get("snakemake"))
