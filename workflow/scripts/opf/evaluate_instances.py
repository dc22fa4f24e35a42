"""Count what the synthesis made, refused and agreed on."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_json, read_lines, read_table, write_table
    from headwater.opf.synth.merge import agreement
    from headwater.opf.synthesis import synthesis_scores

    table = agreement(read_table(inputs.manifest), read_lines(inputs.executions))
    write_table(outputs.table, table)
    write_table(outputs.scores, synthesis_scores(read_json(inputs.summary), table))


run(main, globals().get("snakemake"))
