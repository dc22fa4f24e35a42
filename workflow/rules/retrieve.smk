"""Retrieve: the only rules that may use the network. Look-up: local path, mirror, network."""

from headwater.core.retrieve import read_datasets

DOWNLOADS = "resources/downloads"
FILES = {
    row["file"]: row
    for row in stop_on_input_error(read_datasets, located("config/datasets.tsv"))
}


def data_file(name):
    """Return where a file of a table is read from: as it stands, or a download by this name."""
    if name in FILES and not Path(name).exists():
        return f"{DOWNLOADS}/{name}"
    if not Path(name).exists():
        raise WorkflowError(
            f"{name}: found neither a local file nor a row in config/datasets.tsv; "
            "expected one of them. Correct the path or add the row."
        )
    return name


rule retrieve_file:
    output:
        file=f"{DOWNLOADS}/{{file}}",
    log:
        "<results>/logs/retrieve/{file}.log",
    benchmark:
        "<results>/benchmarks/retrieve/{file}.jsonl"
    params:
        row=lambda wildcards: FILES[wildcards.file],
    threads: 1
    resources:
        mem_mb=res("small", "mem_mb"),
        runtime=res("table", "runtime"),
        download=1,
    conda:
        "../../envs/counts.yaml"
    message:
        "Retrieving {wildcards.file}"
    script:
        "../scripts/retrieve/retrieve_file.py"
