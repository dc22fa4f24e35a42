"""The reproducibility part of a report page, from a domain's ``provenance.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .page import Block, Card, Cards, Code, Table

if TYPE_CHECKING:
    import pandas as pd


def reproducibility(provenance: Mapping[str, Any]) -> list[Block]:
    """Return the command, commit, versions, inputs with checksums, time and memory."""
    import pandas as pd

    git = provenance.get("git")
    versions = provenance.get("versions", {})
    commit = "no repository"
    if git:
        commit = git["commit"][:12]
    resources = provenance.get("resources", {})
    blocks: list[Block] = [
        Code("This page is rebuilt by", str(provenance.get("command", ""))),
        Cards(
            [
                Card("code", commit, "with changes" if git and git["dirty"] else ""),
                Card("python", versions.get("python"), str(versions.get("platform", ""))),
                Card("seed", json.dumps(provenance.get("seeds", {})).strip("{}").replace('"', "")),
                Card("wall time of all jobs, s", resources.get("wall_s")),
                Card("CPU time of all jobs, s", resources.get("cpu_s")),
            ]
        ),
    ]
    packages = versions.get("packages", {})
    tables = (
        ("inputs", "Inputs", _inputs(provenance.get("inputs", []))),
        ("rules", "Time and memory by rule", _rules(resources.get("rules", []))),
        (
            "packages",
            "Versions",
            pd.DataFrame({"package": list(packages), "version": list(packages.values())}),
        ),
    )
    blocks += [Table(name, title, table) for name, title, table in tables if len(table)]
    config = json.dumps(provenance.get("config", {}), indent=2, ensure_ascii=False)
    blocks.append(Code("Configuration as used", config))
    return blocks


def _inputs(inputs: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(
        {
            "file": [i.get("name") for i in inputs],
            "bytes": [i.get("bytes") for i in inputs],
            "licence": [i.get("licence") for i in inputs],
            "sha256": [i.get("sha256") for i in inputs],
        }
    )


def _rules(rules: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    table = pd.DataFrame(rules, columns=["rule", "jobs", "wall_s", "cpu_s", "max_rss_mb"])
    names = {"wall_s": "wall, s", "cpu_s": "CPU, s", "max_rss_mb": "peak memory, MiB"}
    return table.rename(columns=names)
