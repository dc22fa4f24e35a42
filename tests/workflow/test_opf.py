"""The opf pipeline on two small networks, from table to page, and what a user gets wrong."""

import json
from pathlib import Path

import pandas as pd
import pytest

from headwater.core.io import read_lines

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "config/test/opf.yaml"

pytestmark = pytest.mark.workflow


@pytest.fixture(scope="module")
def finished(snakemake, tmp_path_factory):
    """Return the folder of a finished run."""
    folder = tmp_path_factory.mktemp("opf run")
    snakemake("opf", "--cores", "2", "--configfile", CONFIG, directory=folder)
    return folder


def test_a_run_ends_in_a_page_and_numbers(finished):
    results = finished / "results/test/opf"
    page = (results / "report/index.html").read_text()
    assert "Embedded data" in page
    assert "No language model was asked" in page
    assert page.count("<svg") >= 7
    metrics = pd.read_csv(results / "metrics.tsv", sep="\t", keep_default_na=False)
    # MATPOWER 8.1: case9 5296.69 $/h (AC), 5216.03 $/h (DC)
    case9 = metrics[metrics["dataset"] == "case9"].set_index("setting")["value"].astype(float)
    assert case9["model=AC"] == pytest.approx(5296.6865, rel=1e-6)
    assert case9["model=DC_matpower"] == pytest.approx(5216.0266, rel=1e-6)
    methods = set(metrics[metrics["metric"] == "strict_accuracy"]["method"])
    assert methods >= {"baseline:parser", "baseline:null_unmodified_network"}
    assert json.loads((results / "provenance.json").read_text())["domain"] == "opf"


def test_instances_say_the_same_in_text_patch_and_programs(finished):
    folder = finished / "results/test/opf/synthesis"
    parts = [read_lines(p) for p in sorted(folder.glob("*.jsonl.gz"))]
    records = [r for part in parts for r in part]
    assert len(records) >= 20
    assert len({r["id"] for r in records}) == len(records)
    checked = pd.read_csv(folder / "cross_check.tsv", sep="\t")
    if len(checked):  # GNU Octave is there
        assert checked["agrees"].all()


def test_a_second_run_has_nothing_to_do(finished, snakemake):
    job = snakemake("opf", "-n", "--configfile", CONFIG, directory=finished)
    assert "Nothing to be done" in job.stdout + job.stderr


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("opf: {cases: [case_9]}", "opf.cases: found 'case_9'"),
        ("opf: {cases: [case9], benchmark: {sets: [mine]}}", "'mine' is no set of requests"),
        (
            "opf: {cases: [case9], requests: {a: x.jsonl}, benchmark: {sets: [a],"
            " models: {m: {source: predictions}}}}",
            "source predictions needs the key 'predictions'",
        ),
        ("opf: {cases: [case9], requests: {a: x.jsonl}}", "x.jsonl: found neither a local file"),
        ("opf: {cases: [case9], matpower: sometimes}", "matpower: 'sometimes' is none of"),
        (
            "opf: {cases: [case9], benchmark: {models: {'null': {source: parser}}}}",
            "opf.benchmark.models",
        ),
        (
            "opf: {cases: [case9], benchmark: {models: {null: {source: parser}}}}",  # no text
            "opf.benchmark.models",
        ),
        ("opf: {cases: [case9], requests: {s: a.jsonl}, faulty: {s: b.jsonl}}", "name is taken"),
    ],
)
def test_faults_of_the_configuration_end_planning_with_one_line(snakemake, tmp_path, change, words):
    config = tmp_path / "mine.yaml"
    config.write_text(f"run: mine\n{change}\n")
    job = snakemake("opf", "-n", "--configfile", config, directory=tmp_path, check=False)
    assert job.returncode
    text = job.stdout + job.stderr
    assert words in text
    assert "Traceback" not in text
