"""The table of count data sets: one row each, read while the workflow is planned.

Nothing heavier than `headwater.core` is imported here.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headwater.core.config import merged, nearest, parse_settings, problems, with_lists
from headwater.core.errors import InputError

from .config import FitConfig

COLUMNS = ("dataset", "title", "reader", "files", "metadata", "taxonomy", "prepare", "settings")
OF_ALL = ("tables", "datasets", "per_dataset", "paper")  # keys that no data set has of its own
RESERVED = ("paper", "report", "work")  # folders beside those of the data sets
READERS = {
    "table": "counts of samples: TSV, BIOM, QIIME 2 .qza, NetCDF or Zarr",
    "daily": "daily gridded or station data, counted as event days",
    "weather": "daily weather that the vega_datasets package ships",
    "cube": "a ready cube (docs: counts, cube layout)",
    "simulation": "a scenario of the simulator",
}


@dataclass(frozen=True)
class Entry:
    """One row: where a data set comes from and what it changes in the configuration."""

    dataset: str
    title: str
    reader: str
    files: tuple[str, ...] = ()
    metadata: str = ""
    taxonomy: str = ""
    prepare: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def inputs(self) -> list[str]:
        """All files that this data set is read from."""
        return [*self.files, *filter(None, (self.metadata, self.taxonomy))]


def read_catalogue(paths: Iterable[str | Path]) -> dict[str, Entry]:
    """Read the tables; a later row replaces an earlier one of the same name.

    Raises
    ------
    InputError
        Naming file, row and column of the first fault.
    """
    entries: dict[str, Entry] = {}
    for path in paths:
        path = Path(path)
        if not path.is_file():
            raise InputError(
                path, "", "no such file", "a table of data sets", "Correct counts.tables."
            )
        entries |= _read(path)
    return entries


def _read(path: Path) -> dict[str, Entry]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()  # a byte order mark is no name
    except UnicodeDecodeError:
        raise InputError(
            path, "", "no text in UTF-8", "a table of data sets", "Save it as UTF-8."
        ) from None
    rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    _check_header(path, rows.fieldnames or [])
    entries: dict[str, Entry] = {}
    for number, row in _numbered(rows):
        entry = _entry(path, number, row)
        if entry.dataset in entries:
            raise InputError(
                path,
                f"row {number}, column dataset",
                f"{entry.dataset!r} a second time",
                "each name once",
                "Rename one of the two.",
            )
        entries[entry.dataset] = entry
    return entries


def _numbered(rows: csv.DictReader) -> Iterator[tuple[int, dict[str | None, Any]]]:
    """Yield the number of the line, counted from 1 with the header, and the row."""
    for row in rows:
        yield rows.line_num, row


def _check_header(path: Path, header: Iterable[str]) -> None:
    header = list(header)
    for name in header:
        if name not in COLUMNS:
            raise InputError(
                path, "header", f"column {name!r}", "a known column", nearest(name, COLUMNS)
            )
    missing = [c for c in ("dataset", "reader") if c not in header]
    if missing:
        raise InputError(
            path,
            "header",
            f"no column {', '.join(missing)}",
            "tab-separated " + ", ".join(COLUMNS),
            "Add it (is the file tab-separated?).",
        )


def _entry(path: Path, number: int, row: Mapping[str | None, Any]) -> Entry:
    if row.get(None):
        raise InputError(
            path,
            f"row {number}",
            f"more cells than columns, from {row[None][0]!r} on",
            "a cell per column of the header",
            "Remove the surplus, or a tab inside a cell.",
        )
    text = {name: (row.get(name) or "").strip() for name in COLUMNS}

    def fault(column: str, found: str, expected: str, hint: str = "") -> InputError:
        return InputError(path, f"row {number}, column {column}", found, expected, hint)

    name = text["dataset"]
    if not name.replace("_", "").isalnum() or not name.isascii():
        raise fault("dataset", repr(name), "letters, digits and underscores")
    if name in RESERVED:
        raise fault("dataset", repr(name), "a name that no folder of results has", "Rename it.")
    if text["reader"] not in READERS:
        hint = nearest(text["reader"], READERS)
        raise fault("reader", repr(text["reader"]), "one of " + ", ".join(READERS), hint)
    files = tuple(f.strip() for f in text["files"].split(",") if f.strip())
    if not files and text["reader"] in {"table", "daily", "cube"}:
        raise fault("files", "nothing", "a path, or several with commas between them")
    if len(files) > 1 and text["reader"] in {"table", "cube"}:
        several = f"{len(files)} files"
        raise fault("files", several, "one file", "Join them, or give each a row of its own.")
    for column in ("files", "metadata", "taxonomy"):
        if "{" in text[column] or "}" in text[column]:
            found, hint = repr(text[column]), "Rename the file; braces are wildcards here."
            raise fault(column, found, "names without braces", hint)
    parsed = {}
    for column in ("prepare", "settings"):
        try:
            parsed[column] = parse_settings(text[column])
        except ValueError as error:
            raise fault(column, str(error), "key=value;key=value") from error
    return Entry(
        name,
        text["title"] or name,
        text["reader"],
        files,
        text["metadata"],
        text["taxonomy"],
        **parsed,
    )


def chosen(
    entries: Mapping[str, Entry], names: Iterable[str], key: str = "datasets"
) -> dict[str, Entry]:
    """Return the entries of `names`, which stand under `key` of the configuration.

    Raises
    ------
    InputError
        If a name has no row.
    """
    for name in names:
        if name not in entries:
            raise InputError(
                None,
                f"config: counts.{key}",
                repr(name),
                "a data set that has a row in counts.tables",
                nearest(name, entries),
            )
    return {name: entries[name] for name in names}


def settings_of(
    entry: Entry, counts: Mapping[str, Any], schema: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a data set's own `counts` block.

    On top of the configuration stand the settings of the row, on top of these the
    configuration's ``per_dataset`` of this data set.

    Raises
    ------
    InputError
        If settings do not fit the schema.
    """
    row = merged(entry.settings, {"prepare": entry.prepare} if entry.prepare else {})
    _refuse_general(row, f"settings of data set {entry.dataset}: ")
    settings = merged(counts, with_lists(row, schema))
    _check_settings(
        settings,
        schema,
        f"settings of data set {entry.dataset}",
        "Correct the row in the table of data sets.",
    )
    own = counts.get("per_dataset", {}).get(entry.dataset, {})
    place = f"config: counts.per_dataset.{entry.dataset}"
    _refuse_general(own, f"{place}.")
    settings = merged(settings, own)
    _check_settings(settings, schema, place, "Correct it in the configuration.")
    FitConfig.from_mapping(settings["model"])
    return settings


def _refuse_general(settings: Mapping[str, Any], where: str) -> None:
    for key in settings:
        if key in OF_ALL:
            raise InputError(
                None, f"{where}{key}", "a key of the whole run", "a key of one data set"
            )


def _check_settings(
    settings: Mapping[str, Any], schema: Mapping[str, Any], where: str, hint: str
) -> None:
    lines = problems(settings, schema)
    if lines:
        found = "; ".join(line.removeprefix("config: ") for line in lines)
        expected = "keys and values of the configuration block counts"
        raise InputError(None, where, found, expected, hint)
