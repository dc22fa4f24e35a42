"""The run as a research object: a Workflow Run RO-Crate of the results folder.

The metadata file conforms to Process Run Crate and Workflow Run Crate 0.6 and to Workflow
RO-Crate 1.1 (Leo et al. 2024, PLoS ONE 19:e0309210): the workflow file, the configuration as
used, the data with licence and checksum, software with versions, one action for the run and
one for each rule, and the outputs with checksums. Ids are names, never random, and
everything is in order, so one state of the results gives one file.
"""

from __future__ import annotations

import base64
import binascii
import json
import mimetypes
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from . import io
from .errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    from rocrate.model.contextentity import ContextEntity
    from rocrate.model.entity import Entity
    from rocrate.rocrate import ROCrate

RECORD_COLUMNS = ("target", "rule", "start", "end", "complete")
CONTEXT = "https://w3id.org/ro/terms/workflow-run/context"
PROFILES = (
    ("https://w3id.org/ro/wfrun/process/0.6", "Process Run Crate", "0.6"),
    ("https://w3id.org/ro/wfrun/workflow/0.6", "Workflow Run Crate", "0.6"),
)
COMPLETED = "http://schema.org/CompletedActionStatus"
FAILED = "http://schema.org/FailedActionStatus"
FORMATS = {
    ".tsv": "text/tab-separated-values",
    ".nc": "application/netcdf",
    ".yaml": "application/yaml",
    ".pt": "application/zip",
    ".svg": "image/svg+xml",
}


def read_metadata(folder: str | Path, prefix: str = "") -> pd.DataFrame:
    """Return Snakemake's records of finished outputs.

    Parameters
    ----------
    folder : path
        ``.snakemake/metadata``; an absent folder gives an empty table.
    prefix : str
        Only targets that begin with it (``results/demo/``).

    Returns
    -------
    DataFrame
        target, rule, start and end (seconds since 1970), complete; sorted by target.
        Files that are no records are passed over.
    """
    import pandas as pd

    folder = Path(folder)
    rows = []
    for path in sorted(folder.rglob("*")) if folder.is_dir() else []:
        target = _target(path.relative_to(folder))
        if target is None or not target.startswith(prefix) or not path.is_file():
            continue
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, OSError):
            continue
        if not isinstance(record, dict) or not record.get("rule"):
            continue
        complete = not record.get("incomplete", False)
        rows.append(
            (target, record["rule"], record.get("starttime"), record.get("endtime"), complete)
        )
    table = pd.DataFrame(rows, columns=list(RECORD_COLUMNS))
    table = table.astype({"start": float, "end": float, "complete": bool})
    return table.sort_values("target", kind="stable", ignore_index=True)


def _target(path: Path) -> str | None:
    """Return the output that a record's path encodes: base64, long names in pieces."""
    parts = [p.removeprefix("@") for p in path.parts]
    try:
        return base64.urlsafe_b64decode("".join(parts).encode()).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None


def build_crate(
    root: str | Path,
    *,
    name: str,
    description: str,
    workflow: str,
    config: str,
    outputs: Sequence[str],
    inputs: Sequence[Mapping[str, Any]] = (),
    software: Mapping[str, str | None] | None = None,
    records: pd.DataFrame | None = None,
    citations: Sequence[Mapping[str, str]] = (),
    licence: str = "",
    version: str = "",
    prefix: str = "",
) -> ROCrate:
    """Return the crate of a results folder; nothing is written.

    Parameters
    ----------
    root : path
        The results folder, which is the crate.
    name, description : str
        Of the run.
    workflow, config : str
        The workflow file and the configuration as used, copies inside `root`.
    outputs : sequence of str
        Paths inside `root` to describe.
    inputs : sequence of mapping
        As `headwater.core.provenance.input_record` makes them.
    software : mapping of str to str
        Version by distribution name, ``python`` among them.
    records : DataFrame, optional
        From `read_metadata`; without it there is the action of the whole run only.
    citations : sequence of mapping
        ``id`` (an address, usually a DOI) and ``text``.
    licence : str
        Of the results; an address.
    version : str
        Commit of the code.
    prefix : str
        What stands before paths inside `root` in the targets of `records`.

    Raises
    ------
    InputError
        If a named file is not inside `root`.
    """
    from rocrate.rocrate import ROCrate

    root = Path(root)
    crate = ROCrate()
    crate.metadata.extra_contexts.append(CONTEXT)
    crate.name, crate.description = name, description
    if licence:
        crate.license = licence
    versions = dict(software or {})
    main = crate.add_workflow(
        dest_path=workflow,
        main=True,
        lang="snakemake",
        lang_version=versions.get("snakemake"),
        properties=_file(root, workflow) | {"name": f"{name}: workflow"},
    )
    if version:
        main["version"] = version
    _add_profiles(crate)
    main["softwareRequirements"] = _add_software(crate, versions)
    settings = _add_file(crate, root, config, {"description": "configuration as used"})
    data = [settings, *_add_inputs(crate, inputs)]
    made = {p: _add_file(crate, root, p, {}) for p in sorted(set(outputs) - {workflow, config})}
    _add_actions(crate, main, data, made, records, prefix)
    _add_citations(crate, citations)
    crate.root_dataset["datePublished"] = _published(root, made, records)
    return crate


