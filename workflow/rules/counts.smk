"""Counts: temporal count data -> Poisson log-normal ICA -> forecasts, scores, report.

Rules stand in the order in which data flows; docs/counts.md describes every file.
"""


include: "counts_inputs.smk"


rule prepare_simulation:
    output:
        cube=ensure("<results>/counts/{dataset}/simulation.nc", non_empty=True),
    log:
        "<results>/logs/counts/prepare_simulation/{dataset}.log",
    benchmark:
        "<results>/benchmarks/counts/prepare_simulation/{dataset}.jsonl"
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("small", "mem_mb"),
        runtime=res("small", "runtime"),
    params:
        scenario=counts_setting("simulation"),
        seed=seed_of("prepare_simulation"),
        code=code_of("headwater.counts.simulate"),
    message:
        "Simulating {wildcards.dataset}"
    script:
        "../scripts/counts/prepare_simulation.py"


rule prepare_weather:
    output:
        daily=ensure("<results>/counts/{dataset}/weather.nc", non_empty=True),
    log:
        "<results>/logs/counts/prepare_weather/{dataset}.log",
    benchmark:
        "<results>/benchmarks/counts/prepare_weather/{dataset}.jsonl"
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("small", "mem_mb"),
        runtime=res("small", "runtime"),
    params:
        code=code_of("headwater.counts.weather"),
    message:
        "Reading the daily weather that comes with the installation"
    script:
        "../scripts/counts/prepare_weather.py"


rule prepare_events:
    input:
        daily=daily_source,
    output:
        events=ensure("<results>/counts/{dataset}/events.nc", non_empty=True),
    log:
        "<results>/logs/counts/prepare_events/{dataset}.log",
    benchmark:
        "<results>/benchmarks/counts/prepare_events/{dataset}.jsonl"
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("table", "mem_mb"),
        runtime=res("table", "runtime"),
    params:
        prepare=counts_setting("prepare"),
        events=counts_setting("events"),
        code=code_of("headwater.counts.climate"),
    message:
        "Counting event days of {wildcards.dataset}"
    script:
        "../scripts/counts/prepare_events.py"


rule prepare_samples:
    input:
        counts=counts_files("files"),
        metadata=counts_files("metadata"),
        taxonomy=counts_files("taxonomy"),
    output:
        samples=ensure("<results>/counts/{dataset}/samples.nc", non_empty=True),
    log:
        "<results>/logs/counts/prepare_samples/{dataset}.log",
    benchmark:
        "<results>/benchmarks/counts/prepare_samples/{dataset}.jsonl"
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("table", "mem_mb"),
        runtime=res("table", "runtime"),
    params:
        prepare=counts_setting("prepare"),
        code=code_of("headwater.counts.tables"),
    message:
        "Reading the count table of {wildcards.dataset}"
    script:
        "../scripts/counts/prepare_samples.py"


rule prepare_cube:
    input:
        source=cube_source,
    output:
        cube=ensure("<results>/counts/{dataset}/cube.nc", non_empty=True),
        filter="<results>/counts/{dataset}/filter.tsv",
        check="<results>/counts/{dataset}/check.json",
    log:
        "<results>/logs/counts/prepare_cube/{dataset}.log",
    benchmark:
        "<results>/benchmarks/counts/prepare_cube/{dataset}.jsonl"
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("table", "mem_mb"),
        runtime=res("table", "runtime"),
    params:
        prepare=counts_setting("prepare"),
        title=lambda wildcards: COUNT_SETS[wildcards.dataset].title,
        code=code_of("headwater.counts.cube"),
    message:
        "Filtering {wildcards.dataset} and laying it out as series x steps x features"
    script:
        "../scripts/counts/prepare_cube.py"


