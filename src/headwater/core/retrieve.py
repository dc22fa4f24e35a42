"""Where a file comes from: a local path, the mirror, the network - in this order.

``config/datasets.tsv`` has one row per file. `obtain` puts the file of a row at its place and
has checked it against its sha256; `headwater.core.transfer` does the fetching.
"""

from __future__ import annotations

import csv
import fcntl
import gzip
import logging
import lzma
import os
import re
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from .config import nearest
from .errors import InputError
from .io import sha256
from .part import TransferError
from .transfer import fetch

COLUMNS = ("dataset", "file", "urls", "sha256", "bytes", "licence", "citation", "registration")
SUMS = "SHA256SUMS"
# What a cut or encrypted archive raises, beside the errors of its own format.
BROKEN = (EOFError, zlib.error, lzma.LZMAError, RuntimeError)


def read_datasets(path: str | Path) -> list[dict[str, str]]:
    """Read the table of files.

    Returns
    -------
    list of dict
        One per row, with the columns of `COLUMNS` as text.

    Raises
    ------
    InputError
        For a missing column, a file named twice, a bad checksum or size, or a path that is
        absolute or climbs out of its folder.
    """
    path = Path(path)
    with path.open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        header = reader.fieldnames or []
        missing = [c for c in COLUMNS if c not in header]
        if missing:
            raise InputError(
                path,
                "header",
                f"no column {missing[0]!r}",
                "tab-separated " + ", ".join(COLUMNS),
                nearest(missing[0], header),
            )
        rows = [{c: (row.get(c) or "").strip() for c in COLUMNS} for row in reader]
    seen: dict[str, int] = {}
    for number, row in enumerate(rows, start=2):
        _check_row(path, number, row)
        if row["file"] in seen:
            raise InputError(
                path,
                f"row {number}, column file",
                f"{row['file']!r} as in row {seen[row['file']]}",
                "each file once",
            )
        seen[row["file"]] = number
    return rows


def _check_row(path: Path, number: int, row: Mapping[str, str]) -> None:
    def fault(column: str, expected: str) -> InputError:
        return InputError(path, f"row {number}, column {column}", repr(row[column]), expected)

    name = row["file"]
    if not name or name.startswith(("/", "~")) or ".." in PurePosixPath(name).parts:
        raise fault("file", "a relative path without '..'")
    if not all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in row["sha256"].split()):
        raise fault("sha256", "64 hexadecimal digits, or nothing")
    if row["bytes"] and not row["bytes"].isdigit():
        raise fault("bytes", "a whole number, or nothing")
    for url in row["urls"].split():
        if not url.startswith(("https://", "http://", "file:")):
            raise fault("urls", "addresses with spaces between them")
        if url.startswith("http://") and not row["sha256"]:
            raise fault("urls", "https, or a sha256 beside plain http")


class Place(NamedTuple):
    """Where a file is to be had: ``local``, ``mirror``, ``network`` or ``absent``, and why."""

    kind: str
    path: Path | None = None
    why: str = ""


def locate(
    row: Mapping[str, str],
    dest: str | Path,
    mirror: str | Path | None = None,
    offline: bool = False,
) -> Place:
    """Decide where the file of a row comes from; changes nothing.

    Parameters
    ----------
    row : mapping
        As `read_datasets` gives it.
    dest : path
        Where the file is wanted; what is there already comes first.
    mirror : path, optional
        Folder laid out like the column ``file``.
    offline : bool
        Never use the network.
    """
    if Path(dest).is_file():
        return Place("local", Path(dest))
    source = Path(mirror) / row["file"] if mirror else None
    if source is not None and source.is_file():
        return Place("mirror", source)
    looked = f"not in the mirror ({source})" if source else "no mirror is set"
    if offline:
        return Place("absent", None, f"{looked}, the run is offline")
    if not row["urls"]:
        return Place("absent", None, f"{looked}, config/datasets.tsv knows no address")
    return Place("network", None, looked)


def obtain(
    row: Mapping[str, str],
    dest: str | Path,
    mirror: str | Path | None = None,
    offline: bool = False,
    *,
    sums: str | Path | None = None,
    log: logging.Logger | None = None,
) -> Place:
    """Put the file of a row at `dest`, checked, and return where it came from.

    Parameters
    ----------
    row, dest, mirror, offline
        As of `locate`. A file of the mirror is read in place: `dest` becomes a link to it (a
        copy where the file system knows no links).
    sums : path, optional
        Where checksums that the table lacks are kept; `SHA256SUMS` in the downloads folder
        by default.
    log : Logger, optional

    Raises
    ------
    InputError
        If the file is nowhere, or is not what its checksum says.
    """
    log = log or logging.getLogger("headwater")
    dest = Path(dest)
    sums = Path(sums) if sums else _sums_of(dest, row["file"])
    # The first is what the network gives; others are known copies of it.
    known = row["sha256"].split() or _recorded(sums, row["file"]).split()
    expected = known[0] if known else ""
    place = locate(row, dest, mirror, offline)
    if place.path is not None:
        found = sha256(place.path)
        if known and found not in known:
            raise _wrong_sum(place.path, found, " or ".join(known))
        if place.kind == "mirror":
            _link(place.path.resolve(), dest)
    else:
        found = _from_network(row, dest, expected, place, log)
    if not expected:
        _record(sums, row["file"], found)
    log.info("%s: %s, sha256 %s", row["file"], place.kind, found)
    return place


