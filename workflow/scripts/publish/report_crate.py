"""Pack a run as a Workflow Run RO-Crate: metadata beside the results, nothing moved."""

import shutil
from pathlib import Path

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.crate import build_crate, read_metadata, write_crate
    from headwater.core.io import atomic, read_json, write_yaml

    root = Path(outputs.crate).parent
    with atomic(outputs.workflow) as tmp:
        shutil.copyfile(params.snakefile, tmp)
    write_yaml(outputs.config, params.config)
    provenances = [read_json(path) for path in inputs.provenance]
    versions = {k: v for p in provenances for k, v in p["versions"]["packages"].items()}
    shipped = [*inputs.pages, *inputs.provenance, *inputs.metrics, inputs.index]
    prefix = f"{root}/"
    write_crate(
        outputs.crate,
        build_crate(
            root,
            name=f"Headwater run {params.config['run']}",
            description="Results of a Headwater run with their provenance.",
            workflow=Path(outputs.workflow).name,
            config=Path(outputs.config).name,
            outputs=sorted(str(Path(f).relative_to(root)) for f in shipped),
            inputs=[record for p in provenances for record in p["inputs"]],
            software=versions,
            records=read_metadata(".snakemake/metadata", prefix),
            version=(provenances[0].get("git") or {}).get("commit", ""),
            prefix=prefix,
        ),
    )


run(main, globals().get("snakemake"))
