"""Fetch a file so that a bad connection costs time and not bytes, and no bad file stays.

``dest.part`` and ``dest.part.json`` lie beside `dest` until the last byte is there and checked;
a later call goes on from them, also after a kill. Nothing under the final name is ever partial.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urljoin, urlsplit

from .part import Job, NextUrl, Retry, TransferError, shown

if TYPE_CHECKING:
    import requests

CONNECT, READ = 10.0, 60.0  # seconds
LONGEST_PAUSE = 30.0
BLOCK = 1 << 16
AGAIN = {408, 425, 429, 500, 502, 503, 504}
HTML = (b"<!doctype html", b"<html", b"<head")
LOOPBACK = {"127.0.0.1", "::1", "localhost"}


def fetch(
    urls: Sequence[str],
    dest: str | Path,
    sha256: str | None = None,
    size: int | None = None,
    *,
    tries: int = 5,
    progress: bool | None = None,
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
        Per address; a try that got further than any before does not count.
    progress : bool, optional
        A bar instead of one line per tenth; by default where there is a terminal.
    pause : float
        Seconds before the second try; doubles, at most 30, or what Retry-After asks for.
    sleep : callable
        For tests.
    timeout : (float, float)
        To connect and between two pieces, in seconds.
    insecure : bool
        Allow plain http without a checksum from the loopback address (tests).

    Raises
    ------
    TransferError
        Naming every address with its error, or saying that the disk is too full.
    """
    log = log or logging.getLogger("headwater")
    bar = sys.stderr.isatty() if progress is None else progress
    job = Job(Path(dest), sha256, size, timeout, log, insecure, bar)
    job.dest.parent.mkdir(parents=True, exist_ok=True)
    with _alone(job):
        if job.dest.is_file():
            with job.dest.open("rb") as stream:
                found = hashlib.file_digest(stream, "sha256").hexdigest()
            if sha256 is None or found == sha256:
                return found
        job.check_disk(size, job.length())
        errors = []
        for url in urls:
            try:
                return _persist(job, url, tries, pause, sleep)
            except NextUrl as error:
                errors.append(f"{shown(url)}: {error}")
                log.warning("%s: %s", shown(url), error)
    raise TransferError("; ".join(errors) or "no address is given")


@contextmanager
def _alone(job: Job) -> Iterator[None]:
    """Let two jobs that want one file take turns; the second finds it there."""
    lock = job.dest.with_name(f".{job.dest.name}.lock")
    while True:
        with lock.open("w") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                job.log.info("%s: another job fetches it, waiting", job.dest.name)
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


def _persist(job: Job, url: str, tries: int, pause: float, sleep: Callable[[float], Any]) -> str:
    """Ask one address until the file is there; getting further is not a failed try."""
    failed, furthest = 0, job.length()
    while True:
        try:
            return _once(job, url)
        except Retry as error:
            # not "further than last time": a part that is dropped and fetched again would
            # look like progress for ever
            failed = 0 if job.length() > furthest else failed + 1
            furthest = max(furthest, job.length())
            if failed >= tries:
                raise NextUrl(f"{error} ({tries} times)") from None
            wait = error.pause if error.pause is not None else pause * 2 ** max(failed - 1, 0)
            wait = min(wait, LONGEST_PAUSE)
            job.log.info("%s: %s; again in %.0f s", shown(url), error, wait)
            sleep(wait)