rule split_series:
    input:
        cube="<results>/counts/{dataset}/cube.nc",
    output:
        folds="<results>/counts/{dataset}/folds.json",
    log:
        "<results>/logs/counts/split_series/{dataset}.log",
    benchmark:
        "<results>/benchmarks/counts/split_series/{dataset}.jsonl"
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("small", "mem_mb"),
        runtime=res("small", "runtime"),
    params:
        folds=counts_setting("split", "folds"),
        seed=seed_of("split_series"),
        code=code_of("headwater.counts.split"),
    message:
        "Dealing the series of {wildcards.dataset} into folds"
    script:
        "../scripts/counts/split_series.py"


rule fit_grid:
    input:
        cube="<results>/counts/{dataset}/cube.nc",
        folds="<results>/counts/{dataset}/folds.json",
    output:
        models="<results>/counts/{dataset}/grid/d{d}_C{C}/batch{batch}.pt",
    log:
        "<results>/logs/counts/fit_grid/{dataset}/d{d}_C{C}/batch{batch}.log",
    benchmark:
        "<results>/benchmarks/counts/fit_grid/{dataset}/d{d}_C{C}/batch{batch}.jsonl"
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("model", "mem_mb"),
        runtime=batch_minutes,
    params:
        options=grid_options,
        fits=batch_fits,
        work=batch_work,
        code=code_of("headwater.counts.batch"),
    message:
        "Fitting {wildcards.dataset} with d={wildcards.d}, C={wildcards.C} outside folds, batch {wildcards.batch}"
    script:
        "../scripts/counts/fit_grid.py"


rule evaluate_selection:
    input:
        cube="<results>/counts/{dataset}/cube.nc",
        folds="<results>/counts/{dataset}/folds.json",
        models=grid_batches,
    output:
        table="<results>/counts/{dataset}/select.tsv",
        scores="<results>/counts/{dataset}/held_out.tsv",
        selected="<results>/counts/{dataset}/selected.yaml",
    log:
        "<results>/logs/counts/evaluate_selection/{dataset}.log",
    benchmark:
        "<results>/benchmarks/counts/evaluate_selection/{dataset}.jsonl"
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("model", "mem_mb"),
        runtime=res("model", "runtime"),
    params:
        dataset=lambda wildcards: wildcards.dataset,
        grid=lambda wildcards: grid_of(wildcards.dataset),
        code=code_of("headwater.counts.select", "headwater.counts.posterior"),
    message:
        "Choosing d and C for {wildcards.dataset} by the bound of held-out series"
    script:
        "../scripts/counts/evaluate_selection.py"


rule fit_plnica:
    input:
        cube="<results>/counts/{dataset}/cube.nc",
        selected="<results>/counts/{dataset}/selected.yaml",
    output:
        model="<results>/counts/{dataset}/model/seed{seed}/params.pt",
        posterior="<results>/counts/{dataset}/model/seed{seed}/posterior.nc",
        trace="<results>/counts/{dataset}/model/seed{seed}/trace.csv",
        info="<results>/counts/{dataset}/model/seed{seed}/fit.json",
    log:
        "<results>/logs/counts/fit_plnica/{dataset}/seed{seed}.log",
    benchmark:
        "<results>/benchmarks/counts/fit_plnica/{dataset}/seed{seed}.jsonl"
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("model", "mem_mb"),
        runtime=res("model", "runtime"),
    params:
        options=fit_options("fit_plnica", mode="smooth"),
        code=code_of("headwater.counts.fit"),
    message:
        "Fitting Poisson log-normal ICA to {wildcards.dataset}, start {wildcards.seed}"
    script:
        "../scripts/counts/fit_plnica.py"


rule fit_forecaster:
    input:
        cube="<results>/counts/{dataset}/cube.nc",
        folds="<results>/counts/{dataset}/folds.json",
    output:
        model="<results>/counts/{dataset}/forecasters/d{d}_C{C}/{fold}.pt",
    log:
        "<results>/logs/counts/fit_forecaster/{dataset}/d{d}_C{C}/{fold}.log",
    benchmark:
        "<results>/benchmarks/counts/fit_forecaster/{dataset}/d{d}_C{C}/{fold}.jsonl"
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("model", "mem_mb"),
        runtime=res("model", "runtime"),
    params:
        options=fit_options("fit_forecaster", mode="predictive"),
        code=code_of("headwater.counts.fit"),
    message:
        "Fitting a forecaster of {wildcards.dataset}, d={wildcards.d}, C={wildcards.C}, without {wildcards.fold}"
    script:
        "../scripts/counts/fit_forecaster.py"


