"""Take the daily weather that the vega_datasets package ships."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import write_dataset
    from headwater.counts.weather import embedded_weather

    write_dataset(outputs.daily, embedded_weather())


run(main, globals().get("snakemake"))
