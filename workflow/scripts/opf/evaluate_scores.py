"""Score a model on a set of requests, beside models that do not read them."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_lines, write_table
    from headwater.core.metrics import collect
    from headwater.opf.prepare import read_cases
    from headwater.opf.scoring import null_rows, per_record, score_rows

    records, cases = read_lines(inputs.records), read_cases(inputs.cases)
    tables = {}
    if params.model is None:
        tables = null_rows(records, cases)
    else:
        tables[params.method] = per_record(records, read_lines(inputs.executions[0]), cases)
    scores = [score_rows(params.requests, name, table) for name, table in tables.items()]
    write_table(outputs.scores, collect(scores))
    write_table(outputs.records, next(iter(tables.values())))


run(main, globals().get("snakemake"))