rule fit_decompositions:
    input:
        cube="<results>/counts/{dataset}/cube.nc",
        selected="<results>/counts/{dataset}/selected.yaml",
    output:
        [f"<results>/counts/{{dataset}}/decompositions/{m}.nc" for m in DECOMPOSITIONS],
    log:
        "<results>/logs/counts/fit_decompositions/{dataset}.log",
    benchmark:
        "<results>/benchmarks/counts/fit_decompositions/{dataset}.jsonl"
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("model", "mem_mb"),
        runtime=res("model", "runtime"),
    params:
        methods=DECOMPOSITIONS,
        seed=seed_of("fit_decompositions"),
        code=code_of("headwater.counts.baselines"),
    message:
        "Decomposing {wildcards.dataset} by the baselines"
    script:
        "../scripts/counts/fit_decompositions.py"


rule predict_forecasts:
    input:
        cube="<results>/counts/{dataset}/cube.nc",
        folds="<results>/counts/{dataset}/folds.json",
        model="<results>/counts/{dataset}/forecasters/d{d}_C{C}/{fold}.pt",
    output:
        forecasts="<results>/counts/{dataset}/forecasts/plnica_d{d}_C{C}/{fold}.nc",
    log:
        "<results>/logs/counts/predict_forecasts/{dataset}/d{d}_C{C}/{fold}.log",
    benchmark:
        "<results>/benchmarks/counts/predict_forecasts/{dataset}/d{d}_C{C}/{fold}.jsonl"
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("model", "mem_mb"),
        runtime=res("model", "runtime"),
    params:
        forecast=counts_setting("forecast"),
        fold=lambda wildcards: wildcards.fold,
        seed=seed_of("predict_forecasts"),
        code=code_of("headwater.counts.forecast"),
    message:
        "Forecasting {wildcards.fold} of {wildcards.dataset} with d={wildcards.d}, C={wildcards.C}"
    script:
        "../scripts/counts/predict_forecasts.py"


rule predict_baselines:
    input:
        cube="<results>/counts/{dataset}/cube.nc",
        folds="<results>/counts/{dataset}/folds.json",
    output:
        [f"<results>/counts/{{dataset}}/forecasts/{m}/{{fold}}.nc" for m in FORECASTERS],
    log:
        "<results>/logs/counts/predict_baselines/{dataset}/{fold}.log",
    benchmark:
        "<results>/benchmarks/counts/predict_baselines/{dataset}/{fold}.jsonl"
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("model", "mem_mb"),
        runtime=res("model", "runtime"),
    params:
        methods=FORECASTERS,
        forecast=counts_setting("forecast"),
        fold=lambda wildcards: wildcards.fold,
        seed=seed_of("predict_baselines"),
        code=code_of("headwater.counts.baselines"),
    message:
        "Forecasting {wildcards.fold} of {wildcards.dataset} by the baselines"
    script:
        "../scripts/counts/predict_baselines.py"


rule predict_perturbation:
    input:
        cube="<results>/counts/{dataset}/cube.nc",
        model="<results>/counts/{dataset}/chosen/params.pt",
    output:
        response="<results>/counts/{dataset}/perturbation.nc",
    log:
        "<results>/logs/counts/predict_perturbation/{dataset}.log",
    benchmark:
        "<results>/benchmarks/counts/predict_perturbation/{dataset}.jsonl"
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("model", "mem_mb"),
        runtime=res("model", "runtime"),
    params:
        perturb=counts_setting("perturb"),
        seed=seed_of("predict_perturbation"),
        code=code_of("headwater.counts.perturb"),
    message:
        "Asking the model of {wildcards.dataset} what an intervention would do"
    script:
        "../scripts/counts/predict_perturbation.py"


