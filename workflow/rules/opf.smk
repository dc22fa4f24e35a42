"""Opf: networks and requests -> optima, instances, answers of models -> scores, report.

Rules stand in the order in which data flows; docs/opf.md describes every file.
"""


include: "opf_inputs.smk"


rule prepare_case:
    input:
        source=case_source,
    output:
        case=ensure("<results>/opf/cases/{case}/case.m", non_empty=True),
        bus="<results>/opf/cases/{case}/bus.parquet",
        gen="<results>/opf/cases/{case}/gen.parquet",
        branch="<results>/opf/cases/{case}/branch.parquet",
        gencost="<results>/opf/cases/{case}/gencost.parquet",
        about="<results>/opf/cases/{case}/case.json",
    log:
        "<results>/logs/opf/prepare_case/{case}.log",
    benchmark:
        "<results>/benchmarks/opf/prepare_case/{case}.jsonl"
    conda:
        "../../envs/opf.yaml"
    threads: 1
    resources:
        mem_mb=res("small", "mem_mb"),
        runtime=res("small", "runtime"),
    params:
        name=lambda wildcards: wildcards.case,
        shipped=shipped_name,
        code=code_of("headwater.opf.prepare"),
    message:
        "Reading the network {wildcards.case}"
    script:
        "../scripts/opf/prepare_case.py"


rule predict_flows:
    input:
        case="<results>/opf/cases/{case}/case.m",
    output:
        solutions="<results>/opf/cases/{case}/solutions.json",
        tables="<results>/opf/cases/{case}/flows.nc",
        bus="<results>/opf/cases/{case}/flow_bus.parquet",
        gen="<results>/opf/cases/{case}/flow_gen.parquet",
        branch="<results>/opf/cases/{case}/flow_branch.parquet",
    log:
        "<results>/logs/opf/predict_flows/{case}.log",
    benchmark:
        "<results>/benchmarks/opf/predict_flows/{case}.jsonl"
    conda:
        "../../envs/opf.yaml"
    threads: 1
    resources:
        mem_mb=res("model", "mem_mb"),
        runtime=res("model", "runtime"),
    params:
        solver=OPF.get("solver"),
        code=solver_code("headwater.opf.baseline"),
    message:
        "Solving {wildcards.case}: AC, DC in both conventions, second-order cone"
    script:
        "../scripts/opf/predict_flows.py"


rule predict_matpower:
    input:
        case="<results>/opf/cases/{case}/case.m",
    output:
        solutions="<results>/opf/cases/{case}/matpower.json",
    log:
        "<results>/logs/opf/predict_matpower/{case}.log",
    benchmark:
        "<results>/benchmarks/opf/predict_matpower/{case}.jsonl"
    conda:
        "../../envs/opf.yaml"
    threads: 1
    resources:
        mem_mb=res("model", "mem_mb"),
        runtime=res("model", "runtime"),
    params:
        mode=OPF.get("matpower"),
        solver=OPF.get("solver"),
        code=code_of("headwater.opf.peer", "headwater.opf.octave"),
    message:
        "Solving {wildcards.case} with MATPOWER in GNU Octave"
    script:
        "../scripts/opf/predict_matpower.py"


rule evaluate_cases:
    input:
        solutions=[
            f"<results>/opf/cases/{name}/solutions.json" for name in CHECKED_CASES
        ],
        matpower=[f"<results>/opf/cases/{name}/matpower.json" for name in CHECKED_CASES],
    output:
        checks="<results>/opf/checks.tsv",
        table="<results>/opf/published.tsv",
    log:
        "<results>/logs/opf/evaluate_cases.log",
    benchmark:
        "<results>/benchmarks/opf/evaluate_cases.jsonl"
    conda:
        "../../envs/opf.yaml"
    threads: 1
    resources:
        mem_mb=res("small", "mem_mb"),
        runtime=res("small", "runtime"),
    params:
        published=published_optima,
        code=code_of("headwater.opf.published"),
    message:
        "Holding the optima against the published ones"
    script:
        "../scripts/opf/evaluate_cases.py"


