"""A fault of a configuration stops before any job, with lines that say what to write."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.workflow

CASES = {
    "unknown key": (
        {"counts": {"dataset": ["tiny"]}},
        "config: counts.dataset: unknown key; did you mean 'datasets'? (mine.yaml)",
    ),
    "out of range": (
        {"counts": {"datasets": ["tiny"], "split": {"folds": 1}}},
        "config: counts.split.folds: 1 is less than the minimum of 2",
    ),
    "wrong type": (
        {"counts": {"datasets": "tiny"}},
        "config: counts.datasets: 'tiny' is not a list",
    ),
    "unknown data set": (
        {"counts": {"datasets": ["tinny"]}},
        "config: counts.datasets: found 'tinny'",
    ),
    "no such table": (
        {"counts": {"datasets": ["tiny"], "tables": ["nowhere.tsv"]}},
        "nowhere.tsv: found no such file",
    ),
    "settings of an unknown data set": (
        {"counts": {"datasets": ["tiny"], "per_dataset": {"tinny": {"seeds": 1}}}},
        "config: counts.per_dataset: found 'tinny'",
    ),
    "wrong settings of one data set": (
        {"counts": {"datasets": ["tiny"], "per_dataset": {"tiny": {"seed": 1}}}},
        "config: counts.per_dataset.tiny: found seed: unknown key; did you mean 'seeds'?",
    ),
    "settings of the run in one data set": (
        {"counts": {"datasets": ["tiny"], "per_dataset": {"tiny": {"tables": ["a"]}}}},
        "config: counts.per_dataset.tiny.tables: found a key of the whole run",
    ),
    "no data set named": ({"counts": {}}, "config: counts: missing 'datasets'; add it"),
    "an empty block": ({"counts": None}, "config: counts: None is not a block of keys"),
    "no domain": ({}, "config: no domain: expected a block of one"),
    "a mirror that is not there": (
        {"mirror": "/no/such/folder", "counts": {"datasets": ["tiny"]}},
        "mirror: found no folder /no/such/folder",
    ),
    "a list of text for numbers": (
        {"counts": {"datasets": ["tiny"], "per_dataset": {"tiny": {"select": {"d": ["2"]}}}}},
        "found select.d: ['2'] is not a whole number of at least 1 or a list (each whole number"
        " of at least 1) without repeats",
    ),
    "a warm-up without an end": (
        {"counts": {"datasets": ["tiny"], "model": {"epochs": 10, "warmup": 20}}},
        "counts.model.warmup: found 20; expected fewer than the 10 epochs",
    ),
    "bad run name": ({"run": "a/b"}, "config: run: 'a/b' does not match"),
}


@pytest.mark.parametrize("name", CASES)
def test_one_clear_line(name, snakemake, tmp_path, monkeypatch):
    monkeypatch.delenv("HEADWATER_MIRROR", raising=False)
    config, line = CASES[name]
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump({"run": "x", **config}))
    job = snakemake("-n", "--configfile", tmp_path / "mine.yaml", directory=tmp_path, check=False)
    text = job.stdout + job.stderr
    assert job.returncode == 1
    assert line.removesuffix(" (mine.yaml)") in text
    assert "Traceback" not in text and "File " not in text
    assert not (tmp_path / "results").exists()


def test_all_problems_are_named_at_once(snakemake, tmp_path):
    (tmp_path / "mine.yaml").write_text("run: x\nsed: 1\ncounts: {datasets: [tiny], seeds: 0}\n")
    job = snakemake("-n", "--configfile", tmp_path / "mine.yaml", directory=tmp_path, check=False)
    text = job.stdout + job.stderr
    assert "config: sed: unknown key; did you mean 'seed'?" in text
    assert "config: counts.seeds: 0 is less than the minimum of 1" in text


FAULTY_ROWS = {
    "reader": ("a\tA\ttabel\tx.tsv\t\t\t\t\n", "row 2, column reader: found 'tabel'"),
    "twice": ("a\tA\tweather\t\t\t\t\t\n" * 2, "row 3, column dataset: found 'a' a second time"),
    "settings": ("a\tA\tweather\t\t\t\t\tfolds\n", "row 2, column settings"),
    "files": ("a\tA\ttable\t\t\t\t\t\n", "row 2, column files: found nothing"),
    "surplus": (
        "a\tA\tweather\t\t\t\t\t\tmore\n",
        "row 2: found more cells than columns, from 'more' on",
    ),
    "two files": ("a\tA\ttable\tb.tsv,c.tsv\t\t\t\t\n", "row 2, column files: found 2 files"),
    "braces": (
        "a\tA\ttable\tb{x}.tsv\t\t\t\t\n",
        "row 2, column files: found 'b{x}.tsv'; expected names without braces",
    ),
    "reserved name": ("paper\tA\tweather\t\t\t\t\t\n", "row 2, column dataset: found 'paper'"),
    "general key": (
        "a\tA\tweather\t\t\t\t\tdatasets=b\n",
        "settings of data set a: datasets: found a key of the whole run",
    ),
    "own setting": (
        "a\tA\tweather\t\t\t\t\tsplit.folds=1\n",
        "settings of data set a: found split.folds: 1 is less than the minimum of 2",
    ),
}


@pytest.mark.parametrize("name", FAULTY_ROWS)
def test_a_faulty_row_is_named(name, snakemake, tmp_path):
    rows, line = FAULTY_ROWS[name]
    head = "dataset\ttitle\treader\tfiles\tmetadata\ttaxonomy\tprepare\tsettings\n"
    (tmp_path / "mine.tsv").write_text(head + rows)
    (tmp_path / "mine.yaml").write_text(
        f"run: x\ncounts: {{datasets: [a], tables: ['{tmp_path / 'mine.tsv'}']}}\n"
    )
    job = snakemake("-n", "--configfile", tmp_path / "mine.yaml", directory=tmp_path, check=False)
    text = job.stdout + job.stderr
    assert job.returncode == 1
    assert line in text
    assert "Traceback" not in text


TARGETS = {
    "paper_counts_recovery": "use --configfile config/paper/counts.yaml",
    "paper_counts_mice": "use --configfile config/paper/counts.yaml",
    "results/test/counts/tinny/cube.nc": "No rule to produce results/test/counts/tinny/cube.nc",
}


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_that_is_not_there_is_said_without_a_traceback(target, snakemake, tmp_path):
    config = ROOT / "config/test/counts.yaml"
    job = snakemake(target, "-n", "--configfile", config, directory=tmp_path, check=False)
    text = job.stdout + job.stderr
    assert job.returncode == 1
    assert TARGETS[target] in text
    assert "Traceback" not in text


def test_a_key_that_stands_twice_is_no_choice(snakemake, tmp_path):
    text = "run: x\ncounts:\n  datasets: [tiny]\n  seeds: 1\n  seeds: 2\n"
    (tmp_path / "mine.yaml").write_text(text)
    job = snakemake("-n", "--configfile", tmp_path / "mine.yaml", directory=tmp_path, check=False)
    assert job.returncode == 1
    assert "config: counts.seeds: stands twice, in lines 4 and 5" in job.stdout + job.stderr


def test_values_of_the_command_line_are_typed(snakemake, tmp_path):
    config = ROOT / "config/test/counts.yaml"
    given = ["--config", "offline=true", "counts={seeds: 5}"]
    job = snakemake("-n", "-q", "rules", "--configfile", config, *given, directory=tmp_path)
    assert re.search(r"^fit_plnica +5$", job.stdout + job.stderr, re.M)