rule evaluate_stability:
    input:
        models=restarts("params.pt"),
        posteriors=restarts("posterior.nc"),
        traces=restarts("trace.csv"),
        infos=restarts("fit.json"),
    output:
        table="<results>/counts/{dataset}/stability.tsv",
        scores="<results>/counts/{dataset}/stability_scores.tsv",
        model="<results>/counts/{dataset}/chosen/params.pt",
        posterior="<results>/counts/{dataset}/chosen/posterior.nc",
        trace="<results>/counts/{dataset}/chosen/trace.csv",
        info="<results>/counts/{dataset}/chosen/fit.json",
    log:
        "<results>/logs/counts/evaluate_stability/{dataset}.log",
    benchmark:
        "<results>/benchmarks/counts/evaluate_stability/{dataset}.jsonl"
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("table", "mem_mb"),
        runtime=res("small", "runtime"),
    params:
        dataset=lambda wildcards: wildcards.dataset,
        code=code_of("headwater.counts.stability"),
    message:
        "Comparing the fits of {wildcards.dataset} and choosing the most central one"
    script:
        "../scripts/counts/evaluate_stability.py"


rule evaluate_draws:
    input:
        cube="<results>/counts/{dataset}/cube.nc",
        model="<results>/counts/{dataset}/chosen/params.pt",
    output:
        scores="<results>/counts/{dataset}/draws.tsv",
    log:
        "<results>/logs/counts/evaluate_draws/{dataset}.log",
    benchmark:
        "<results>/benchmarks/counts/evaluate_draws/{dataset}.jsonl"
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("table", "mem_mb"),
        runtime=res("table", "runtime"),
    params:
        dataset=lambda wildcards: wildcards.dataset,
        seed=seed_of("evaluate_draws"),
        code=code_of("headwater.counts.draws"),
    message:
        "Comparing counts drawn from the model of {wildcards.dataset} with the data"
    script:
        "../scripts/counts/evaluate_draws.py"


rule evaluate_recovery:
    input:
        cube="<results>/counts/{dataset}/cube.nc",
        posterior="<results>/counts/{dataset}/chosen/posterior.nc",
        decompositions=[
            f"<results>/counts/{{dataset}}/decompositions/{m}.nc"
            for m in DECOMPOSITIONS
        ],
    output:
        scores="<results>/counts/{dataset}/recovery.tsv",
    log:
        "<results>/logs/counts/evaluate_recovery/{dataset}.log",
    benchmark:
        "<results>/benchmarks/counts/evaluate_recovery/{dataset}.jsonl"
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("table", "mem_mb"),
        runtime=res("table", "runtime"),
    params:
        dataset=lambda wildcards: wildcards.dataset,
        methods=DECOMPOSITIONS,
        seed=seed_of("evaluate_recovery"),
        code=code_of("headwater.counts.scores"),
    message:
        "Comparing what was found in {wildcards.dataset} with the truth"
    script:
        "../scripts/counts/evaluate_recovery.py"


rule evaluate_forecasts:
    input:
        cube="<results>/counts/{dataset}/cube.nc",
        folds="<results>/counts/{dataset}/folds.json",
        forecasts=forecast_files,
    output:
        scores="<results>/counts/{dataset}/forecasts.tsv",
        detail="<results>/counts/{dataset}/forecast_detail.tsv",
        tests="<results>/counts/{dataset}/forecast_tests.tsv",
        pit="<results>/counts/{dataset}/pit.tsv",
    log:
        "<results>/logs/counts/evaluate_forecasts/{dataset}.log",
    benchmark:
        "<results>/benchmarks/counts/evaluate_forecasts/{dataset}.jsonl"
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("table", "mem_mb"),
        runtime=res("table", "runtime"),
    params:
        dataset=lambda wildcards: wildcards.dataset,
        model=lambda wildcards: f"plnica_{forecast_models(wildcards.dataset)[0]}",
        seed=seed_of("evaluate_forecasts"),
        code=code_of("headwater.counts.scores", "headwater.counts.paired"),
    message:
        "Scoring the forecasts of {wildcards.dataset} on held-out series"
    script:
        "../scripts/counts/evaluate_forecasts.py"


