"""Write down a domain's inputs, configuration, versions, seeds, threads, time and memory."""

from pathlib import Path

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import write_json
    from headwater.core.provenance import build_provenance, input_record, read_benchmarks

    records = [
        input_record(
            path,
            name=row.get("file") or path,
            licence=row.get("licence", ""),
            citation=row.get("citation", ""),
            source=row.get("urls") or row.get("registration", ""),
        )
        for path, row in params.files.items()
    ]
    timed = sorted(Path(params.benchmarks).rglob("*.jsonl"))
    command = " ".join(["snakemake", params.domain, *params.configfiles])
    provenance = build_provenance(
        domain=params.domain,
        run=params.config["run"],
        inputs=records,
        config=params.config,
        seeds={"run": params.config["seed"]},
        threads=params.threads_of,
        benchmarks=read_benchmarks(timed, domain=params.domain),
        repository=params.repository,
        command=command,
    )
    write_json(outputs.provenance, provenance)


run(main, globals().get("snakemake"))