rule prepare_requests:
    input:
        source=set_file,
        cases=base_systems,
    output:
        records="<results>/opf/requests/{requests}/records.jsonl",
        findings="<results>/opf/requests/{requests}/findings.tsv",
    log:
        "<results>/logs/opf/prepare_requests/{requests}.log",
    benchmark:
        "<results>/benchmarks/opf/prepare_requests/{requests}.jsonl"
    conda:
        "../../envs/opf.yaml"
    threads: 1
    resources:
        mem_mb=res("table", "mem_mb"),
        runtime=res("table", "runtime"),
    params:
        imported=lambda wildcards: wildcards.requests in OPF["proopf"],
        code=code_of("headwater.opf.prepare", "headwater.opf.importer"),
    message:
        "Checking the requests {wildcards.requests}"
    script:
        "../scripts/opf/prepare_requests.py"


rule predict_requests:
    input:
        records="<results>/opf/requests/{requests}/records.jsonl",
        cases=base_systems,
    output:
        solutions="<results>/opf/requests/{requests}/solutions.jsonl",
        tables="<results>/opf/requests/{requests}/flows.parquet",
    log:
        "<results>/logs/opf/predict_requests/{requests}.log",
    benchmark:
        "<results>/benchmarks/opf/predict_requests/{requests}.jsonl"
    conda:
        "../../envs/opf.yaml"
    threads: 1
    resources:
        mem_mb=res("model", "mem_mb"),
        runtime=res("model", "runtime"),
    params:
        solver=OPF.get("solver"),
        code=solver_code("headwater.opf.solving"),
    message:
        "Solving the requests {wildcards.requests}"
    script:
        "../scripts/opf/predict_requests.py"


rule predict_references:
    input:
        records="<results>/opf/requests/{requests}/records.jsonl",
        cases=base_systems,
    output:
        executions="<results>/opf/requests/{requests}/references.jsonl",
    log:
        "<results>/logs/opf/predict_references/{requests}.log",
    benchmark:
        "<results>/benchmarks/opf/predict_references/{requests}.jsonl"
    conda:
        "../../envs/opf.yaml"
    threads: 2
    resources:
        mem_mb=res("model", "mem_mb"),
        runtime=res("model", "runtime"),
    params:
        mode=OPF.get("matpower"),
        limits=OPF.get("sandbox"),
        code=code_of("headwater.opf.peer", "headwater.opf.execute"),
    message:
        "Running the reference programs of {wildcards.requests} in MATPOWER"
    script:
        "../scripts/opf/predict_references.py"


rule evaluate_requests:
    input:
        records="<results>/opf/requests/{requests}/records.jsonl",
        solutions="<results>/opf/requests/{requests}/solutions.jsonl",
        references="<results>/opf/requests/{requests}/references.jsonl",
    output:
        scores="<results>/opf/requests/{requests}/solved.tsv",
        table="<results>/opf/requests/{requests}/objectives.tsv",
    log:
        "<results>/logs/opf/evaluate_requests/{requests}.log",
    benchmark:
        "<results>/benchmarks/opf/evaluate_requests/{requests}.jsonl"
    conda:
        "../../envs/opf.yaml"
    threads: 1
    resources:
        mem_mb=res("small", "mem_mb"),
        runtime=res("small", "runtime"),
    params:
        name=lambda wildcards: wildcards.requests,
        code=code_of("headwater.opf.solved"),
    message:
        "Holding the solutions of {wildcards.requests} against their answers"
    script:
        "../scripts/opf/evaluate_requests.py"


