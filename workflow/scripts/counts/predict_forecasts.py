"""Forecast the series of one fold from every origin, by a model that never saw them."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_dataset, read_json, read_torch, write_dataset
    from headwater.counts.forecast import forecast_origins
    from headwater.counts.model import Model
    from headwater.counts.split import held_out_part

    cube = held_out_part(read_dataset(inputs.cube), read_json(inputs.folds), params.fold)
    model = Model.from_state(read_torch(inputs.model))
    write_dataset(outputs.forecasts, forecast_origins(model, cube, params.forecast, params.seed))


run(main, globals().get("snakemake"))
