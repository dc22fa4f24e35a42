"""Run the answers of a model in the sandbox."""

from pathlib import Path

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_lines, write_lines
    from headwater.opf.benchmark import execute_answers
    from headwater.opf.prepare import read_cases

    rows = execute_answers(
        read_lines(inputs.records),
        read_lines(inputs.answers),
        read_cases(inputs.cases),
        params.dialect,
        params.limits,
        Path(params.work),
        params.code,
        threads,
        log,
    )
    write_lines(outputs.executions, rows)


run(main, globals().get("snakemake"))
