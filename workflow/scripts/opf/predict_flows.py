"""Solve a network in all formulations."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import write_dataset, write_json, write_table
    from headwater.opf.baseline import solve_formulations
    from headwater.opf.case import read_case
    from headwater.opf.engine import Options
    from headwater.opf.solution import dataset

    solutions = solve_formulations(read_case(inputs.case), Options(**params.solver), log)
    write_json(outputs.solutions, {name: s.to_json() for name, s in solutions.items()})
    write_dataset(outputs.tables, dataset(list(solutions.values()), list(solutions)))
    for name, table in solutions["ac"].tables().items():
        write_table(outputs[name], table)


run(main, globals().get("snakemake"))
