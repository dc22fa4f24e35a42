"""Provenance: what is recorded, from where, and what must never be."""

import json
import math
import subprocess

import pandas as pd
import pytest

from headwater.core import provenance
from headwater.core.errors import InputError


@pytest.fixture
def benchmarks(tmp_path):
    """Records in the words of Snakemake 9.27, one rule with two jobs, one with one."""
    folder = tmp_path / "run" / "benchmarks"
    (folder / "fit_model" / "mice").mkdir(parents=True)
    record = {"cpu_time": 2.5, "h:m:s": "0:00:03", "max_rss": 100.0, "mean_load": 80.0, "s": 3.0}
    for seed, factor in ((1, 1), (2, 2)):
        scaled = record | {"cpu_time": 2.5 * factor, "max_rss": 100.0 * factor, "s": 3.0 * factor}
        text = json.dumps(scaled) + "\n"
        (folder / "fit_model" / "mice" / f"seed{seed}.jsonl").write_text(text)
    (folder / "split_data.jsonl").write_text(json.dumps(record | {"cpu_time": "NA"}) + "\n\n")
    return sorted(folder.rglob("*.jsonl"))


def test_benchmarks_become_one_row_per_job(benchmarks):
    table = provenance.read_benchmarks(benchmarks)
    assert list(table["rule"]) == ["fit_model", "fit_model", "split_data"]
    assert list(table["job"]) == ["mice/seed1", "mice/seed2", ""]
    assert list(table["wall_s"]) == [3.0, 6.0, 3.0]
    assert math.isnan(table["cpu_s"].iloc[2])


def test_the_folder_of_the_domain_is_not_the_rule(tmp_path):
    path = tmp_path / "benchmarks" / "counts" / "fit_model" / "mice.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text('{"s": 1.0, "cpu_time": 1.0, "max_rss": 1.0}')
    row = provenance.read_benchmarks([path], domain="counts").iloc[0]
    assert (row["rule"], row["job"]) == ("fit_model", "mice")


def test_rules_are_summed_and_memory_is_the_largest(benchmarks):
    table = provenance.summarise_benchmarks(provenance.read_benchmarks(benchmarks))
    fit = table.set_index("rule").loc["fit_model"]
    assert (fit["jobs"], fit["wall_s"], fit["cpu_s"], fit["max_rss_mb"]) == (2, 9.0, 7.5, 200.0)


def test_broken_benchmark_names_file_and_line(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"s": 1}\n[1]\n')
    with pytest.raises(InputError, match=r"x\.jsonl, line 2"):
        provenance.read_benchmarks([path])


def test_versions_of_absent_packages_are_none():
    found = provenance.package_versions(["pandas", "no-such-distribution-here"])
    assert found == {"no-such-distribution-here": None, "pandas": pd.__version__}


def test_git_state_sees_commit_and_changes_of_tracked_files(tmp_path):
    assert provenance.git_state(tmp_path) is None

    def git(*words):
        identity = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        subprocess.run(["git", "-C", tmp_path, *identity, *words], check=True, capture_output=True)

    git("init", "-q")
    (tmp_path / "a").write_text("1")
    git("add", "a")
    git("commit", "-q", "-m", "one")
    head = subprocess.run(
        ["git", "-C", tmp_path, "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    (tmp_path / "untracked").write_text("1")
    assert provenance.git_state(tmp_path) == {"commit": head, "dirty": False}
    (tmp_path / "a").write_text("2")
    assert provenance.git_state(tmp_path) == {"commit": head, "dirty": True}


def test_input_record_has_the_checksum(tmp_path):
    path = tmp_path / "abc.txt"
    path.write_bytes(b"abc")
    record = provenance.input_record(path, licence="CC0-1.0")
    # FIPS 180-2, appendix B.1
    assert record["sha256"] == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert (record["bytes"], record["licence"], record["name"]) == (3, "CC0-1.0", "abc.txt")
    with pytest.raises(InputError):
        provenance.input_record(tmp_path / "absent")


def build(paths, **changes):
    values = {
        "domain": "counts",
        "run": "demo",
        "inputs": [{"name": "b"}, {"name": "a"}],
        "config": {"seed": 1, "llm": {"api_key": "xyzzy", "max_tokens": 5}},
        "packages": ["pandas"],
        "seeds": {"fit_model": 3},
        "threads": {"fit_model": 1},
        "benchmarks": provenance.read_benchmarks(paths),
    }
    return provenance.build_provenance(**(values | changes))


def test_provenance_is_plain_repeatable_and_ordered(benchmarks):
    first, second = build(benchmarks), build(benchmarks)
    assert json.dumps(first, allow_nan=False) == json.dumps(second, allow_nan=False)
    assert [i["name"] for i in first["inputs"]] == ["a", "b"]
    assert first["resources"]["wall_s"] == 12.0
    assert build(benchmarks, benchmarks=None)["resources"]["rules"] == []


def test_no_secret_and_no_environment(benchmarks, monkeypatch):
    monkeypatch.setenv("HEADWATER_TEST_VALUE", "plugh")
    text = json.dumps(build(benchmarks))
    assert "xyzzy" not in text
    assert "plugh" not in text
    assert json.loads(text)["config"]["llm"]["max_tokens"] == 5


def test_versions_record_threads_only_of_an_imported_torch(monkeypatch):
    import sys

    monkeypatch.delitem(sys.modules, "torch", raising=False)
    record = provenance.versions(["pandas"], seed=7, device="cpu")
    assert (record["torch_threads"], record["seed"], record["device"]) == (None, 7, "cpu")
    fake = type("Torch", (), {"get_num_threads": staticmethod(lambda: 3)})
    monkeypatch.setitem(sys.modules, "torch", fake)
    assert provenance.versions([])["torch_threads"] == 3
