"""Draw mixing, sources, regimes, and observed beside fitted counts."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.counts.stability import spread_around

    from headwater.core.io import read_dataset
    from headwater.core.page import save_figure
    from headwater.counts import figures

    cube, posterior = read_dataset(inputs.cube), read_dataset(inputs.posterior)
    spread = spread_around(posterior, [read_dataset(path) for path in inputs.posteriors])
    save_figure(figures.mixing(posterior, spread), *outputs.mixing)
    save_figure(figures.sources(posterior, cube, params.marks), *outputs.sources)
    save_figure(figures.regimes(posterior, cube, params.marks), *outputs.regimes)
    save_figure(figures.observed_fitted(cube, posterior), *outputs.fitted)


run(main, globals().get("snakemake"))
