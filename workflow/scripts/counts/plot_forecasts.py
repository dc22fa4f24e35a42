"""Draw forecast scores of all methods, forecasts of the first fold, and calibration."""

from pathlib import Path

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_dataset, read_table
    from headwater.core.page import save_figure
    from headwater.counts.figures import forecast_panels, pit_histogram
    from headwater.counts.report import forecast_bars

    forecasts = {Path(path).parent.name: read_dataset(path) for path in inputs.forecasts}
    t0 = int(next(iter(forecasts.values()))["t0"].values[0])
    one = {name: data.sel(t0=t0) for name, data in forecasts.items()}
    series = next(iter(one.values()))["series"].values
    cube = read_dataset(inputs.cube)
    held_out = cube.isel(series=[s in set(series) for s in cube["series"].values])
    save_figure(forecast_bars(read_table(inputs.scores), params.dataset), *outputs.scores)
    save_figure(forecast_panels(held_out, one, t0), *outputs.forecasts)
    save_figure(pit_histogram(read_table(inputs.pit)), *outputs.pit)


run(main, globals().get("snakemake"))
