"""Fetch a file so that a bad connection costs time and not bytes, and no bad file stays.

``dest.part`` and ``dest.part.json`` lie beside `dest` until the last byte is there and checked;
a later call goes on from them, also after a kill. Nothing under the final name is ever partial.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit, urlunsplit

if TYPE_CHECKING:
    import requests

CONNECT, READ = 10.0, 60.0  # seconds
LONGEST_PAUSE = 30.0
BLOCK = 1 << 16
SPARE = 1.1  # of the size, free before a transfer starts
AGAIN = {408, 425, 429, 500, 502, 503, 504}
HTML = (b"<!doctype html", b"<html")


class TransferError(Exception):
    """No address gave the file; the text names each with its own error."""


class _NextUrl(Exception):
    """An address that will not give the file, however often it is asked."""


class _Retry(Exception):
    """An address that may give the file later; `pause` is what the server asked for."""

    def __init__(self, why: str, pause: float | None = None) -> None:
        super().__init__(why)
        self.pause = pause


@dataclass
class _Job:
    """One file being fetched."""

    dest: Path
    sha256: str | None
    size: int | None
    timeout: tuple[float, float]
    log: logging.Logger
    insecure: bool

    @property
    def part(self) -> Path:
        return self.dest.with_name(self.dest.name + ".part")

    @property
    def note(self) -> Path:
        return self.dest.with_name(self.dest.name + ".part.json")

    def drop(self) -> None:
        self.part.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)


def fetch(
    urls: Sequence[str],
    dest: str | Path,
    sha256: str | None = None,
    size: int | None = None,
    *,
    tries: int = 5,
    pause: float = 1.0,
    sleep: Callable[[float], Any] = time.sleep,
    timeout: tuple[float, float] = (CONNECT, READ),
    log: logging.Logger | None = None,
    insecure: bool = False,
) -> str:
    """Fetch the first of `urls` that gives the file and return its sha256.

    Parameters
    ----------
    urls : sequence of str
        https, http (only with `sha256`) or file addresses, tried in turn.
    dest : path
    sha256, size
        What the file must be; a file already at `dest` that fits is kept.
    tries : int
        Per address; a try that brought new bytes does not count.
    pause : float
        Seconds before the second try; doubles, at most 30, or what Retry-After asks for.
    sleep : callable
        For tests.
    timeout : (float, float)
        To connect and between two pieces, in seconds.
    insecure : bool
        Allow plain http without a checksum (tests on the loopback address).

    Raises
    ------
    TransferError
        Naming every address with its error.
    """
    log = log or logging.getLogger("headwater")
    job = _Job(Path(dest), sha256, size, timeout, log, insecure)
    job.dest.parent.mkdir(parents=True, exist_ok=True)
    with _alone(job):
        if job.dest.is_file():
            found = _digest(job.dest)
            if sha256 is None or found == sha256:
                return found
        errors = []
        for url in urls:
            try:
                return _persist(job, url, tries, pause, sleep)
            except _NextUrl as error:
                errors.append(f"{_shown(url)}: {error}")
                log.warning("%s: %s", _shown(url), error)
    raise TransferError("; ".join(errors) or "no address is given")


@contextmanager
def _alone(job: _Job) -> Iterator[None]:
    """Let two jobs that want one file take turns; the second finds it there."""
    lock = job.dest.with_name(f".{job.dest.name}.lock")
    while True:
        with lock.open("w") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            if not _same_file(stream.fileno(), lock):
                continue  # the one before us removed it while we waited
            try:
                yield
            finally:
                lock.unlink(missing_ok=True)
            return


def _same_file(descriptor: int, path: Path) -> bool:
    try:
        return os.fstat(descriptor).st_ino == path.stat().st_ino
    except FileNotFoundError:
        return False


def _persist(job: _Job, url: str, tries: int, pause: float, sleep: Callable[[float], Any]) -> str:
    """Ask one address until the file is there; a cut that brought bytes is not a failed try."""
    failed = 0
    while True:
        before = _length(job.part)
        try:
            return _once(job, url)
        except _Retry as error:
            failed = 0 if _length(job.part) > before else failed + 1
            if failed >= tries:
                raise _NextUrl(f"{error} ({tries} times)") from None
            wait = error.pause if error.pause is not None else pause * 2 ** max(failed - 1, 0)
            job.log.info("%s: %s; again in %.0f s", _shown(url), error, wait)
            sleep(min(wait, LONGEST_PAUSE))


def _once(job: _Job, url: str) -> str:
    scheme = urlsplit(url).scheme
    if scheme == "file":
        return _from_file(job, url)
    if scheme == "http" and job.sha256 is None and not job.insecure:
        raise _NextUrl("plain http is used only with a sha256")
    import requests

    try:
        with requests.Session() as session:
            return _request(job, url, session)
    except requests.exceptions.ReadTimeout:
        raise _Retry(f"nothing came for {job.timeout[1]:g} s") from None
    except (requests.exceptions.ConnectionError, requests.exceptions.ChunkedEncodingError) as error:
        raise _Retry(f"the connection was cut ({type(error).__name__})") from None
    except requests.exceptions.RequestException as error:
        raise _NextUrl(f"{type(error).__name__}") from None


def _request(job: _Job, url: str, session: requests.Session) -> str:
    start, mark = _resume_point(job, url)
    headers = {"Accept-Encoding": "identity"}
    if start:
        headers |= {"Range": f"bytes={start}-", "If-Range": mark}
    with session.get(url, headers=headers, stream=True, timeout=job.timeout) as answer:
        if urlsplit(url).scheme == "https" and urlsplit(answer.url).scheme == "http":
            raise _NextUrl("redirected from https to http")
        start = _accepted(job, answer, start)
        total = _total(job, answer, start)
        _check_disk(job, total, start)
        mark = answer.headers.get("ETag") or answer.headers.get("Last-Modified") or ""
        job.note.write_text(json.dumps({"url": _shown(url), "mark": mark}))
        _write_stream(job, answer, start, total)
    return _complete(job, total)


def _resume_point(job: _Job, url: str) -> tuple[int, str]:
    """Return how many bytes can be kept and the mark of the version they belong to."""
    start = _length(job.part)
    if not start:
        return 0, ""
    try:
        note = json.loads(job.note.read_text())
    except (OSError, ValueError):
        note = {}
    mark = str(note.get("mark", ""))
    if not mark or mark.startswith("W/") or (job.size is not None and start > job.size):
        job.drop()
        return 0, ""
    if note.get("url") != _shown(url) and not job.sha256:
        job.drop()  # another address may hold another version, and nothing would tell
        return 0, ""
    return start, mark


def _accepted(job: _Job, answer: requests.Response, start: int) -> int:
    """Return where the body begins, or say what to do about the status."""
    status = answer.status_code
    if status == 416:
        job.drop()
        raise _Retry("the server could not go on from where the last part ended")
    if status in AGAIN:
        raise _Retry(f"status {status}", _retry_after(answer))
    if status not in {200, 206}:
        raise _NextUrl(f"status {status}")
    if status == 206 and start:
        begin = answer.headers.get("Content-Range", "").removeprefix("bytes ").split("-")[0]
        if begin != str(start):
            job.drop()
            raise _Retry(f"asked for byte {start}, given byte {begin or '?'}")
        return start
    kind = answer.headers.get("Content-Type", "")
    if "html" in kind and job.dest.suffix not in {".html", ".htm"}:
        raise _NextUrl("an HTML page came in place of data")
    return 0


def _retry_after(answer: requests.Response) -> float | None:
    value = answer.headers.get("Retry-After", "")
    return float(value) if value.isdigit() else None


def _total(job: _Job, answer: requests.Response, start: int) -> int | None:
    """Return the size that the server announces for the whole file, if it does."""
    length = answer.headers.get("Content-Length", "")
    total = start + int(length) if length.isdigit() else None
    if total is not None and job.size is not None and total != job.size:
        job.drop()
        raise _NextUrl(f"the server offers {total} bytes, the table says {job.size}")
    return job.size if total is None else total


def _check_disk(job: _Job, total: int | None, start: int) -> None:
    if total is None:
        return
    needed = int((total - start) * SPARE)
    free = shutil.disk_usage(job.dest.parent).free
    if needed > free:
        raise TransferError(
            f"{job.dest.name} needs {needed / 2**20:.1f} MiB, {free / 2**20:.1f} MiB are free"
            f" in {job.dest.parent}"
        )


def _write_stream(job: _Job, answer: requests.Response, start: int, total: int | None) -> None:
    from tqdm import tqdm

    bar = tqdm(
        total=total,
        initial=start,
        unit="B",
        unit_scale=True,
        desc=job.dest.name,
        disable=not sys.stderr.isatty(),
    )
    tenth = 0
    mode = "r+b" if start else "wb"
    with job.part.open(mode) as stream, bar:
        stream.seek(start)
        stream.truncate()
        first = not start
        for block in answer.iter_content(BLOCK):
            if first and _is_page(block) and job.dest.suffix not in {".html", ".htm"}:
                stream.close()
                job.drop()
                raise _NextUrl("an HTML page came in place of data")
            first = False
            stream.write(block)
            stream.flush()
            bar.update(len(block))
            if total and bar.disable and stream.tell() * 10 // total > tenth:
                tenth = stream.tell() * 10 // total
                job.log.info("%s: %d %% of %d bytes", job.dest.name, 10 * tenth, total)
        os.fsync(stream.fileno())


def _is_page(block: bytes) -> bool:
    return block.lstrip()[:32].lower().startswith(HTML)


def _complete(job: _Job, total: int | None) -> str:
    """Check size and checksum of the part and give it its name."""
    length = _length(job.part)
    if total is not None and length < total:
        raise _Retry(f"the connection ended after {length} of {total} bytes")
    if total is not None and length > total:
        job.drop()
        raise _NextUrl(f"{length} bytes came, {total} were announced")
    found = _digest(job.part)
    if job.sha256 is not None and found != job.sha256:
        job.drop()
        raise _NextUrl(f"sha256 is {found}, the table says {job.sha256}")
    job.part.replace(job.dest)
    job.note.unlink(missing_ok=True)
    return found


def _from_file(job: _Job, url: str) -> str:
    source = Path(unquote(urlsplit(url).path))
    if not source.is_file():
        raise _NextUrl("no such file")
    _check_disk(job, source.stat().st_size, 0)
    shutil.copyfile(source, job.part)
    return _complete(job, job.size)


def _length(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _shown(url: str) -> str:
    """Return an address without user names, passwords and queries, which may hold keys."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.port:
        host += f":{parts.port}"
    return urlunsplit((parts.scheme, host, parts.path, "", ""))