rule evaluate_faulty:
    input:
        source=set_file,
        cases=base_systems,
    output:
        scores="<results>/opf/requests/{requests}/refused.tsv",
        table="<results>/opf/requests/{requests}/refusals.tsv",
    log:
        "<results>/logs/opf/evaluate_faulty/{requests}.log",
    benchmark:
        "<results>/benchmarks/opf/evaluate_faulty/{requests}.jsonl"
    conda:
        "../../envs/opf.yaml"
    threads: 1
    resources:
        mem_mb=res("table", "mem_mb"),
        runtime=res("table", "runtime"),
    params:
        name=lambda wildcards: wildcards.requests,
        solver=OPF.get("solver"),
        code=solver_code("headwater.opf.faulty"),
    message:
        "Looking whether the faults of {wildcards.requests} are named"
    script:
        "../scripts/opf/evaluate_faulty.py"


rule prepare_instances:
    input:
        cases=synthesis_cases,
    output:
        instances=ensure(
            "<results>/opf/synthesis/shards/{shard}.jsonl.gz", non_empty=True
        ),
        rejects="<results>/opf/synthesis/shards/{shard}.rejects.csv",
    log:
        "<results>/logs/opf/prepare_instances/{shard}.log",
    benchmark:
        "<results>/benchmarks/opf/prepare_instances/{shard}.jsonl"
    conda:
        "../../envs/opf.yaml"
    threads: 1
    resources:
        mem_mb=res("long", "mem_mb"),
        runtime=res("long", "runtime"),
    params:
        settings=DRAWN,
        shard=lambda wildcards: int(wildcards.shard),
        seed=lambda wildcards: config["seed"],
        work=lambda wildcards: f"results/{config['run']}/opf/work/instances/{wildcards.shard}",
        code=solver_code("headwater.opf.synthesis", "headwater.opf.synth.shard"),
    message:
        "Drawing, solving and wording instances, shard {wildcards.shard}"
    script:
        "../scripts/opf/prepare_instances.py"


rule split_instances:
    input:
        shards=[f"<results>/opf/synthesis/shards/{k}.jsonl.gz" for k in SHARDS],
        rejects=[f"<results>/opf/synthesis/shards/{k}.rejects.csv" for k in SHARDS],
    output:
        **{name: synthesis_part(name) for name in PARTS},
        manifest="<results>/opf/synthesis/manifest.csv",
        rejects="<results>/opf/synthesis/rejects.csv",
        datasheet="<results>/opf/synthesis/datasheet.md",
        summary="<results>/opf/synthesis/summary.json",
    log:
        "<results>/logs/opf/split_instances.log",
    benchmark:
        "<results>/benchmarks/opf/split_instances.jsonl"
    conda:
        "../../envs/opf.yaml"
    threads: 1
    resources:
        mem_mb=res("table", "mem_mb"),
        runtime=res("table", "runtime"),
    params:
        settings=DRAWN,
        seed=lambda wildcards: config["seed"],
        code=code_of("headwater.opf.synthesis", "headwater.opf.synth.datasheet"),
    message:
        "Merging the instances and dealing them into train, dev, test and out-of-distribution"
    script:
        "../scripts/opf/split_instances.py"


rule predict_cross_check:
    input:
        parts=[synthesis_part(name) for name in PARTS],
        cases=synthesis_cases,
    output:
        executions="<results>/opf/synthesis/cross_check.jsonl",
    log:
        "<results>/logs/opf/predict_cross_check.log",
    benchmark:
        "<results>/benchmarks/opf/predict_cross_check.jsonl"
    conda:
        "../../envs/opf.yaml"
    threads: 2
    resources:
        mem_mb=res("long", "mem_mb"),
        runtime=res("long", "runtime"),
    params:
        mode=OPF.get("matpower"),
        settings=OPF.get("synthesis"),
        limits=OPF.get("sandbox"),
        seed=seed_of("predict_cross_check"),
        code=code_of("headwater.opf.peer", "headwater.opf.execute"),
    message:
        "Solving a random share of the instances with MATPOWER"
    script:
        "../scripts/opf/predict_cross_check.py"


