"""Hold the optima of all networks against the published ones and MATPOWER's."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_json, write_table
    from headwater.opf.published import case_scores, published_table

    names = list(params.published)
    solutions = dict(zip(names, map(read_json, inputs.solutions), strict=True))
    matpower = dict(zip(names, map(read_json, inputs.matpower), strict=True))
    table = published_table(params.published, solutions, matpower)
    write_table(outputs.table, table)
    write_table(outputs.checks, case_scores(table))


run(main, globals().get("snakemake"))
