"""What a result was made of: inputs, configuration, versions, commit, seeds, time, memory.

Every value is asked for by name. The environment, the command line, the user and the host
are never read, so that a provenance file can be published as it is.
"""

from __future__ import annotations

import json
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import io
from .errors import InputError

if TYPE_CHECKING:
    import pandas as pd

# Benchmark columns of Snakemake and ours; memory there is in MiB, 2**20 bytes.
BENCHMARK_COLUMNS = ("rule", "job", "wall_s", "cpu_s", "max_rss_mb")
FORMAT = 1
# What may have a say in a number; those that are not installed are left out.
PACKAGES = (
    "headwater",
    "snakemake",
    "numpy",
    "pandas",
    "scipy",
    "scikit-learn",
    "statsmodels",
    "xarray",
    "h5netcdf",
    "netcdf4",
    "zarr",
    "dask",
    "torch",
    "pyro-ppl",
    "python-picard",
    "biom-format",
    "anndata",
    "scanpy",
    "transformers",
    "mne",
    "casadi",
    "matplotlib",
    "jinja2",
)
_SECRETS = ("password", "passwd", "secret", "token", "api_key", "apikey", "credential")


def package_versions(names: Iterable[str]) -> dict[str, str | None]:
    """Return the installed version of each distribution; None where it is not installed."""
    from importlib import metadata

    result: dict[str, str | None] = {}
    for name in sorted(set(names)):
        try:
            result[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            result[name] = None
    return result


def git_state(folder: str | Path) -> dict[str, Any] | None:
    """Return ``{"commit", "dirty"}`` of the work tree at `folder`; None where there is none.

    `dirty` counts changes of tracked files only: results and downloads are not code.
    """
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return None
    status = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return {"commit": commit, "dirty": bool(status)}


def _git(folder: str | Path, *command: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", "-C", str(folder), *command],
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def installed_versions() -> dict[str, str | None]:
    """Return the versions of those of `PACKAGES` that are installed."""
    found = package_versions(PACKAGES)
    return {name: version for name, version in found.items() if version is not None}


def versions(
    packages: Iterable[str] | None = None, seed: int | None = None, device: str | None = None
) -> dict[str, Any]:
    """Return what ``versions.json`` beside every model holds.

    Parameters
    ----------
    packages : iterable of str, optional
        Distribution names; default those of `PACKAGES` that are installed.
    seed : int, optional
        The job's seed.
    device : str, optional
        Where the model was fitted (``cpu``, ``cuda:0``). Nothing is guessed.

    Notes
    -----
    `torch_threads` is None where torch has not been imported: it is not imported for this.
    """
    import sys

    torch = sys.modules.get("torch")
    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "packages": installed_versions() if packages is None else package_versions(packages),
        "torch_threads": None if torch is None else torch.get_num_threads(),
        "device": device,
        "seed": seed,
    }


def input_record(
    path: str | Path, name: str = "", licence: str = "", citation: str = "", source: str = ""
) -> dict[str, Any]:
    """Return one input of a provenance file: its name, size, checksum, licence, citation."""
    path = Path(path)
    if not path.is_file():
        raise InputError(path, found="no such file", expected="an input that was read")
    return {
        "name": name or path.name,
        "bytes": path.stat().st_size,
        "sha256": io.sha256(path),
        "licence": licence,
        "citation": citation,
        "source": source,
    }


def read_benchmarks(paths: Sequence[str | Path], domain: str = "") -> pd.DataFrame:
    """Return one row per run from Snakemake's benchmark files (``.jsonl``).

    Parameters
    ----------
    paths : sequence of path
        ``.../benchmarks/[<domain>/]<rule>/<job...>.jsonl``.
    domain : str
        The folder between ``benchmarks`` and the rule, where there is one.

    Returns
    -------
    DataFrame
        rule, job (the rest of the file's path), wall_s and cpu_s in seconds, max_rss_mb in
        MiB; sorted by rule and job. What Snakemake could not measure is NaN.

    Raises
    ------
    InputError
        If a line is no JSON object.
    """
    import pandas as pd

    rows = []
    for path in map(Path, paths):
        rule, job = _rule_and_job(path, domain)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if not line.strip():
                continue
            record = _benchmark_line(path, number, line)
            rows.append(
                {
                    "rule": record.get("rule_name", rule),
                    "job": job,
                    "wall_s": _number(record.get("s")),
                    "cpu_s": _number(record.get("cpu_time")),
                    "max_rss_mb": _number(record.get("max_rss")),
                }
            )
    table = pd.DataFrame(rows, columns=list(BENCHMARK_COLUMNS))
    return table.sort_values(["rule", "job"], kind="stable", ignore_index=True)


def _rule_and_job(path: Path, domain: str) -> tuple[str, str]:
    parts = list(path.with_suffix("").parts)
    if "benchmarks" in parts:
        parts = parts[len(parts) - parts[::-1].index("benchmarks") :]
    else:
        parts = parts[-2:]
    if len(parts) > 1 and parts[0] == domain:
        parts = parts[1:]
    return parts[0], "/".join(parts[1:])


def _benchmark_line(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except json.JSONDecodeError:
        record = None
    if not isinstance(record, dict):
        raise InputError(
            path, f"line {number}", "no JSON object", "a benchmark record", "Remove the file."
        )
    return record


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def summarise_benchmarks(table: pd.DataFrame) -> pd.DataFrame:
    """Return jobs, total wall_s and cpu_s and the largest max_rss_mb of each rule."""
    grouped = table.groupby("rule", sort=True)
    result = grouped.agg(
        jobs=("job", "size"),
        wall_s=("wall_s", "sum"),
        cpu_s=("cpu_s", "sum"),
        max_rss_mb=("max_rss_mb", "max"),
    )
    return result.reset_index()


def build_provenance(
    *,
    domain: str,
    run: str,
    inputs: Sequence[Mapping[str, Any]],
    config: Mapping[str, Any],
    seeds: Mapping[str, int],
    threads: Mapping[str, int],
    packages: Iterable[str] | None = None,
    benchmarks: pd.DataFrame | None = None,
    repository: str | Path | None = None,
    command: str = "",
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """Return a domain's ``provenance.json`` as plain values.

    Parameters
    ----------
    domain : str
        ``counts``, ``spatial``, ...
    run : str
        The run's name in the configuration.
    inputs : sequence of mappings
        As `input_record` makes them.
    config : mapping
        The configuration as used. Values under keys that name a secret are left out.
    seeds, threads : mappings
        By rule.
    packages : iterable of str, optional
        Distributions whose versions matter; default as in `versions`.
    benchmarks : DataFrame, optional
        From `read_benchmarks`.
    repository : path, optional
        Work tree of the code.
    command : str
        What rebuilds the domain.
    notes : sequence of str
        Stand-ins and embedded data, as in the banner of the page.
    """
    import pandas as pd

    table = pd.DataFrame(columns=list(BENCHMARK_COLUMNS)) if benchmarks is None else benchmarks
    found = versions(packages)
    found = {k: found[k] for k in ("python", "platform", "packages")}
    per_rule = summarise_benchmarks(table).to_dict(orient="records")
    return io.plain(
        {
            "format": FORMAT,
            "domain": domain,
            "run": run,
            "command": command,
            "notes": list(notes),
            "inputs": sorted((dict(i) for i in inputs), key=lambda i: str(i.get("name"))),
            "config": without_secrets(config),
            "versions": found,
            "git": None if repository is None else git_state(repository),
            "seeds": dict(sorted(seeds.items())),
            "threads": dict(sorted(threads.items())),
            "resources": {
                "rules": per_rule,
                "wall_s": float(table["wall_s"].sum()),
                "cpu_s": float(table["cpu_s"].sum()),
            },
        }
    )


def without_secrets(value: Any) -> Any:
    """Return a configuration without what stands under a key that names a secret."""
    if isinstance(value, Mapping):
        return {k: "(left out)" if _is_secret(k) else without_secrets(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [without_secrets(v) for v in value]
    return value


def _is_secret(key: Any) -> bool:
    """Return whether a key names a secret; a limit such as ``max_tokens`` names none."""
    words = str(key).lower().replace("-", "_")
    return any(words == s or words.endswith("_" + s) for s in _SECRETS)