def write_crate(path: str | Path, crate: ROCrate) -> None:
    """Write the metadata file of a crate (``ro-crate-metadata.json``)."""
    text = json.dumps(crate.metadata.generate(), indent=2, sort_keys=True, ensure_ascii=False)
    io.write_text(path, text + "\n")


def _entity(crate: ROCrate, identity: str, properties: Mapping[str, Any]) -> ContextEntity:
    from rocrate.model.contextentity import ContextEntity

    return crate.add(ContextEntity(crate, identity, properties=dict(properties)))


def _add_profiles(crate: ROCrate) -> None:
    for address, name, version in PROFILES:
        profile = {"@type": "CreativeWork", "name": name, "version": version}
        crate.root_dataset.append_to("conformsTo", _entity(crate, address, profile))


def _file(root: Path, path: str) -> dict[str, Any]:
    """Return the properties of a file of the crate: size, checksum, format."""
    full = root / path
    if not full.is_file():
        raise InputError(full, "", "no such file", "a file of the results", "Build it first.")
    properties: dict[str, Any] = {
        "name": path,
        "contentSize": str(full.stat().st_size),
        "sha256": io.sha256(full),
    }
    suffix = full.suffix
    kind = FORMATS.get(suffix) or mimetypes.types_map.get(suffix)
    return properties | ({"encodingFormat": kind} if kind else {})


def _add_file(crate: ROCrate, root: Path, path: str, extra: Mapping[str, Any]) -> Entity:
    return crate.add_file(dest_path=path, properties=_file(root, path) | dict(extra))


def _add_software(crate: ROCrate, versions: Mapping[str, str | None]) -> list[Entity]:
    return [
        _entity(
            crate,
            f"#software/{name}",
            {"@type": "SoftwareApplication", "name": name, "softwareVersion": version},
        )
        for name, version in sorted(versions.items())
        if version
    ]


def _add_inputs(crate: ROCrate, inputs: Sequence[Mapping[str, Any]]) -> list[Entity]:
    """Add data that came from outside: by address where there is one, else by name."""
    result = []
    for record in sorted(inputs, key=lambda r: str(r.get("name"))):
        properties = {
            "name": record["name"],
            "sha256": record.get("sha256"),
            "contentSize": str(record["bytes"]) if record.get("bytes") is not None else None,
            "license": record.get("licence"),
            "citation": record.get("citation"),
        }
        properties = {k: v for k, v in properties.items() if v}
        source = str(record.get("source") or "")
        address = next((s for s in source.replace(",", " ").split() if "://" in s), "")
        if address:
            properties["url"] = address
        identity = f"#data/{quote(str(record['name']))}"
        result.append(_entity(crate, identity, {"@type": "CreativeWork"} | properties))
    return result


def _add_actions(
    crate: ROCrate,
    main: Entity,
    data: list[Entity],
    made: Mapping[str, Entity],
    records: pd.DataFrame | None,
    prefix: str,
) -> None:
    """Add one action for the run and one for each rule."""
    run = {"@type": "CreateAction", "name": f"Run of {main['name']}"}
    if records is not None and len(records):
        run |= _times(records)
    action = _entity(crate, "#run", run)
    action["instrument"] = main
    action["object"] = data
    action["result"] = list(made.values())
    crate.root_dataset.append_to("mentions", action)
    if records is None:
        return
    for rule, part in records.groupby("rule", sort=True):
        tool = _entity(
            crate, f"#rule/{rule}", {"@type": "SoftwareApplication", "name": f"rule {rule}"}
        )
        count = f"{len(part)} output{'s' if len(part) > 1 else ''}"
        properties = {"@type": "CreateAction", "name": f"Rule {rule}", "description": count}
        step = _entity(crate, f"#action/{rule}", properties | _times(part))
        step["instrument"] = tool
        results = [made[t] for t in _inside(part["target"], prefix) if t in made]
        if results:
            step["result"] = results
        crate.root_dataset.append_to("mentions", step)


def _times(records: pd.DataFrame) -> dict[str, Any]:
    """Return start, end and status of the jobs in `records`; exit code 0 is completed."""
    result: dict[str, Any] = {
        "actionStatus": {"@id": COMPLETED if records["complete"].all() else FAILED}
    }
    for key, value in (("startTime", records["start"].min()), ("endTime", records["end"].max())):
        if value == value:
            result[key] = _iso(value)
    return result


def _inside(targets: Iterable[str], prefix: str) -> list[str]:
    return [t.removeprefix(prefix) for t in targets if t.startswith(prefix)]


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _published(root: Path, made: Mapping[str, Entity], records: pd.DataFrame | None) -> str:
    """Return when the results were finished: by the records, else by the newest output."""
    if records is not None and records["end"].notna().any():
        return _iso(float(records["end"].max()))
    newest = max(((root / path).stat().st_mtime for path in made), default=0.0)
    return _iso(newest)


def _add_citations(crate: ROCrate, citations: Sequence[Mapping[str, str]]) -> None:
    for item in sorted(citations, key=lambda c: c["id"]):
        article = _entity(crate, item["id"], {"@type": "ScholarlyArticle", "name": item["text"]})
        crate.root_dataset.append_to("citation", article)
