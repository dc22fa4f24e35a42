"""Simulate a scenario with known truth."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import write_dataset
    from headwater.counts.simulate import simulate_scenario

    cube = simulate_scenario(params.scenario, params.seed)
    log.info("simulated %s: %s", params.scenario, dict(cube.sizes))
    write_dataset(outputs.cube, cube)


run(main, globals().get("snakemake"))
