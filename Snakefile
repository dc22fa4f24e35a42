"""Headwater: from raw data to a report page. See README.md; every key: config/README.md."""

from snakemake.utils import min_version

min_version("9.27")


include: "workflow/rules/common.smk"


pathvars:
    results="results/<run>",
    logs="<results>/logs",
    benchmarks="<results>/benchmarks",
    run=config["run"],


include: "workflow/rules/counts.smk"
include: "workflow/rules/counts_paper.smk"
include: "workflow/rules/opf.smk"
include: "workflow/rules/spatial.smk"
include: "workflow/rules/genomics.smk"
include: "workflow/rules/eeg.smk"
include: "workflow/rules/retrieve.smk"
include: "workflow/rules/publish.smk"


rule all:
    default_target: True
    input:
        [f"<results>/{domain}/report/index.html" for domain in DOMAINS],
        "<results>/index.html",
        "<results>/ro-crate-metadata.json",
    message:
        "Everything that {config[run]} asks for is there"


rule counts:
    input:
        "<results>/counts/report/index.html",
    message:
        "The counts report is there"


rule opf:
    input:
        "<results>/opf/report/index.html",
    message:
        "The opf report is there"


rule spatial:
    input:
        "<results>/spatial/report/index.html",
    message:
        "The spatial report is there"


rule genomics:
    input:
        "<results>/genomics/report/index.html",
    message:
        "The genomics report is there"


rule eeg:
    input:
        "<results>/eeg/report/index.html",
    message:
        "The eeg report is there"
