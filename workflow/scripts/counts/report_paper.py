"""Write the page with our numbers beside the published ones."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_table, write_text
    from headwater.core.page import render_page
    from headwater.counts.paper_page import mice_page, recovery_page

    build = {"recovery": recovery_page, "mice": mice_page}[params.paper]
    table, scores = read_table(inputs.table), read_table(inputs.scores)
    write_text(outputs.page, render_page(build(table, scores, params.command, params.seed)))


run(main, globals().get("snakemake"))
