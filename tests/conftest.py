"""What all tests share: where things are, Snakemake in a folder of its own, rule scripts."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
os.environ.setdefault("MPLBACKEND", "Agg")


@pytest.fixture(scope="session")
def mirror():
    """Return the data mirror, or skip."""
    folder = os.environ.get("HEADWATER_MIRROR")
    if not folder or not Path(folder).is_dir():
        pytest.skip("HEADWATER_MIRROR names no folder: real data are not here")
    return Path(folder)


def call_snakemake(*arguments, directory, check=True, env=None, **options):
    """Run Snakemake on our Snakefile in `directory`; return the finished process."""
    job = subprocess.run(
        [
            sys.executable,
            "-m",
            "snakemake",
            *map(str, arguments),
            "--snakefile",
            str(ROOT / "Snakefile"),
            "--directory",
            str(directory),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, **(env or {})},
        **options,
    )
    if check and job.returncode:
        raise AssertionError(f"snakemake failed:\n{job.stdout}\n{job.stderr}")
    return job


@pytest.fixture(scope="session")
def snakemake():
    """Return `call_snakemake`."""
    return call_snakemake


@pytest.fixture(scope="session")
def script():
    """Return a function that loads a rule script as a module."""

    def load(name):
        path = ROOT / "workflow/scripts" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(name.replace("/", "_"), path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load
