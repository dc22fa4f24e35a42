"""Draw one solved network and its prices."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_table
    from headwater.core.page import save_figure
    from headwater.opf.figures import network_diagram, price_bars

    bus, gen, branch = (read_table(inputs[name]) for name in ("bus", "gen", "branch"))
    save_figure(network_diagram(params.name, bus, gen, branch), *outputs.network)
    save_figure(price_bars(params.name, bus), *outputs.prices)


run(main, globals().get("snakemake"))
