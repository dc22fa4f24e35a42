"""Helpers that the rule files share (configuration, files, resources, seeds, code)."""

import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

from headwater.core import code
from headwater.core.config import (
    from_command_line,
    load_schema,
    merged,
    problems,
    repeated_keys,
    with_defaults,
)
from headwater.core.errors import InputError
from headwater.core.retrieve import read_datasets
from headwater.core.seeds import job_seed

ROOT = Path(workflow.basedir)


def stop(text):
    """End planning with these lines and no more; an exception would add where it was raised."""
    logger.error(f"Error: {text}")
    sys.exit(1)


if not os.access(".", os.W_OK):
    stop(
        f"the working folder {os.getcwd()} cannot be written; "
        "name another one with --directory FOLDER"
    )
# Scripts that run in a conda environment find the library here.
os.environ.update(
    PYTHONPATH=os.pathsep.join(
        dict.fromkeys(
            [str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
        )
    )
)
SCHEMA = load_schema(ROOT / "workflow/schemas/config.schema.yaml")

# Requests of one attempt: mem_mb in MB, runtime in minutes; both grow with `attempt`.
RESOURCES = {
    "small": {"mem_mb": 1000, "runtime": 10},
    "table": {"mem_mb": 4000, "runtime": 20},
    "model": {"mem_mb": 4000, "runtime": 60},
    "long": {"mem_mb": 8000, "runtime": 240},
}


def checked_config(found):
    """Return the configuration with defaults filled in, or stop with one line per problem."""
    typed = from_command_line(dict(workflow.config_settings.config), SCHEMA)
    found = merged(found, typed)
    names = [str(f) for f in (*workflow.configfiles, *workflow.overwrite_configfiles)]
    files = [(os.path.relpath(n), load_yaml(n)) for n in dict.fromkeys(names)]
    lines = [
        f"{line} ({os.path.relpath(n)})"
        for n in dict.fromkeys(names)
        for line in repeated_keys(Path(n).read_text(encoding="utf-8"))
    ]
    lines += problems(found, SCHEMA, files)
    if lines:
        stop("\n".join(lines))
    return with_defaults(found, SCHEMA)


def checked_mirror(folder):
    """Stop if the mirror is no folder: a wrong name would send every file to the network."""
    if folder and workflow.is_main_process and not Path(folder).is_dir():
        stop(
            f"mirror: found no folder {folder}; expected one laid out as <domain>/...; "
            "correct the key mirror of the configuration or HEADWATER_MIRROR"
        )


def located(path):
    """Return a path of a table or configuration: as it stands, else beside the Snakefile."""
    return str(path) if Path(path).exists() else str(ROOT / path)


def data_file(name):
    """Return where a file of a table is read from: as it stands, or a download by this name."""
    if Path(name).exists():
        return name
    if name in FILES:
        return f"{DOWNLOADS}/{name}"
    stop(
        f"{name}: found neither a local file nor a row in config/datasets.tsv; "
        "expected one of them. Correct the path or add the row."
    )


def figure(domain, name, folder="{dataset}", part="{dataset}"):
    """Return the four files of a figure: twice the picture, its numbers, its words."""
    base = f"<results>/{domain}/{folder}/figures/{name}"
    shown = report(
        f"{base}.svg",
        category="Figures",
        subcategory=part,
        labels={"domain": domain, "figure": name},
    )
    return [shown, f"{base}.png", f"{base}.tsv", f"{base}.json"]


def domain_data(wildcards):
    """Return the files that a domain reads from outside."""
    return [data_file(f) for f in DOMAIN_FILES[wildcards.domain]]


def domain_rows(wildcards):
    """Return path -> row of config/datasets.tsv of the files that a domain reads."""
    return {data_file(f): FILES.get(f, {}) for f in DOMAIN_FILES[wildcards.domain]}


def rule_threads(wildcards):
    """Return rule -> threads, of all rules whose threads are a number."""
    found = {rule.name: rule.resources.get("_cores") for rule in workflow.rules}
    return {k: v for k, v in sorted(found.items()) if isinstance(v, int)}


def as_list(value):
    """Return a list as it is and anything else as a list of one."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


def load_yaml(path):
    import yaml

    return yaml.safe_load(Path(path).read_text()) or {}


def stop_on_input_error(function, *arguments):
    """Call `function`; a fault in what the user gave ends planning with its one line."""
    try:
        return function(*arguments)
    except InputError as error:
        stop(error.line())


def res(size, name):
    """Return a resource function: the request of this size class times the attempt."""
    base = RESOURCES[size][name]
    return lambda wildcards, attempt: base * attempt


def seed_of(rule):
    """Return a params function: this job's own seed."""
    return lambda wildcards: job_seed(config["seed"], rule, wildcards)


def code_of(*modules):
    """Return a digest of the modules: a params entry that changes when their code does."""
    return code.code_of(*modules, root=ROOT / "src")


# config/config.yaml is the demo; a run with files of its own does not start from it.
if not workflow.overwrite_configfiles:

    configfile: located("config/config.yaml")


config = checked_config(config)
# A domain is a block of the configuration; its rules stand in rules/<domain>.smk.
DOMAINS = [
    name for name in ("counts", "opf", "spatial", "genomics", "eeg") if name in config
]
if config["mirror"]:
    os.environ.setdefault("HEADWATER_MIRROR", config["mirror"])
if config["offline"]:
    os.environ.update(HEADWATER_OFFLINE="1")
checked_mirror(os.environ.get("HEADWATER_MIRROR"))
if not DOMAINS:
    stop("config: no domain: expected a block of one, such as counts")
FILES = {
    row["file"]: row
    for row in stop_on_input_error(read_datasets, located("config/datasets.tsv"))
}
DOWNLOADS = "resources/downloads"
# What was named on the command line, as the command that rebuilds a result needs it.
CONFIG_FILES = [
    word
    for name in workflow.overwrite_configfiles
    for word in ("--configfile", os.path.relpath(name, ROOT))
]
DOMAIN_FILES = {}  # by domain: what it reads from outside, as named in its tables


wildcard_constraints:
    dataset=r"[A-Za-z0-9_]+",
    d=r"\d+",
    C=r"\d+",
    fold=r"fold\d+",
    seed=r"\d+",
    file=r"[^/].*",
    family="ar|mf",
    paper="recovery|mice",
    case=r"[A-Za-z0-9_]+",
    requests=r"[a-z][a-z0-9_]*",
    model=r"[a-z][a-z0-9_]*",
    shard=r"\d{4}",
