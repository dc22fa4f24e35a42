"""Retrieve: the only rules that may use the network. Look-up: local path, mirror, network."""


rule retrieve_file:
    output:
        file=f"{DOWNLOADS}/{{file}}",
    log:
        "<results>/logs/retrieve/{file}.log",
    benchmark:
        "<results>/benchmarks/retrieve/{file}.jsonl"
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("small", "mem_mb"),
        runtime=res("table", "runtime"),
        download=1,
    params:
        row=lambda wildcards: FILES[wildcards.file],
    message:
        "Retrieving {wildcards.file}"
    script:
        "../scripts/retrieve/retrieve_file.py"


rule retrieve_all:
    input:
        [data_file(f) for domain in DOMAINS for f in DOMAIN_FILES[domain]],
    message:
        "All files that this configuration reads are here"
