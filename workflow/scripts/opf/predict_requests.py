"""Solve every request of a set."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_lines, write_lines, write_table
    from headwater.opf.engine import Options
    from headwater.opf.prepare import read_cases
    from headwater.opf.solving import solve_records

    records = read_lines(inputs.records)
    rows, tables = solve_records(records, read_cases(inputs.cases), Options(**params.solver))
    write_lines(outputs.solutions, rows)
    write_table(outputs.tables, tables)


run(main, globals().get("snakemake"))
