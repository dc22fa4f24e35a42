"""Look whether the faults of a set of requests are named."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_lines, write_table
    from headwater.opf.engine import Options
    from headwater.opf.faulty import refusal_scores, refusal_table
    from headwater.opf.prepare import read_cases

    records = read_lines(inputs.source)
    table = refusal_table(records, read_cases(inputs.cases), Options(**params.solver))
    write_table(outputs.table, table)
    write_table(outputs.scores, refusal_scores(params.name, table))


run(main, globals().get("snakemake"))
