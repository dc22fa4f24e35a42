"""Two runs of one configuration give the same bytes."""

import hashlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TIMED = {"provenance.json", "index.html", "fit.json", "trace.csv"}  # hold seconds

pytestmark = pytest.mark.workflow


def run(snakemake, directory):
    snakemake(
        "counts",
        "--cores",
        "2",
        "--configfile",
        ROOT / "config/test/counts.yaml",
        directory=directory,
    )
    folder = directory / "results/test/counts"
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(folder.rglob("*"))
        if p.is_file() and p.name not in TIMED
    }


def test_same_bytes_twice(snakemake, tmp_path_factory):
    first = run(snakemake, tmp_path_factory.mktemp("first"))
    second = run(snakemake, tmp_path_factory.mktemp("second"))
    assert len(first) > 20
    assert first == second
