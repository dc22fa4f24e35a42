"""The part of a file that is still being fetched: ``dest.part`` and ``dest.part.json`` beside it.

`Job` knows how many bytes are there and their running digest, and gives the part its final name
once size and checksum are right.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import logging
import shutil
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

SPARE = 1.1  # of the size, free before a transfer starts


class TransferError(Exception):
    """No address gave the file; the text names each with its own error."""


class NextUrl(Exception):
    """An address that will not give the file, however often it is asked."""


class Retry(Exception):
    """An address that may give the file later; `pause` is what the server asked for."""

    def __init__(self, why: str, pause: float | None = None) -> None:
        super().__init__(why)
        self.pause = pause


@dataclass
class Job:
    """One file being fetched, and the running digest of the first `hashed` bytes of its part."""

    dest: Path
    sha256: str | None
    size: int | None
    timeout: tuple[float, float]
    log: logging.Logger
    insecure: bool = False
    bar: bool = False
    hashed: int = 0
    digest: Any = field(default_factory=hashlib.sha256)

    @property
    def part(self) -> Path:
        """Where the bytes are kept until all have come."""
        return self.dest.with_name(self.dest.name + ".part")

    @property
    def note(self) -> Path:
        """Where it says which version of the file the bytes belong to."""
        return self.dest.with_name(self.dest.name + ".part.json")

    def length(self) -> int:
        """Return how many bytes are there."""
        return self.part.stat().st_size if self.part.is_file() else 0

    def drop(self) -> None:
        """Remove the part and its note."""
        self.part.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)
        self.hashed, self.digest = 0, hashlib.sha256()

    def hash_up_to(self, length: int) -> None:
        """Let the digest cover `length` bytes; reads the part only if it did not."""
        if self.hashed == length:
            return
        self.digest = hashlib.sha256()
        with self.part.open("rb") as stream:
            left = length
            while left and (block := stream.read(min(left, 1 << 20))):
                self.digest.update(block)
                left -= len(block)
        self.hashed = length

    def wants(self, *suffixes: str) -> bool:
        """Return whether the wanted file has a name with one of these ends."""
        return self.dest.name.lower().endswith(suffixes)

    def mark_of(self, url: str) -> str:
        """Return what the server told its version of the file apart by, "" if nothing is noted."""
        try:
            note = json.loads(self.note.read_text())
            return str(note["mark"]) if note["url"] == shown(url) else ""
        except (OSError, ValueError, KeyError, TypeError):
            return ""

    def write_mark(self, url: str, mark: str) -> None:
        """Note the version that `url` now sends."""
        self.note.write_text(json.dumps({"url": shown(url), "mark": mark}))

    def check_disk(self, total: int | None, start: int) -> None:
        """Raise TransferError if the bytes from `start` to `total` would not find room."""
        if total is None:
            return
        needed = int((total - start) * SPARE)
        free = shutil.disk_usage(self.dest.parent).free
        if needed > free:
            raise TransferError(
                f"{self.dest.name} needs {needed / 2**20:.1f} MiB, {free / 2**20:.1f} MiB are free"
                f" in {self.dest.parent}"
            )

    def complete(self, total: int | None, resumed: bool = False) -> str:
        """Check size and checksum of the part, give it its name and return its sha256.

        Raises
        ------
        Retry
            If bytes are missing or, with `resumed`, belong to different versions.
        NextUrl
            If these are not the bytes that are wanted.
        """
        length = self.length()
        if total is not None and length < total:
            raise Retry(f"the connection ended after {length} of {total} bytes")
        if total is not None and length > total:
            self.drop()
            raise NextUrl(f"{length} bytes came, {total} were announced")
        self.hash_up_to(length)
        found = self.digest.hexdigest()
        if self.sha256 is not None and found != self.sha256:
            self.drop()
            if resumed:  # the older bytes may be at fault: once more, whole
                raise Retry("the pieces do not fit together")
            raise NextUrl(f"sha256 is {found}, the table says {self.sha256}")
        if self.sha256 is None and not self._whole_archive():
            self.drop()
            raise Retry(f"the archive of {length} bytes has no end")
        self.part.replace(self.dest)
        self.note.unlink(missing_ok=True)
        return found

    def _whole_archive(self) -> bool:
        """Return False for a truncated gzip or zip: the last resort where no checksum is known."""
        if self.wants(".zip"):
            return zipfile.is_zipfile(self.part)
        if self.wants(".gz", ".tgz"):
            try:
                with gzip.open(self.part) as stream:
                    while stream.read(1 << 20):
                        pass
            except (EOFError, gzip.BadGzipFile, zlib.error):
                return False
        return True


def shown(url: str) -> str:
    """Return an address without user names, passwords and queries, which may hold keys."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.port:
        host += f":{parts.port}"
    return urlunsplit((parts.scheme, host, parts.path, "", ""))
