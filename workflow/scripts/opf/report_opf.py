"""Write the page of the domain and its head for the landing page."""

from pathlib import Path

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_json, read_table, write_json, write_text
    from headwater.core.page import head_of, load_figure, render_page
    from headwater.opf.report import Parts, build_page

    tables = {
        key: dict(zip(names, map(read_table, inputs[key]), strict=True))
        for key, names in params.sets.items()
    }
    diagrams = [
        load_figure(Path(path).parent, Path(path).stem, f"../cases/{Path(path).parts[-3]}/figures")
        for path in inputs.diagrams
        if path.endswith(".svg")
    ]
    parts = Parts(
        metrics=read_table(inputs.metrics),
        published=read_table(inputs.published),
        cases={Path(p).parent.name: read_json(p) for p in inputs.cases},
        provenance=read_json(inputs.provenance),
        summary=read_json(inputs.summary[0]) if inputs.summary else None,
        cross_check=read_table(inputs.cross_check[0]) if inputs.cross_check else None,
        figures=[load_figure(Path(outputs.page).parent / "figures", n) for n in params.figures],
        diagrams=diagrams,
        stand_ins=params.stand_ins,
        **tables,
    )
    page = build_page(parts)
    write_text(outputs.page, render_page(page))
    write_json(outputs.head, head_of(page))


run(main, globals().get("snakemake"))
