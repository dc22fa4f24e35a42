"""Solve a network with MATPOWER."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import write_json
    from headwater.opf.case import read_case
    from headwater.opf.peer import solve_with_matpower

    write_json(outputs.solutions, solve_with_matpower(read_case(inputs.case), params.mode, log))


run(main, globals().get("snakemake"))
