"""Solve a random share of the instances with MATPOWER."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_lines, write_lines
    from headwater.opf.peer import run_references
    from headwater.opf.prepare import read_cases
    from headwater.opf.synth.merge import cross_check_sample

    records = [record for path in inputs.parts for record in read_lines(path)]
    share, least = params.settings["cross_check"], params.settings["cross_check_min"]
    chosen = cross_check_sample(records, share, least, params.seed)
    rows = run_references(
        chosen,
        read_cases(inputs.cases),
        params.mode,
        limits=params.limits,
        workers=threads,
        log=log,
    )
    write_lines(outputs.executions, rows)


run(main, globals().get("snakemake"))
