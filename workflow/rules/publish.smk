"""Publish: what every domain shares at the mouth - provenance, the landing page, the crate."""


rule report_provenance:
    input:
        data=domain_data,
        metrics="<results>/{domain}/metrics.tsv",
    output:
        provenance="<results>/{domain}/provenance.json",
    log:
        "<results>/logs/report_provenance/{domain}.log",
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("small", "mem_mb"),
        runtime=res("small", "runtime"),
    params:
        domain=lambda wildcards: wildcards.domain,
        config=config,
        files=domain_rows,
        benchmarks=lambda wildcards: f"results/{config['run']}/benchmarks",
        threads_of=rule_threads,
        repository=os.path.relpath(ROOT),
        configfiles=CONFIG_FILES,
    message:
        "Writing down what {wildcards.domain} was made from, with what and how long it took"
    script:
        "../scripts/publish/report_provenance.py"


rule report_index:
    input:
        pages=[f"<results>/{domain}/report/index.html" for domain in DOMAINS],
        heads=[f"<results>/{domain}/report/head.json" for domain in DOMAINS],
    output:
        page=report("<results>/index.html", category="Report", labels={"page": "start"}),
    log:
        "<results>/logs/report_index.log",
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("small", "mem_mb"),
        runtime=res("small", "runtime"),
    params:
        run=config["run"],
        domains=DOMAINS,
        code=code_of("headwater.core.page"),
    message:
        "Writing the landing page"
    script:
        "../scripts/publish/report_index.py"


rule report_crate:
    input:
        pages=[f"<results>/{domain}/report/index.html" for domain in DOMAINS],
        metrics=[f"<results>/{domain}/metrics.tsv" for domain in DOMAINS],
        provenance=[f"<results>/{domain}/provenance.json" for domain in DOMAINS],
        index="<results>/index.html",
    output:
        crate="<results>/ro-crate-metadata.json",
        workflow="<results>/Snakefile",
        config="<results>/config.yaml",
    log:
        "<results>/logs/report_crate.log",
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("small", "mem_mb"),
        runtime=res("small", "runtime"),
    params:
        snakefile=os.path.relpath(ROOT / "Snakefile"),
        config=config,
        code=code_of("headwater.core.crate"),
    message:
        "Packing the run as a research object"
    script:
        "../scripts/publish/report_crate.py"


onsuccess:
    shell(
        "{sys.executable} -m headwater.core.execution {config[run]} 2>/dev/null || true"
    )


onerror:
    shell(
        "{sys.executable} -m headwater.core.execution {config[run]} 2>/dev/null || true"
    )
