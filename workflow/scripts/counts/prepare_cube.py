"""Filter samples and features and lay the counts out as series x steps x features."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import write_dataset, write_json, write_table
    from headwater.counts.cube import prepare_cube

    cube, dropped, report = prepare_cube(inputs.source, params.prepare)
    cube.attrs["title"] = params.title
    for warning in report["warnings"]:
        log.warning("%s", warning)
    write_dataset(outputs.cube, cube)
    write_table(outputs.filter, dropped)
    write_json(outputs.check, report)


run(main, globals().get("snakemake"))
