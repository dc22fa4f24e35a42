"""Compare the model's and the baselines' mixing and sources with the truth."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    import pandas as pd

    from headwater.core.io import read_dataset, write_table
    from headwater.counts.scores import recovery

    cube = read_dataset(inputs.cube)
    found = {"plnica": read_dataset(inputs.posterior)}
    found |= {
        f"baseline:{name}": read_dataset(path)
        for name, path in zip(params.methods, inputs.decompositions, strict=True)
    }
    tables = [
        recovery(cube, result, dataset=params.dataset, method=method, seed=params.seed)
        for method, result in found.items()
    ]
    write_table(outputs.scores, pd.concat(tables))


run(main, globals().get("snakemake"))
