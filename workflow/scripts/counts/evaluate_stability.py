"""Compare the restarts component by component and pass on the most central one."""

import shutil

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import atomic, read_dataset, write_table
    from headwater.counts.stability import compare

    posteriors = [read_dataset(path) for path in inputs.posteriors]
    table, scores, medoid = compare(posteriors, params.dataset)
    log.info("the most central of %d fits is number %d", len(posteriors), medoid)
    write_table(outputs.table, table)
    write_table(outputs.scores, scores)
    copies = (
        ("model", "models"),
        ("posterior", "posteriors"),
        ("trace", "traces"),
        ("info", "infos"),
    )
    for target, source in copies:
        with atomic(getattr(outputs, target)) as tmp:
            shutil.copyfile(getattr(inputs, source)[medoid], tmp)


run(main, globals().get("snakemake"))
