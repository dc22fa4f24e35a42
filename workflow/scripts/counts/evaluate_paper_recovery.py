"""Score all fits and decompositions of all draws against their own truth, beside the paper's."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_dataset, read_json, write_table
    from headwater.core.metrics import collect
    from headwater.counts.paper import recovery_scores, recovery_table

    count = len(params.methods)
    tables = []
    for index, path in enumerate(inputs.cubes):
        named = {"plnica": inputs.ar[index], "plnica_mf": inputs.mf[index]}
        own = inputs.decompositions[index * count : (index + 1) * count]
        named |= {f"baseline:{m}": p for m, p in zip(params.methods, own, strict=True)}
        found = {method: read_dataset(p) for method, p in named.items()}
        infos = {"plnica": inputs.ar_info[index], "plnica_mf": inputs.mf_info[index]}
        fits = {method: read_json(p) for method, p in infos.items()}
        scenario, draw = params.draws[index]
        cube = read_dataset(path)
        tables.append(recovery_scores(cube, found, scenario, draw, params.seed, fits))
    scores = collect(tables)
    write_table(outputs.scores, scores)
    write_table(outputs.table, recovery_table(scores))


run(main, globals().get("snakemake"))
