"""Run the reference programs of a set of requests in MATPOWER."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_lines, write_lines
    from headwater.opf.peer import run_references
    from headwater.opf.prepare import read_cases

    rows = run_references(
        read_lines(inputs.records),
        read_cases(inputs.cases),
        params.mode,
        limits=params.limits,
        workers=threads,
        log=log,
    )
    write_lines(outputs.executions, rows)


run(main, globals().get("snakemake"))
