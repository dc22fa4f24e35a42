"""Count event days per month in daily fields or station records."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import write_dataset
    from headwater.counts.climate import read_events

    daily = inputs.daily if isinstance(inputs.daily, list) else [inputs.daily]
    table = read_events([str(f) for f in daily], params.prepare, params.events)
    log.info("counted event days: %s", dict(table.sizes))
    write_dataset(outputs.events, table)


run(main, globals().get("snakemake"))
