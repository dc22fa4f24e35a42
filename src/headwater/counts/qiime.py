"""BIOM tables, v1 (JSON) and v2.1 (HDF5), and QIIME 2 artifacts that hold one."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from pathlib import Path

import pandas as pd

from headwater.core.errors import InputError

MAX_UNPACKED = 4 * 2**30  # bytes of a table inside a QIIME 2 artifact
MAX_METADATA = 2**20
MAX_CELLS = 2**29  # of a table once it is dense: 4 GiB


def is_hdf5(path: Path) -> bool:
    """Return whether a file begins as HDF5 does."""
    with path.open("rb") as stream:
        return stream.read(8) == b"\x89HDF\r\n\x1a\n"


def from_biom(path: Path | io.BytesIO, name: Path | None = None) -> pd.DataFrame:
    """Return samples x features of a BIOM table.

    Raises
    ------
    InputError
        If it is no BIOM table, or one too large to be dense.
    """
    import biom
    import h5py

    shown = name or path
    try:
        if isinstance(path, io.BytesIO) or is_hdf5(path):
            with h5py.File(path, "r") as opened:
                table = biom.Table.from_hdf5(opened)
        else:
            table = biom.Table.from_json(json.loads(path.read_text(encoding="utf-8")))
    except Exception as error:  # the library raises whatever its parsers do
        hint = "Export it again, or give tab-separated text with the suffix .tsv."
        raise InputError(shown, "", f"no BIOM table ({error})", "BIOM v1 or v2.1", hint) from None
    if table.shape[0] * table.shape[1] > MAX_CELLS:
        raise InputError(
            shown,
            "",
            f"{table.shape[0]} features x {table.shape[1]} samples",
            f"at most {MAX_CELLS} cells",
            "Filter or aggregate the table first.",
        )
    dense = table.matrix_data.T.toarray()
    return pd.DataFrame(dense, index=table.ids("sample"), columns=table.ids("observation"))


def from_qza(path: Path) -> pd.DataFrame:
    """Return samples x features of a QIIME 2 artifact FeatureTable[Frequency].

    Only two members are read, into memory and up to a size; nothing is unpacked to disk.

    Raises
    ------
    InputError
        If it is no artifact, holds something else, or is too large.
    """
    try:
        with zipfile.ZipFile(path) as opened:
            _check_semantic_type(path, opened)
            content = _member(path, opened, "data/feature-table.biom", MAX_UNPACKED)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
        hint = "Fetch the file again."
        raise InputError(path, "", f"no zip file ({error})", "a QIIME 2 artifact", hint) from None
    return from_biom(io.BytesIO(content), path)


def _member(path: Path, opened: zipfile.ZipFile, name: str, limit: int) -> bytes:
    """Return a member of the artifact's one root folder; the size is checked before reading."""
    found = [
        i
        for i in opened.infolist()
        if i.filename.count("/") == name.count("/") + 1 and i.filename.endswith("/" + name)
    ]
    if len(found) != 1 or found[0].filename.startswith(("/", "..")):
        hint = "Give an artifact of the type FeatureTable[Frequency]."
        raise InputError(path, "", f"{len(found)} members {name}", f"one ROOT/{name}", hint)
    if found[0].file_size > limit:
        raise InputError(
            path,
            found[0].filename,
            f"{found[0].file_size} bytes unpacked",
            f"at most {limit}",
            "Filter the table first.",
        )
    return opened.read(found[0])  # reads no more than file_size and checks the CRC


def _check_semantic_type(path: Path, opened: zipfile.ZipFile) -> None:
    import yaml

    try:
        about = yaml.safe_load(_member(path, opened, "metadata.yaml", MAX_METADATA))
    except (yaml.YAMLError, UnicodeDecodeError):
        about = None
    kind = about.get("type") if isinstance(about, dict) else None
    if kind != "FeatureTable[Frequency]":
        raise InputError(
            path,
            "metadata.yaml, type",
            str(kind),
            "FeatureTable[Frequency]",
            "Export the table of raw counts.",
        )
