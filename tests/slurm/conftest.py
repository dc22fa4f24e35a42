"""A real SLURM on the loopback address, for the tests of this folder."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun")


def unavailable():
    """Return why no scheduler can be started here, or nothing."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"{', '.join(missing)} not installed (slurmctld slurmd slurm-client munge)"
    if os.geteuid():
        return "only root can start SLURM"
    conf = Path("/etc/slurm/slurm.conf")
    if conf.exists() and not conf.is_symlink():
        return "this machine has a SLURM of its own"
    return ""


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """Start two nodes of two cores; yield the environment that reaches them; stop by pid."""
    reason = unavailable()
    if reason:
        # CI sets this where the scheduler is part of what must be shown to work
        if os.environ.get("HEADWATER_NEEDS_SLURM"):
            pytest.fail(reason)
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("slurm") / "run"
    start = subprocess.run(
        [HERE / "start.sh", "--dir", folder, "--nodes", "2", "--cpus", "2", "--mem", "10000"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert start.returncode == 0, start.stderr
    pairs = (part.partition("=") for part in shlex.split(start.stdout)[1:])
    try:
        yield {name: value for name, _, value in pairs}
    finally:
        subprocess.run([HERE / "stop.sh", "--dir", folder], check=False, timeout=120)