rule evaluate_counts:
    input:
        scores=[
            f"<results>/counts/{name}/{part}.tsv"
            for name in REPORT_SETS
            for part in score_parts(name)
        ],
    output:
        metrics="<results>/counts/metrics.tsv",
    log:
        "<results>/logs/counts/evaluate_counts.log",
    benchmark:
        "<results>/benchmarks/counts/evaluate_counts.jsonl"
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("small", "mem_mb"),
        runtime=res("small", "runtime"),
    params:
        code=code_of("headwater.core.metrics"),
    message:
        "Collecting all scores"
    script:
        "../scripts/counts/evaluate_counts.py"


rule plot_data:
    input:
        cube="<results>/counts/{dataset}/cube.nc",
    output:
        observed=figure("counts", "observed"),
    log:
        "<results>/logs/counts/plot_data/{dataset}.log",
    benchmark:
        "<results>/benchmarks/counts/plot_data/{dataset}.jsonl"
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("table", "mem_mb"),
        runtime=res("small", "runtime"),
    params:
        code=code_of("headwater.counts.figures"),
    message:
        "Drawing the counts of {wildcards.dataset}"
    script:
        "../scripts/counts/plot_data.py"


rule plot_fit:
    input:
        trace="<results>/counts/{dataset}/chosen/trace.csv",
    output:
        bound=figure("counts", "bound"),
    log:
        "<results>/logs/counts/plot_fit/{dataset}.log",
    benchmark:
        "<results>/benchmarks/counts/plot_fit/{dataset}.jsonl"
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("table", "mem_mb"),
        runtime=res("small", "runtime"),
    params:
        code=code_of("headwater.counts.figures"),
    message:
        "Drawing the training of {wildcards.dataset}"
    script:
        "../scripts/counts/plot_fit.py"


rule plot_selection:
    input:
        table="<results>/counts/{dataset}/select.tsv",
        selected="<results>/counts/{dataset}/selected.yaml",
    output:
        selection=figure("counts", "selection"),
    log:
        "<results>/logs/counts/plot_selection/{dataset}.log",
    benchmark:
        "<results>/benchmarks/counts/plot_selection/{dataset}.jsonl"
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("table", "mem_mb"),
        runtime=res("small", "runtime"),
    params:
        code=code_of("headwater.counts.figures"),
    message:
        "Drawing the choice of d and C for {wildcards.dataset}"
    script:
        "../scripts/counts/plot_selection.py"


rule plot_stability:
    input:
        table="<results>/counts/{dataset}/stability.tsv",
    output:
        stability=figure("counts", "stability"),
    log:
        "<results>/logs/counts/plot_stability/{dataset}.log",
    benchmark:
        "<results>/benchmarks/counts/plot_stability/{dataset}.jsonl"
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("table", "mem_mb"),
        runtime=res("small", "runtime"),
    params:
        code=code_of("headwater.counts.figures"),
    message:
        "Drawing the agreement of the fits of {wildcards.dataset}"
    script:
        "../scripts/counts/plot_stability.py"


rule plot_components:
    input:
        cube="<results>/counts/{dataset}/cube.nc",
        posterior="<results>/counts/{dataset}/chosen/posterior.nc",
        posteriors=restarts("posterior.nc"),
        stability="<results>/counts/{dataset}/stability.tsv",
    output:
        mixing=figure("counts", "mixing"),
        sources=figure("counts", "sources"),
        regimes=figure("counts", "regimes"),
        fitted=figure("counts", "fitted"),
    log:
        "<results>/logs/counts/plot_components/{dataset}.log",
    benchmark:
        "<results>/benchmarks/counts/plot_components/{dataset}.jsonl"
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("table", "mem_mb"),
        runtime=res("small", "runtime"),
    params:
        marks=counts_setting("marks"),
        code=code_of("headwater.counts.figures"),
    message:
        "Drawing the components of {wildcards.dataset}"
    script:
        "../scripts/counts/plot_components.py"