def _from_network(
    row: Mapping[str, str], dest: Path, expected: str, place: Place, log: logging.Logger
) -> str:
    by_hand = (
        f"Put the file at {dest} and run again, "
        f"or set HEADWATER_MIRROR to a folder that holds {row['file']}."
    )
    if row["registration"]:
        by_hand = f"{row['registration']} {by_hand}"
    if place.kind == "absent":
        raise InputError(row["file"], "", f"no such file: {place.why}", "the file", by_hand)
    size = int(row["bytes"]) if row["bytes"] else None
    try:
        return fetch(row["urls"].split(), dest, sha256=expected or None, size=size, log=log)
    except TransferError as error:
        raise InputError(
            row["file"], f"data set {row['dataset']}", f"no transfer: {error}", "", by_hand
        ) from None


def _wrong_sum(path: Path, found: str, expected: str) -> InputError:
    return InputError(
        path,
        "",
        f"sha256 {found}",
        expected,
        "The file was changed or is another version: move it away to get it anew, "
        "or correct the checksum in config/datasets.tsv or SHA256SUMS.",
    )


def _link(source: Path, dest: Path) -> None:
    """Make `dest` a link to `source`, in one step."""
    dest.parent.mkdir(parents=True, exist_ok=True)
    tmp = dest.with_name(f".tmp-{os.getpid()}-{dest.name}")
    tmp.unlink(missing_ok=True)
    try:
        tmp.symlink_to(source)
    except OSError:
        shutil.copyfile(source, tmp)
    tmp.replace(dest)


def _sums_of(dest: Path, name: str) -> Path:
    """Return the checksum file of the downloads folder that `dest` lies in."""
    parts = PurePosixPath(name).parts
    inside = dest.parts[-len(parts) :] == parts
    return (dest.parents[len(parts) - 1] if inside else dest.parent) / SUMS


def _recorded(sums: Path, name: str) -> str:
    if not sums.is_file():
        return ""
    lines = (line.split("  ", 1) for line in sums.read_text(encoding="utf-8").splitlines())
    return next((digest for digest, *rest in lines if rest == [name]), "")


def _record(sums: Path, name: str, digest: str) -> None:
    """Append a checksum; jobs that run at once take turns."""
    sums.parent.mkdir(parents=True, exist_ok=True)
    with sums.open("a", encoding="utf-8") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        known = _recorded(sums, name)
        if known and known != digest:
            raise _wrong_sum(sums, digest, known)
        if not known:
            # a writer that was killed may have left half a line
            cut = sums.read_bytes()[-1:] not in {b"", b"\n"}
            stream.write(("\n" if cut else "") + f"{digest}  {name}\n")
            stream.flush()
            os.fsync(stream.fileno())


def unpack(archive: str | Path, folder: str | Path, max_bytes: int = 50 * 2**30) -> None:
    """Unpack a tar or zip file into a new `folder`, whole or not at all.

    Raises
    ------
    InputError
        If a member would land outside, is a link or a device, if the content is larger than
        `max_bytes`, the archive is not whole, or `folder` holds something already.
    """
    archive, folder = Path(archive), Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(folder, "", "something that is there already", "a new folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    tmp = Path(tempfile.mkdtemp(prefix=".tmp-", dir=folder.parent))
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as opened:
                _check_members(archive, _zip_members(opened), max_bytes)
                opened.extractall(tmp)
        else:
            with tarfile.open(archive) as opened:
                _check_members(archive, _tar_members(opened), max_bytes)
                opened.extractall(tmp, filter="data")
        tmp.chmod(0o755)
        tmp.replace(folder)
    except (tarfile.TarError, zipfile.BadZipFile, gzip.BadGzipFile, *BROKEN) as error:
        raise InputError(
            archive, "", f"no whole archive ({error})", "a tar or zip file", "Fetch it again."
        ) from None
    finally:
        shutil.rmtree(tmp, ignore_errors=True)


def _zip_members(opened: zipfile.ZipFile) -> Iterable[tuple[str, int, bool]]:
    for member in opened.infolist():
        link = stat.S_ISLNK(member.external_attr >> 16)
        yield member.filename, member.file_size, link


def _tar_members(opened: tarfile.TarFile) -> Iterable[tuple[str, int, bool]]:
    for member in opened:  # not getmembers(): a bomb is refused at its header
        yield member.name, member.size, not (member.isfile() or member.isdir())


def _check_members(archive: Path, members: Iterable[tuple[str, int, bool]], max_bytes: int) -> None:
    total = 0
    for name, size, special in members:
        path = PurePosixPath(name.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts or special:
            raise InputError(
                archive,
                f"member {name!r}",
                "a link, a device or a path that leaves the folder",
                "plain files below the folder",
                "Do not trust this archive.",
            )
        total += size
        if total > max_bytes:
            raise InputError(archive, "", f"more than {max_bytes} bytes inside", "less")
