"""Check a set of requests, or import it from the ProOPF format."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import write_lines, write_table
    from headwater.opf.prepare import prepare_requests, read_cases

    records, findings = prepare_requests(
        inputs.source, read_cases(inputs.cases), imported=params.imported
    )
    write_lines(outputs.records, records)
    write_table(outputs.findings, findings)


run(main, globals().get("snakemake"))