rule plot_recovery:
    input:
        scores="<results>/counts/{dataset}/recovery.tsv",
    output:
        recovery=figure("counts", "recovery"),
    log:
        "<results>/logs/counts/plot_recovery/{dataset}.log",
    benchmark:
        "<results>/benchmarks/counts/plot_recovery/{dataset}.jsonl"
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("table", "mem_mb"),
        runtime=res("small", "runtime"),
    params:
        dataset=lambda wildcards: wildcards.dataset,
        code=code_of("headwater.counts.figures"),
    message:
        "Drawing what was found in {wildcards.dataset} beside the truth"
    script:
        "../scripts/counts/plot_recovery.py"


rule plot_forecasts:
    input:
        cube="<results>/counts/{dataset}/cube.nc",
        scores="<results>/counts/{dataset}/forecasts.tsv",
        pit="<results>/counts/{dataset}/pit.tsv",
        forecasts=first_fold_forecasts,
    output:
        scores=figure("counts", "scores"),
        forecasts=figure("counts", "forecasts"),
        pit=figure("counts", "pit"),
    log:
        "<results>/logs/counts/plot_forecasts/{dataset}.log",
    benchmark:
        "<results>/benchmarks/counts/plot_forecasts/{dataset}.jsonl"
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("table", "mem_mb"),
        runtime=res("small", "runtime"),
    params:
        dataset=lambda wildcards: wildcards.dataset,
        code=code_of("headwater.counts.figures"),
    message:
        "Drawing the forecasts of {wildcards.dataset}"
    script:
        "../scripts/counts/plot_forecasts.py"


rule plot_perturbation:
    input:
        cube="<results>/counts/{dataset}/cube.nc",
        response="<results>/counts/{dataset}/perturbation.nc",
    output:
        perturbation=figure("counts", "perturbation"),
    log:
        "<results>/logs/counts/plot_perturbation/{dataset}.log",
    benchmark:
        "<results>/benchmarks/counts/plot_perturbation/{dataset}.jsonl"
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("table", "mem_mb"),
        runtime=res("small", "runtime"),
    params:
        code=code_of("headwater.counts.figures"),
    message:
        "Drawing the answer of {wildcards.dataset} to an intervention"
    script:
        "../scripts/counts/plot_perturbation.py"


rule report_counts:
    input:
        metrics="<results>/counts/metrics.tsv",
        provenance="<results>/counts/provenance.json",
        figures=[f for name in REPORT_SETS for f in counts_figures(name)],
        cubes=[f"<results>/counts/{name}/cube.nc" for name in REPORT_SETS],
        checks=[f"<results>/counts/{name}/check.json" for name in REPORT_SETS],
        selected=[f"<results>/counts/{name}/selected.yaml" for name in REPORT_SETS],
        fits=[f"<results>/counts/{name}/chosen/fit.json" for name in REPORT_SETS],
        folds=[f"<results>/counts/{name}/folds.json" for name in REPORT_SETS],
        tests=[f"<results>/counts/{name}/forecast_tests.tsv" for name in REPORT_SETS],
    output:
        page=report(
            "<results>/counts/report/index.html",
            category="Report",
            labels={"page": "counts"},
        ),
        head="<results>/counts/report/head.json",
    log:
        "<results>/logs/counts/report_counts.log",
    benchmark:
        "<results>/benchmarks/counts/report_counts.jsonl"
    conda:
        "../../envs/counts.yaml"
    threads: 1
    resources:
        mem_mb=res("table", "mem_mb"),
        runtime=res("small", "runtime"),
    params:
        datasets=[
            {
                "name": name,
                "title": entry.title,
                "kind": {"simulation": "simulated", "weather": "embedded"}.get(
                    entry.reader, "simulated" if has_truth(name) else "real"
                ),
                "figures": counts_figure_names(name),
            }
            for name, entry in REPORT_SETS.items()
        ],
        code=code_of("headwater.counts.report"),
    message:
        "Writing the page of counts"
    script:
        "../scripts/counts/report_counts.py"