def _once(job: Job, url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme == "file":
        return _from_file(job, url)
    loopback = job.insecure and parts.hostname in LOOPBACK
    if parts.scheme == "http" and job.sha256 is None and not loopback:
        raise NextUrl("plain http is used only with a sha256")
    if job.sha256 and job.size and job.length() == job.size:
        return job.complete(job.size, resumed=True)  # killed between the last byte and the end
    import requests
    from urllib3.exceptions import HTTPError, ReadTimeoutError

    # only the kinds of errors are told: their texts hold whole addresses, maybe with keys
    try:
        with _session() as session:
            return _request(job, url, session)
    except requests.exceptions.ConnectTimeout:
        raise Retry(f"no connection within {job.timeout[0]:g} s") from None
    except (requests.exceptions.ReadTimeout, ReadTimeoutError):
        raise Retry(f"nothing came for {job.timeout[1]:g} s") from None
    except requests.exceptions.ConnectionError as error:
        reason = getattr(error.args[0] if error.args else None, "reason", None) or error
        raise Retry(f"no connection ({type(reason).__name__})") from None
    except HTTPError as error:
        so_far = f" after {job.length()} bytes" if job.length() else ""
        raise Retry(f"the connection was cut{so_far} ({type(error).__name__})") from None
    except requests.exceptions.RequestException as error:
        raise NextUrl(f"{type(error).__name__}") from None


def _session() -> requests.Session:
    """Return a session that follows no redirect from https to http (proxies as `requests`)."""
    import requests

    class Session(requests.Session):
        def get_redirect_target(self, resp: requests.Response) -> str | None:
            target = super().get_redirect_target(resp)
            if target and _less_safe(resp.url, target):
                raise NextUrl("redirected from https to http")
            return target

    return Session()


def _less_safe(url: str, target: str) -> bool:
    return urlsplit(url).scheme == "https" and urlsplit(urljoin(url, target)).scheme == "http"


def _request(job: Job, url: str, session: requests.Session) -> str:
    start, mark = _resume_point(job, url)
    headers = {"Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    if mark:
        headers["If-Range"] = mark
    with session.get(url, headers=headers, stream=True, timeout=job.timeout) as answer:
        if answer.status_code == 416 and start and _size_told(answer) == start:
            return job.complete(start, resumed=True)
        start = _accepted(job, answer, start, mark)
        total = _total(job, answer, start)
        job.check_disk(total, start)
        head = b"" if start else answer.raw.read(512, decode_content=False)
        if _is_page(head) and not job.wants(".html", ".htm"):
            raise NextUrl("an HTML page came in place of data")
        if not start:
            job.drop()  # before the note: an old part must never stand beside a new mark
        job.write_mark(url, _mark(answer))
        _write_stream(job, answer, head, start, total)
    return job.complete(total, resumed=start > 0)


def _is_page(head: bytes) -> bool:
    text = head.lstrip(b"\xef\xbb\xbf \r\n\t").lower()
    return text.startswith(HTML) or (text.startswith(b"<!--") and b"<html" in text)


def _mark(answer: requests.Response) -> str:
    """Return what tells versions of the file apart; weak ETags do not tell bytes."""
    tag = answer.headers.get("ETag", "")
    return tag if tag and not tag.startswith("W/") else answer.headers.get("Last-Modified", "")


def _resume_point(job: Job, url: str) -> tuple[int, str]:
    """Return how many bytes can be kept and the mark of the version they belong to."""
    start = job.length()
    mark = job.mark_of(url)
    # Without a mark only the checksum can tell at the end whether the pieces fit.
    if not start or (job.size and start > job.size) or not (mark or job.sha256):
        job.drop()
        return 0, ""
    return start, mark


def _accepted(job: Job, answer: requests.Response, start: int, mark: str) -> int:
    """Return where the body begins, or say what to do about the status."""
    status = answer.status_code
    if status == 416:
        job.drop()
        raise Retry("the server could not go on from where the last part ended")
    if status in AGAIN:
        raise Retry(f"status {status}", _retry_after(answer))
    if status not in {200, 206}:
        raise NextUrl(f"status {status}")
    if "html" in answer.headers.get("Content-Type", "") and not job.wants(".html", ".htm"):
        raise NextUrl("an HTML page came in place of data")
    packed = answer.headers.get("Content-Encoding", "identity")
    if packed != "identity" and not job.wants("gz", ".tgz"):
        raise NextUrl(f"the bytes came in the encoding {packed!r}, not as they are")
    if status == 200:
        return 0
    begin = answer.headers.get("Content-Range", "").removeprefix("bytes ").split("-")[0]
    if begin != str(start):
        job.drop()
        raise Retry(f"asked for byte {start}, given byte {begin or '?'}")
    if mark and _mark(answer) not in {"", mark}:
        job.drop()
        raise Retry("the file changed on the server")
    return start


def _retry_after(answer: requests.Response) -> float | None:
    value = answer.headers.get("Retry-After", "")
    if value.isdigit():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None


def _size_told(answer: requests.Response) -> int | None:
    """Return the whole size at the end of Content-Range, if it stands there."""
    told = answer.headers.get("Content-Range", "").rpartition("/")[2]
    return int(told) if told.isdigit() else None


def _total(job: Job, answer: requests.Response, start: int) -> int | None:
    """Return the size that the server announces for the whole file, if it does."""
    length = answer.headers.get("Content-Length", "")
    total = start + int(length) if length.isdigit() else _size_told(answer)
    if total is not None and job.size is not None and total != job.size:
        raise NextUrl(f"the server offers {total} bytes, the table says {job.size}")
    return job.size if total is None else total


def _write_stream(
    job: Job, answer: requests.Response, head: bytes, start: int, total: int | None
) -> None:
    from tqdm import tqdm

    name = job.dest.name
    bar = tqdm(
        total=total, initial=start, unit="B", unit_scale=True, desc=name, disable=not job.bar
    )
    job.hash_up_to(start)
    tenth = 10 * start // total if total else 0
    with job.part.open("r+b" if start else "wb") as stream, bar:
        stream.seek(start)
        block = head
        # read1 gives what has come: a read of whole blocks loses one at a stall or a kill
        while block := block or answer.raw.read1(BLOCK, decode_content=False):
            stream.write(block)
            stream.flush()  # a killed job keeps what it has
            job.digest.update(block)
            job.hashed += len(block)
            bar.update(len(block))
            if total and not job.bar and job.hashed * 10 // total > tenth:
                tenth = job.hashed * 10 // total
                job.log.info("%s: %d %% of %d bytes", name, 10 * tenth, total)
            block = b""
        os.fsync(stream.fileno())


def _from_file(job: Job, url: str) -> str:
    source = Path(unquote(urlsplit(url).path))
    if not source.is_file():
        raise NextUrl("no such file")
    job.check_disk(source.stat().st_size, 0)
    job.drop()
    shutil.copyfile(source, job.part)
    with job.part.open("rb") as stream:
        os.fsync(stream.fileno())
    return job.complete(job.size or source.stat().st_size)
