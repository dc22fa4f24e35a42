"""Look at the machine and say what works and what to install. Standard library only."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, requires, version

GIB = 2**30
PACKAGES = ("snakemake", "pandas", "torch", "pyro-ppl", "xarray", "scanpy", "anndata")
PROGRAMS = {
    "sbatch": "SLURM jobs (package slurm-client)",
    "conda": "environments per rule, --sdm conda",
    "octave": "MATPOWER as reference of the opf domain (package octave)",
    "git": "the commit in the provenance (package git)",
    "nvidia-smi": "a GPU",
}


def main() -> int:
    """Print one line per finding; return 1 when something that every run needs is missing."""
    bad = 0
    right = sys.version_info[:2] == (3, 11)
    bad += not say(right, "Python", platform.python_version(), "Headwater needs 3.11")
    for name in PACKAGES:
        bad += package(name) and name in {"snakemake", "pandas"}
    for extra in extras():
        missing = [n for n in extras()[extra] if not installed(n)]
        text = "complete" if not missing else "lacks " + ", ".join(missing)
        say(not missing, f"extra {extra}", text, f"make setup DOMAIN={extra}", optional=True)
    free = shutil.disk_usage(".").free / GIB
    bad += not say(free > 5, "free disk", f"{free:.1f} GiB here", "5 GiB are wanted")
    writable = os.access(".", os.W_OK)
    text = "can be written" if writable else "cannot be written"
    bad += not say(writable, "this folder", text, "use snakemake --directory")
    for name, use in PROGRAMS.items():
        path = shutil.which(name)
        say(path is not None, name, path or "not found", f"wanted for {use}", optional=True)
    scheduler()
    gpu()
    return int(bad > 0)


def say(good: bool, name: str, text: str, hint: str = "", optional: bool = False) -> bool:
    """Print a finding and return whether it is good."""
    mark = "ok  " if good else ("-   " if optional else "MISS")
    print(f"{mark} {name}: {text}" + (f" ({hint})" if hint and not good else ""))
    return good


def package(name: str) -> int:
    """Print a package's version; return 1 when it is missing."""
    try:
        say(True, name, version(name))
    except PackageNotFoundError:
        say(False, name, "not installed", "make setup", optional=True)
        return 1
    return 0


def installed(name: str) -> bool:
    """Return whether a distribution is installed."""
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


def extras() -> dict[str, list[str]]:
    """Return the extras of this package with the names they need; empty when not installed."""
    try:
        lines = requires("headwater") or []
    except PackageNotFoundError:
        return {}
    found: dict[str, list[str]] = {}
    for line in lines:
        match = re.match(r"([A-Za-z0-9_.-]+).*extra == [\"']([a-z]+)[\"']", line)
        if match and match[2] != "all":
            found.setdefault(match[2], []).append(match[1])
    return found


def scheduler() -> None:
    """Warn where finished SLURM jobs vanish before they are asked for (profiles/slurm)."""
    if shutil.which("scontrol") is None:
        return
    shown = subprocess.run(
        ["scontrol", "show", "config"], capture_output=True, text=True, check=False
    )
    match = re.search(r"MinJobAge\s*=\s*(\d+)", shown.stdout)
    if match is None:
        say(False, "SLURM controller", "does not answer", "is this a login node?", optional=True)
        return
    age = int(match[1])
    hint = "under 60 s status falls back to sacct: do not scancel single jobs"
    say(age >= 60, "SLURM MinJobAge", f"{age} s", hint)


def gpu() -> None:
    """Print the GPUs that torch sees."""
    if importlib.util.find_spec("torch") is None:
        return
    import torch

    count = torch.cuda.device_count()
    names = ", ".join(torch.cuda.get_device_name(k) for k in range(count))
    say(count > 0, "GPU in torch", names or "none", "all demos run without", optional=True)


if __name__ == "__main__":
    sys.exit(main())