rule evaluate_instances:
    input:
        manifest="<results>/opf/synthesis/manifest.csv",
        summary="<results>/opf/synthesis/summary.json",
        executions="<results>/opf/synthesis/cross_check.jsonl",
    output:
        scores="<results>/opf/synthesis/scores.tsv",
        table="<results>/opf/synthesis/cross_check.tsv",
    log:
        "<results>/logs/opf/evaluate_instances.log",
    benchmark:
        "<results>/benchmarks/opf/evaluate_instances.jsonl"
    conda:
        "../../envs/opf.yaml"
    threads: 1
    resources:
        mem_mb=res("small", "mem_mb"),
        runtime=res("small", "runtime"),
    params:
        code=code_of("headwater.opf.synthesis", "headwater.opf.synth.merge"),
    message:
        "Counting what the synthesis made, refused and agreed on"
    script:
        "../scripts/opf/evaluate_instances.py"


rule predict_answers:
    input:
        records=records_of,
        answers=predictions_of,
        cases=base_systems,
    output:
        answers="<results>/opf/benchmark/{requests}/{model}/answers.jsonl",
    log:
        "<results>/logs/opf/predict_answers/{requests}/{model}.log",
    benchmark:
        "<results>/benchmarks/opf/predict_answers/{requests}/{model}.jsonl"
    conda:
        "../../envs/opf.yaml"
    threads: 1
    resources:
        mem_mb=res("table", "mem_mb"),
        runtime=res("table", "runtime"),
    params:
        model=lambda wildcards: MODELS[wildcards.model],
        code=code_of("headwater.opf.benchmark"),
    message:
        "Getting the answers of {wildcards.model} to {wildcards.requests}"
    script:
        "../scripts/opf/predict_answers.py"


rule evaluate_answers:
    input:
        records=records_of,
        answers="<results>/opf/benchmark/{requests}/{model}/answers.jsonl",
        cases=base_systems,
    output:
        executions="<results>/opf/benchmark/{requests}/{model}/executions.jsonl",
    log:
        "<results>/logs/opf/evaluate_answers/{requests}/{model}.log",
    benchmark:
        "<results>/benchmarks/opf/evaluate_answers/{requests}/{model}.jsonl"
    conda:
        "../../envs/opf.yaml"
    threads: 2
    resources:
        mem_mb=res("long", "mem_mb"),
        runtime=res("long", "runtime"),
    params:
        dialect=lambda wildcards: MODELS[wildcards.model]["dialect"],
        limits=OPF.get("sandbox"),
        work=f"results/{config['run']}/opf/work/answers",
        code=solver_code("headwater.opf.execute"),
    message:
        "Running the answers of {wildcards.model} to {wildcards.requests} in the sandbox"
    script:
        "../scripts/opf/evaluate_answers.py"


rule evaluate_scores:
    input:
        records=records_of,
        executions=executions_of,
        cases=base_systems,
    output:
        scores="<results>/opf/benchmark/{requests}/{model}/scores.tsv",
        records="<results>/opf/benchmark/{requests}/{model}/per_record.tsv",
    log:
        "<results>/logs/opf/evaluate_scores/{requests}/{model}.log",
    benchmark:
        "<results>/benchmarks/opf/evaluate_scores/{requests}/{model}.jsonl"
    conda:
        "../../envs/opf.yaml"
    threads: 1
    resources:
        mem_mb=res("table", "mem_mb"),
        runtime=res("table", "runtime"),
    params:
        requests=lambda wildcards: wildcards.requests,
        model=lambda wildcards: MODELS.get(wildcards.model),
        method=method_of,
        code=solver_code("headwater.opf.scoring"),
    message:
        "Scoring {wildcards.model} on {wildcards.requests}"
    script:
        "../scripts/opf/evaluate_scores.py"


rule evaluate_opf:
    input:
        tables=opf_wanted() if OPF else [],
    output:
        metrics="<results>/opf/metrics.tsv",
    log:
        "<results>/logs/opf/evaluate_opf.log",
    benchmark:
        "<results>/benchmarks/opf/evaluate_opf.jsonl"
    conda:
        "../../envs/opf.yaml"
    threads: 1
    resources:
        mem_mb=res("small", "mem_mb"),
        runtime=res("small", "runtime"),
    params:
        code=code_of("headwater.core.metrics"),
    message:
        "Collecting the numbers of opf"
    script:
        "../scripts/opf/evaluate_opf.py"


