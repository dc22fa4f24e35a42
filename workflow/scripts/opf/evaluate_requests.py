"""Hold the solutions of a set of requests against its answers."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_lines, write_table
    from headwater.opf.solved import objective_table, solved_scores

    table = objective_table(
        read_lines(inputs.records), read_lines(inputs.solutions), read_lines(inputs.references)
    )
    write_table(outputs.table, table)
    write_table(outputs.scores, solved_scores(params.name, table))


run(main, globals().get("snakemake"))
