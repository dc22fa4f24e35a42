"""Read a network, check it, and write it down plainly."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import write_json, write_table, write_text
    from headwater.opf.case import write_case
    from headwater.opf.prepare import prepare_case

    source = inputs.source[0] if len(inputs.source) else None
    case, about = prepare_case(params.name, params.shipped, source, log)
    write_text(outputs.case, write_case(case))
    for name, table in case.tables().items():
        write_table(outputs[name], table)
    write_json(outputs.about, about)


run(main, globals().get("snakemake"))
