"""Where a file comes from: a local path, the mirror, the network - in this order.

``config/datasets.tsv`` has one row per file. `obtain` puts the file of a row at its place and
has checked it against its sha256; `headwater.core.transfer` does the fetching.
"""

from __future__ import annotations

import csv
import fcntl
import logging
import os
import re
import shutil
import stat
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from .config import nearest
from .errors import InputError
from .io import sha256
from .transfer import TransferError, fetch

COLUMNS = ("dataset", "file", "urls", "sha256", "bytes", "licence", "citation", "registration")
SUMS = "SHA256SUMS"


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
    if row["sha256"] and not re.fullmatch(r"[0-9a-f]{64}", row["sha256"]):
        raise fault("sha256", "64 hexadecimal digits, or nothing")
    if row["bytes"] and not row["bytes"].isdigit():
        raise fault("bytes", "a whole number, or nothing")
    for url in row["urls"].split():
        if not url.startswith(("https://", "http://", "file:")):
            raise fault("urls", "addresses with spaces between them")
        if url.startswith("http://") and not row["sha256"]:
            raise fault("urls", "https, or a sha256 beside plain http")


def obtain(
    row: Mapping[str, str],
    dest: str | Path,
    *,
    mirror: str | Path | None = None,
    offline: bool = False,
    sums: str | Path | None = None,
    log: logging.Logger | None = None,
) -> None:
    """Put the file of a row at `dest`, checked.

    Parameters
    ----------
    row : mapping
        As `read_datasets` gives it.
    dest : path
        A file of the mirror is read in place: `dest` becomes a link to it (a copy where the
        file system knows no links).
    mirror : path, optional
        Folder laid out like the column ``file``.
    offline : bool
        Never use the network.
    sums : path, optional
        Where checksums that the table lacks are kept; `SHA256SUMS` beside the downloads by
        default.
    log : Logger, optional

    Raises
    ------
    InputError
        If the file is nowhere, or is not what its checksum says.
    """
    log = log or logging.getLogger("headwater")
    dest = Path(dest)
    sums = Path(sums) if sums else _sums_of(dest, row["file"])
    expected = row["sha256"] or _recorded(sums, row["file"])
    source = Path(mirror) / row["file"] if mirror else None
    if source is not None and source.is_file():
        found = sha256(source)
        if expected and found != expected:
            raise _wrong_sum(source, found, expected)
        _link(source.resolve(), dest)
        log.info("%s: from the mirror", row["file"])
    else:
        found = _from_network(row, dest, expected, offline, source, log)
    if not expected:
        _record(sums, row["file"], found)


def _from_network(
    row: Mapping[str, str],
    dest: Path,
    expected: str,
    offline: bool,
    source: Path | None,
    log: logging.Logger,
) -> str:
    looked = f"not in the mirror ({source})" if source else "no mirror is set"
    by_hand = (
        f"Put the file at {dest}, or set HEADWATER_MIRROR to a folder that holds {row['file']}."
    )
    if offline or not row["urls"]:
        why = "the run is offline" if offline else "config/datasets.tsv knows no address"
        hint = f"{row['registration']} {by_hand}" if row["registration"] else by_hand
        raise InputError(row["file"], "", f"no such file: {looked}, {why}", "the file", hint)
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
        "The file was changed or is another version: replace it, or correct its row.",
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
    depth = len(PurePosixPath(name).parts)
    return dest.parents[depth - 1] / SUMS if len(dest.parents) >= depth else dest.parent / SUMS


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
        if not _recorded(sums, name):
            stream.write(f"{digest}  {name}\n")
            stream.flush()
            os.fsync(stream.fileno())


def unpack(archive: str | Path, folder: str | Path, max_bytes: int = 50 * 2**30) -> None:
    """Unpack a tar or zip file into a new `folder`, whole or not at all.

    Raises
    ------
    InputError
        If a member would land outside, is a link or a device, or the content is larger than
        `max_bytes`.
    """
    archive, folder = Path(archive), Path(folder)
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
        tmp.replace(folder)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
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
    for member in opened.getmembers():
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
