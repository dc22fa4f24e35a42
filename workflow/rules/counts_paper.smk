"""Counts, reproduction: our numbers beside published ones, one page for each target.

`paper_counts_recovery` and `paper_counts_mice` need the block counts.paper of the configuration,
as in config/paper/counts.yaml. Data sets come from config/counts/paper.tsv; what rules of
counts.smk can do is done by them.
"""


use rule fit_plnica as fit_paper with:
    output:
        model="<results>/counts/{dataset}/paper/{family}/params.pt",
        posterior="<results>/counts/{dataset}/paper/{family}/posterior.nc",
        trace="<results>/counts/{dataset}/paper/{family}/trace.csv",
        info="<results>/counts/{dataset}/paper/{family}/fit.json",
    log:
        "<results>/logs/counts/fit_paper/{dataset}/{family}.log",
    benchmark:
        "<results>/benchmarks/counts/fit_paper/{dataset}/{family}.jsonl"
    params:
        options=fit_options("fit_paper", mode="smooth"),
        code=code_of("headwater.counts.fit"),
    message:
        "Fitting Poisson log-normal ICA to {wildcards.dataset}, family {wildcards.family}"


rule evaluate_paper_recovery:
    input:
        cubes=paper_files("<results>/counts/{draw}/cube.nc"),
        ar=paper_files("<results>/counts/{draw}/paper/ar/posterior.nc"),
        mf=paper_files("<results>/counts/{draw}/paper/mf/posterior.nc"),
        ar_info=paper_files("<results>/counts/{draw}/paper/ar/fit.json"),
        mf_info=paper_files("<results>/counts/{draw}/paper/mf/fit.json"),
        decompositions=paper_files(
            *(
                f"<results>/counts/{{draw}}/decompositions/{m}.nc"
                for m in DECOMPOSITIONS
            )
        ),
    output:
        scores="<results>/counts/paper/recovery_scores.tsv",
        table="<results>/counts/paper/recovery.tsv",
    log:
        "<results>/logs/counts/evaluate_paper_recovery.log",
    benchmark:
        "<results>/benchmarks/counts/evaluate_paper_recovery.jsonl"
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("table", "mem_mb"),
        runtime=res("table", "runtime"),
    params:
        draws=paper_labels,
        methods=DECOMPOSITIONS,
        seed=seed_of("evaluate_paper_recovery"),
        code=code_of("headwater.counts.paper", "headwater.counts.scores"),
    message:
        "Comparing the fits of the paper's scenarios with their own truth"
    script:
        "../scripts/counts/evaluate_paper_recovery.py"


rule evaluate_paper_mice:
    input:
        cube="<results>/counts/paper_mice/cube.nc",
        folds="<results>/counts/paper_mice/folds.json",
        models=paper_grid,
        forecasts="<results>/counts/paper_mice/forecasts.tsv",
    output:
        scores="<results>/counts/paper/mice_scores.tsv",
        table="<results>/counts/paper/mice.tsv",
    log:
        "<results>/logs/counts/evaluate_paper_mice.log",
    benchmark:
        "<results>/benchmarks/counts/evaluate_paper_mice.jsonl"
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("table", "mem_mb"),
        runtime=res("table", "runtime"),
    params:
        origins=lambda wildcards: COUNT_SETTINGS["paper_mice"]["forecast"]["t0"],
        seed=seed_of("evaluate_paper_mice"),
        code=code_of(
            "headwater.counts.paper",
            "headwater.counts.posterior",
            "headwater.counts.scores",
        ),
    message:
        "Scoring reconstructions and forecasts of the mouse left out"
    script:
        "../scripts/counts/evaluate_paper_mice.py"


rule report_paper:
    input:
        scores="<results>/counts/paper/{paper}_scores.tsv",
        table="<results>/counts/paper/{paper}.tsv",
    output:
        page=report(
            "<results>/counts/paper/{paper}.html",
            category="Report",
            labels={"page": "counts, {paper} beside the paper"},
        ),
    log:
        "<results>/logs/counts/report_paper/{paper}.log",
    benchmark:
        "<results>/benchmarks/counts/report_paper/{paper}.jsonl"
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("table", "mem_mb"),
        runtime=res("small", "runtime"),
    params:
        paper=lambda wildcards: wildcards.paper,
        command=lambda wildcards: " ".join(
            ["snakemake", f"paper_counts_{wildcards.paper}", *CONFIG_FILES]
        ),
        seed=config["seed"],
        code=code_of("headwater.counts.paper_page"),
    message:
        "Writing the page that puts {wildcards.paper} beside the paper"
    script:
        "../scripts/counts/report_paper.py"


rule paper_counts_recovery:
    input:
        paper_page("recovery"),
    message:
        "Recovery of the paper's scenarios beside the published numbers: {input}"


rule paper_counts_mice:
    input:
        paper_page("mice"),
    message:
        "The mice beside the published numbers: {input}"
