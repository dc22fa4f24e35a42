"""What a run on SLURM gives is what a run on a laptop gives."""

import hashlib
import os
import subprocess
import threading
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROFILE = ROOT / "profiles/slurm"
QUICK = ("--slurm-init-seconds-before-status-checks", "2", "--latency-wait", "10")
TIMED = {"provenance.json", "index.html", "fit.json", "trace.csv"}  # hold seconds

pytestmark = pytest.mark.workflow


def digests(folder):
    """Return path -> sha256 of all results that hold no times."""
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(folder.rglob("*"))
        if p.is_file() and p.name not in TIMED and "/work/" not in str(p)
    }


def on_cluster(snakemake, cluster, directory, *arguments, **options):
    return snakemake(
        *arguments, "--profile", PROFILE, *QUICK, directory=directory, env=cluster, **options
    )


def test_the_cluster_gives_the_bytes_of_a_local_run(snakemake, cluster, tmp_path):
    config = ("--configfile", ROOT / "config/test/counts.yaml")
    folder = "results/test/counts/tiny"
    targets = [f"{folder}/decompositions/fastica.nc", f"{folder}/decompositions/pca.nc"]
    job = on_cluster(snakemake, cluster, tmp_path / "slurm", *targets, *config)
    assert job.stderr.count("has been submitted with SLURM jobid") >= 3
    snakemake(*targets, "--cores", "2", *config, directory=tmp_path / "local")
    found, expected = (digests(tmp_path / p / "results/test/counts") for p in ("slurm", "local"))
    assert found == expected
    assert "tiny/decompositions/fastica.nc" in found


@pytest.mark.slow
@pytest.mark.parametrize("domain", ["counts", "opf"])
def test_a_whole_pipeline_on_the_cluster(snakemake, cluster, tmp_path, domain):
    config = ("--configfile", ROOT / f"config/test/{domain}.yaml")
    on_cluster(snakemake, cluster, tmp_path / "slurm", domain, *config, "--jobs", "4")
    snakemake(domain, "--cores", "2", *config, directory=tmp_path / "local")
    found, expected = (digests(tmp_path / p / f"results/test/{domain}") for p in ("slurm", "local"))
    assert found == expected


@pytest.mark.slow
def test_a_job_cancelled_by_hand_is_run_again(snakemake, cluster, tmp_path):
    config = ("--configfile", ROOT / "config/test/counts.yaml")
    env = {**os.environ, **cluster}
    seen = []

    def cancel_first():
        for _ in range(600):
            running = subprocess.run(
                ["squeue", "-h", "-t", "R", "-o", "%A"], env=env, capture_output=True, text=True
            ).stdout.split()
            if running:
                seen.append(running[0])
                subprocess.run(["scancel", running[0]], env=env, check=True)
                return
            time.sleep(0.2)

    thread = threading.Thread(target=cancel_first)
    thread.start()
    target = "results/test/counts/tiny/cube.nc"
    job = on_cluster(snakemake, cluster, tmp_path, target, *config)
    thread.join()
    assert seen
    assert "CANCELLED" in job.stderr
    assert (tmp_path / target).is_file()
