"""What a run took, from benchmark files whose numbers are known."""

import json
import os

import pytest

from headwater.core import execution
from headwater.core.errors import InputError


@pytest.fixture
def benchmarks(tmp_path):
    """Write three jobs: two of one rule that idle, one that is close to its limit."""
    folder = tmp_path / "run" / "benchmarks"
    jobs = [
        ("counts/fit_model/mice/1.jsonl", 10.0, 9.0, 400.0, 4000, 1_000_010),
        ("counts/fit_model/mice/2.jsonl", 20.0, 20.0, 600.0, 4000, 1_000_030),
        ("retrieve/x.csv.jsonl", 5.0, 1.0, 950.0, 1000, 1_000_005),
    ]
    for name, wall, cpu, used, asked, end in jobs:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        record = {"s": wall, "cpu_time": cpu, "max_rss": used, "threads": 1}
        record["resources"] = {"mem_mb": asked, "runtime": 10}
        record["rule_name"] = "fit_model" if "fit" in name else "retrieve_file"
        path.write_text(json.dumps(record) + "\n")
        os.utime(path, (end, end))
    return folder


def test_jobs_start_where_their_file_ended_less_their_time(benchmarks):
    jobs = execution.read_jobs(benchmarks)
    assert list(jobs["start_s"]) == [0.0, 0.0, 10.0]
    first = jobs.set_index("job").loc["mice/1"]
    assert (first["domain"], first["rule"], first["mem_asked_mb"]) == ("counts", "fit_model", 4000)


def test_rules_are_summed_and_told_what_would_do(benchmarks):
    rules = execution.by_rule(execution.read_jobs(benchmarks)).set_index("rule")
    fit = rules.loc["fit_model"]
    assert (fit["jobs"], fit["wall_s"], fit["longest_s"]) == (2, 30.0, 20.0)
    assert fit["cpu_share"] == pytest.approx(29 / 30)
    assert fit["advice"] == "--set-resources fit_model:mem_mb=1000"  # 1.5 x 600 = 900
    tight = rules.loc["retrieve_file"]
    assert tight["advice"] == "--set-resources retrieve_file:mem_mb=1500"  # 1.5 x 950 = 1425


def test_records_without_requests_get_no_advice(tmp_path):
    path = tmp_path / "fit" / "a.jsonl"
    path.parent.mkdir()
    path.write_text('{"s": 1.0, "cpu_time": null}\n')
    rules = execution.by_rule(execution.read_jobs(tmp_path))
    assert list(rules["rule"]) == ["fit"]
    assert list(rules["advice"]) == [""]


def test_the_page_and_the_table_are_written(benchmarks):
    page = execution.write_report(benchmarks.parent).read_text()
    assert "fit_model:mem_mb=1000" in page
    assert page.count("<svg") >= 2
    assert (benchmarks.parent / "execution.tsv").read_text().count("\n") == 4


def test_no_run_and_a_spoilt_file_are_said(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert execution.main(["demo"]) == 1
    assert "no benchmark file" in capsys.readouterr().err
    (tmp_path / "x.jsonl").write_text("{cut")
    with pytest.raises(InputError, match=r"x\.jsonl, last line"):
        execution.read_jobs(tmp_path)
