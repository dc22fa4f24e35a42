"""What runs again after a change: exactly what depends on it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TARGET = "results/test/counts/metrics.tsv"

pytestmark = [pytest.mark.workflow, pytest.mark.slow]


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Return a copy of the workflow with its results, so that its library can be edited."""
    root = tmp_path_factory.mktemp("copy")
    for name in ("Snakefile", "workflow", "config", "src", "profiles", "envs"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, root / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, root / name)
    job = plan(root)
    assert job.returncode == 0, job.stdout + job.stderr
    return root


def plan(root, *extra):
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "snakemake",
            TARGET,
            *extra,
            "--cores",
            "2",
            "--configfile",
            "config/test/counts.yaml",
        ],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(root / "src"), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"},
    )


def rerun_by_params(root):
    """Return the rules that the plan runs again because their own parameters changed."""
    job = plan(root, "-n")
    assert job.returncode == 0, job.stdout + job.stderr
    text = job.stdout + job.stderr
    found = re.search(r"params have changed since last execution:\s+([\w, ]+)", text)
    return set(found[1].split(", ")) if found else set()


@pytest.fixture
def edit(copy):
    """Return a function that appends a line of code to a library module, undone afterwards."""
    kept = {}

    def append(module, text):
        path = copy / "src" / (module.replace(".", "/") + ".py")
        kept.setdefault(path, path.read_text())
        path.write_text(path.read_text() + text)

    yield append
    for path, text in kept.items():
        path.write_text(text)


def test_nothing_changed_nothing_runs(copy):
    assert "Nothing to be done" in plan(copy, "-n").stdout + plan(copy, "-n").stderr


def test_forecast_module(copy, edit):
    edit("headwater.counts.forecast", "\nEDITED = 1\n")
    assert rerun_by_params(copy) == {"predict_forecasts"}


def test_split_module(copy, edit):
    edit("headwater.counts.split", "\nEDITED = 1\n")
    found = rerun_by_params(copy)
    assert "split_series" in found
    assert "prepare_simulation" not in found


def test_comment_in_a_module(copy, edit):
    edit("headwater.counts.forecast", "\n# a thought\n")
    assert rerun_by_params(copy) == set()
