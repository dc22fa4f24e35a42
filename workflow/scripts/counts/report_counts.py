"""Write the page of the domain and its head for the landing page."""

from pathlib import Path

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import (
        read_dataset,
        read_json,
        read_table,
        read_yaml,
        write_json,
        write_text,
    )
    from headwater.core.page import head_of, load_named, render_page
    from headwater.counts.report import build_page, dataset_report

    reports = []
    for index, about in enumerate(params.datasets):
        folder = Path(inputs.cubes[index]).parent / "figures"
        reports.append(
            dataset_report(
                about,
                cube=read_dataset(inputs.cubes[index]),
                check=read_json(inputs.checks[index]),
                selected=read_yaml(inputs.selected[index]),
                fit=read_json(inputs.fits[index]),
                folds=read_json(inputs.folds[index]),
                tests=read_table(inputs.tests[index]),
                figures=load_named(folder, about["figures"], about["name"]),
            )
        )
    page = build_page(reports, read_table(inputs.metrics), read_json(inputs.provenance))
    write_text(outputs.page, render_page(page))
    write_json(outputs.head, head_of(page))


run(main, globals().get("snakemake"))
