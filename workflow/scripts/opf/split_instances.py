"""Merge the shards and deal the instances into parts."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import (
        read_lines,
        read_table,
        write_json,
        write_lines,
        write_table,
        write_text,
    )
    from headwater.opf.synth.datasheet import datasheet
    from headwater.opf.synth.merge import merge
    from headwater.opf.synth.statistics import summary
    from headwater.opf.synthesis import settings_of

    settings = settings_of(params.settings, params.seed)
    records = [record for path in inputs.shards for record in read_lines(path)]
    rejected = [row for path in inputs.rejects for row in read_table(path).to_dict("records")]
    merged = merge(records, rejected, settings)
    for part, kept in merged.parts.items():
        write_lines(outputs[part], kept)
    write_table(outputs.manifest, merged.manifest)
    write_table(outputs.rejects, merged.rejects)
    write_text(outputs.datasheet, datasheet(merged, settings))
    write_json(outputs.summary, summary(merged, settings))


run(main, globals().get("snakemake"))
