"""Draw the checks against publications and what the synthesis made."""

from pathlib import Path

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_table
    from headwater.core.page import save_figure
    from headwater.opf.figures import published_dots
    from headwater.opf.figures.scores import accuracy_bars, error_bars
    from headwater.opf.figures.synthesis import figures_of

    plots = {"published": published_dots(read_table(inputs.published))}
    if inputs.manifest:
        plots |= figures_of(
            params.names, read_table(inputs.manifest[0]), read_table(inputs.rejects[0])
        )
    if inputs.records:
        tables = dict(zip(params.models, map(read_table, inputs.records), strict=True))
        plots["accuracy"] = accuracy_bars(read_table(inputs.metrics))
        plots["errors"] = error_bars(tables)
    folder = Path(outputs.figures[0]).parent
    for name in params.names:
        files = (folder / f"{name}.{kind}" for kind in ("svg", "png", "tsv", "json"))
        save_figure(plots[name], *files)


run(main, globals().get("snakemake"))