rule plot_case:
    input:
        case="<results>/opf/cases/{case}/case.m",
        bus="<results>/opf/cases/{case}/flow_bus.parquet",
        gen="<results>/opf/cases/{case}/flow_gen.parquet",
        branch="<results>/opf/cases/{case}/flow_branch.parquet",
    output:
        network=figure("opf", "{case}_network", "cases/{case}", "{case}"),
        prices=figure("opf", "{case}_prices", "cases/{case}", "{case}"),
    log:
        "<results>/logs/opf/plot_case/{case}.log",
    benchmark:
        "<results>/benchmarks/opf/plot_case/{case}.jsonl"
    conda:
        "../../envs/opf.yaml"
    threads: 1
    resources:
        mem_mb=res("table", "mem_mb"),
        runtime=res("table", "runtime"),
    params:
        name=lambda wildcards: CASES[wildcards.case].title,
        code=code_of("headwater.opf.figures"),
    message:
        "Drawing the network {wildcards.case} with its loading and prices"
    script:
        "../scripts/opf/plot_case.py"


rule plot_opf:
    input:
        published="<results>/opf/published.tsv",
        manifest=synthesis_file("manifest.csv"),
        rejects=synthesis_file("rejects.csv"),
        metrics="<results>/opf/metrics.tsv",
        records=scored("per_record.tsv", list(MODELS)),
    output:
        figures=[f for name in opf_figure_names() for f in opf_figure(name)],
    log:
        "<results>/logs/opf/plot_opf.log",
    benchmark:
        "<results>/benchmarks/opf/plot_opf.jsonl"
    conda:
        "../../envs/opf.yaml"
    threads: 1
    resources:
        mem_mb=res("table", "mem_mb"),
        runtime=res("small", "runtime"),
    params:
        names=opf_figure_names(),
        models=[f"{model} on {name}" for name in BENCHMARK for model in MODELS],
        code=code_of(
            "headwater.opf.figures.synthesis",
            "headwater.opf.figures.scores",
            "headwater.opf.figures",
        ),
    message:
        "Drawing the checks, the scores and the synthesis"
    script:
        "../scripts/opf/plot_opf.py"


rule report_opf:
    input:
        metrics="<results>/opf/metrics.tsv",
        provenance="<results>/opf/provenance.json",
        published="<results>/opf/published.tsv",
        cases=[f"<results>/opf/cases/{name}/case.json" for name in CASES],
        objectives=[f"<results>/opf/requests/{s}/objectives.tsv" for s in SOLVED],
        refusals=[f"<results>/opf/requests/{s}/refusals.tsv" for s in FAULTY],
        findings=[f"<results>/opf/requests/{s}/findings.tsv" for s in FINDINGS],
        summary=synthesis_file("summary.json"),
        cross_check=synthesis_file("cross_check.tsv"),
        figures=[f for name in opf_figure_names() for f in opf_figure(name)],
        diagrams=[f for name in DIAGRAMS for f in case_figures(name)],
    output:
        page=report(
            "<results>/opf/report/index.html",
            category="Report",
            labels={"page": "opf"},
        ),
        head="<results>/opf/report/head.json",
    log:
        "<results>/logs/opf/report_opf.log",
    benchmark:
        "<results>/benchmarks/opf/report_opf.jsonl"
    conda:
        "../../envs/opf.yaml"
    threads: 1
    resources:
        mem_mb=res("table", "mem_mb"),
        runtime=res("small", "runtime"),
    params:
        figures=opf_figure_names(),
        diagrams=DIAGRAMS,
        sets={"objectives": SOLVED, "refusals": FAULTY, "findings": FINDINGS},
        stand_ins=stand_ins(),
        synthesis=SYNTHESIS if MADE else {},
        code=code_of("headwater.opf.report"),
    message:
        "Writing the page of opf"
    script:
        "../scripts/opf/report_opf.py"
