"""Kills, full disks, locks and odd folders: nothing is lost, nothing half-written is used.

One target of the smallest run is enough: all rules write through the same helpers.
"""

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "config/test/counts.yaml"
TARGET = "results/test/counts/tiny/model/seed0/params.pt"

pytestmark = pytest.mark.workflow


def command(directory, *extra):
    return [
        sys.executable,
        "-m",
        "snakemake",
        TARGET,
        *extra,
        "--cores",
        "1",
        "--configfile",
        str(CONFIG),
        "--snakefile",
        str(ROOT / "Snakefile"),
        "--directory",
        str(directory),
    ]


def start(directory, *extra):
    """Start a run in a process group of its own."""
    return subprocess.Popen(
        command(directory, *extra),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def finish(directory, *extra):
    return subprocess.run(
        command(directory, *extra), cwd=ROOT, capture_output=True, text=True, check=False
    )


def wait_for(condition, seconds=90):
    """Wait until `condition` holds; fail the test when it does not."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("the moment to strike never came")


def digests(directory):
    folder = Path(directory) / "results/test/counts/tiny"
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(folder.rglob("*"))
        if p.is_file() and p.suffix in {".nc", ".pt", ".tsv", ".yaml"}
    }


def fit_pids(directory):
    """Return the processes that run the fit script of this directory."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            line = (entry / "cmdline").read_bytes().decode(errors="replace")
            where = (entry / "cwd").resolve()
        except OSError:
            continue
        ours = "fit_plnica" in line and ".snakemake/scripts" in line
        if ours and where == Path(directory).resolve():
            found.append(int(entry.name))
    return found


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Return the results of a run that nothing disturbed."""
    directory = tmp_path_factory.mktemp("undisturbed")
    job = finish(directory)
    assert job.returncode == 0, job.stdout + job.stderr
    return directory


def test_killed_main_process(undisturbed, tmp_path):
    run = start(tmp_path)
    wait_for(lambda: fit_pids(tmp_path) or run.poll() is not None)
    os.killpg(run.pid, signal.SIGKILL)
    run.communicate()
    assert not (tmp_path / TARGET).exists()
    second = finish(tmp_path)
    if second.returncode:  # the lock of the dead run; make unlock says the same
        assert "lock" in (second.stdout + second.stderr).lower()
        assert finish(tmp_path, "--unlock").returncode == 0
        second = finish(tmp_path)
    assert second.returncode == 0, second.stdout + second.stderr
    assert digests(tmp_path) == digests(undisturbed)


def test_killed_job(undisturbed, tmp_path):
    run = start(tmp_path)
    wait_for(lambda: fit_pids(tmp_path) or run.poll() is not None)
    for pid in fit_pids(tmp_path):
        os.kill(pid, signal.SIGKILL)
    run.communicate()
    assert run.returncode == 1
    assert not (tmp_path / TARGET).exists()
    assert finish(tmp_path).returncode == 0
    assert digests(tmp_path) == digests(undisturbed)


def test_two_runs_at_once_in_one_folder(tmp_path):
    run = start(tmp_path)
    wait_for(lambda: fit_pids(tmp_path) or run.poll() is not None)
    second = finish(tmp_path)
    assert second.returncode == 1
    assert "lock" in (second.stdout + second.stderr).lower()
    run.communicate()
    assert run.returncode == 0


def test_path_with_a_space_and_an_umlaut(undisturbed, tmp_path):
    directory = tmp_path / "Meine Läufe; x"
    directory.mkdir()
    job = finish(directory)
    assert job.returncode == 0, job.stdout + job.stderr
    assert digests(directory) == digests(undisturbed)


def test_full_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)],
        capture_output=True,
        check=False,
    )
    if mount.returncode:
        pytest.skip("a small disk cannot be mounted here (needs root)")
    try:
        code = (
            "import numpy as np, xarray as xr\nfrom headwater.core.io import write_dataset\n"
            "data = xr.Dataset({'x': ('i', np.random.default_rng(1).normal(size=50000))})\n"
            f"write_dataset({str(disk / 'a.nc')!r}, data)\n"
        )
        job = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        assert job.returncode != 0
        assert "No space left" in job.stderr
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_folder_that_cannot_be_written(tmp_path):
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(tmp_path)],
        capture_output=True,
        check=False,
    )
    if mount.returncode:
        if os.geteuid() == 0:
            pytest.skip("nothing can be mounted here and root may write everywhere")
        tmp_path.chmod(0o555)
    try:
        job = finish(tmp_path)
    finally:
        if not mount.returncode:
            subprocess.run(["umount", "-l", str(tmp_path)], check=True)
    text = job.stdout + job.stderr
    assert job.returncode != 0
    assert "cannot be written" in text
    assert "--directory" in text
    assert "Traceback" not in text


def test_second_run_has_nothing_to_do(undisturbed):
    job = finish(undisturbed)
    assert job.returncode == 0
    assert "Nothing to be done" in job.stdout + job.stderr
