"""Draw mixing, sources, regimes, and observed beside fitted counts."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_dataset, read_table
    from headwater.core.page import save_figure
    from headwater.counts import figures
    from headwater.counts.stability import loading_spread, most_central, similarity

    cube, posterior = read_dataset(inputs.cube), read_dataset(inputs.posterior)
    medoid = most_central(similarity(read_table(inputs.stability), len(inputs.posteriors)))
    spread = loading_spread([read_dataset(path) for path in inputs.posteriors], medoid)
    marks, outside = figures.events_within(params.marks, cube)
    for mark in outside:
        log.warning("counts.marks: %s lies outside the times of the data: not drawn", dict(mark))
    save_figure(figures.mixing(posterior, spread), *outputs.mixing)
    save_figure(figures.sources(posterior, cube, marks), *outputs.sources)
    save_figure(figures.regimes(posterior, cube, marks), *outputs.regimes)
    save_figure(figures.observed_fitted(cube, posterior), *outputs.fitted)


run(main, globals().get("snakemake"))
