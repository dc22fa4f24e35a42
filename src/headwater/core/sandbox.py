"""Run a program that nobody vouches for: limits, a time-out that leaves nothing running, isolation.

What the kernel lets us, is put in force, and `Result.isolation` says what that was:

``processes``  a PID namespace: when the program's time is over, all it started is gone;
``network``    a network namespace without any interface;
``files``      Landlock: reads only what a program needs, writes only in its own folder;
``user``       an unprivileged user of its own (when started by root).

Always: an own session and process group, an empty temporary folder, an environment of a few
variables, limits of CPU time, memory, file size, processes and output.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import os
import selectors
import shutil
import signal
import site
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .sandbox_child import FAILED, landlock_version

CHILD = Path(__file__).with_name("sandbox_child.py")
SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc", "/proc", "/sys/devices/system")
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random", "/dev/full")
FIRST_USER = 61000  # between the users of people and those of containers
TICK_S = 0.05
GRACE_S = 5.0
MANY = 10_000


@dataclass(frozen=True)
class Limits:
    """What a program may use.

    Attributes
    ----------
    cpu_s, wall_s : float
        Seconds of CPU time of one process, and of time.
    memory_mb : int
        Address space of one process.
    file_mb : int
        Size of one file.
    processes : int
        Processes and threads.
    output_kb : int
        Kept of each of stdout and stderr; more ends the program.
    """

    cpu_s: float = 60.0
    wall_s: float = 120.0
    memory_mb: int = 4096
    file_mb: int = 16
    processes: int = 64
    output_kb: int = 1024


@dataclass(frozen=True)
class Result:
    """How a program ended.

    Attributes
    ----------
    status : str
        ``ok``, ``error`` (exit code not 0), ``timeout``, ``memory``, ``output_limit``,
        ``process_limit`` or ``signal``.
    returncode : int
        Negative for a signal.
    stdout, stderr : str
    wall_s, cpu_s : float
    isolation : tuple of str
        What was in force.
    files : mapping of str to bytes
        Those of `keep` that the program left.
    """

    status: str
    returncode: int
    stdout: str
    stderr: str
    wall_s: float
    cpu_s: float
    isolation: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def network_isolated(self) -> bool:
        """Whether the program had no network."""
        return "network" in self.isolation


def run(
    command: Sequence[str],
    files: Mapping[str, str | bytes] | None = None,
    limits: Limits | None = None,
    *,
    readable: Sequence[str | Path] = (),
    environment: Mapping[str, str] | None = None,
    keep: Sequence[str] = (),
) -> Result:
    """Run a command in a folder of its own and return how it ended.

    Parameters
    ----------
    command : sequence of str
        Program and arguments; looked up in the usual places.
    files : mapping of name to text, optional
        Put into the folder before.
    limits : Limits
    readable : sequence of path
        Besides the system and this Python.
    environment : mapping, optional
        Besides PATH, HOME, LANG and thread counts.
    keep : sequence of str
        Files of the folder that are wanted afterwards, each at most ``file_mb``.
    """
    limits = limits or Limits()
    with tempfile.TemporaryDirectory(prefix="headwater-sandbox-") as outer:
        place = Path(outer) / "work"
        place.mkdir()
        for name, content in (files or {}).items():
            data = content.encode() if isinstance(content, str) else content
            (place / name).write_bytes(data)
        isolation = available()
        paths = [*_python_folders(), *map(str, readable)]
        uid = _own_user(command[0], [*paths, outer]) if "user" in isolation else None
        isolation = tuple(i for i in isolation if i != "user" or uid is not None)
        if uid is not None:
            _hand_over(Path(outer), place, uid)
        spec = Path(outer) / "spec.json"
        spec.write_text(json.dumps(_spec(limits, place, paths, environment, uid, isolation)))
        spec.chmod(0o644)
        full = [*_namespaces(isolation), sys.executable, "-I", "-S", str(CHILD), str(spec)]
        result = _watched([*full, *command], place, limits, isolation)
        kept = _kept(place, keep, limits)
        return Result(*result, isolation, kept)


@functools.cache
def available() -> tuple[str, ...]:
    """Return what can be put in force on this machine, found by trying."""
    found = []
    if shutil.which("unshare"):
        for name in ("processes", "network"):
            trial = [*_namespaces((name,)), "true"]
            if subprocess.run(trial, capture_output=True, check=False).returncode == 0:
                found.append(name)
    if sys.platform == "linux" and landlock_version(ctypes.CDLL(None)) >= 1:
        found.append("files")
    if os.geteuid() == 0:
        found.append("user")
    return tuple(found)


def _namespaces(isolation: Sequence[str]) -> list[str]:
    """Return the command that makes the namespaces."""
    flags = []
    if "processes" in isolation:
        flags += ["--pid", "--fork", "--kill-child=KILL", "--mount-proc"]
    if "network" in isolation:
        flags.append("--net")
    if not flags:
        return []
    mapped = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *mapped, *flags, "--"]


def _python_folders() -> list[str]:
    """Return the folders that this Python is read from."""
    folders = {sys.prefix, sys.base_prefix, sys.exec_prefix, *site.getsitepackages(), *sys.path}
    return sorted(f for f in folders if f and Path(f).exists())


def _own_user(program: str, paths: Sequence[str]) -> int | None:
    """Return a user number for the program, None where another user could not read it."""
    found = shutil.which(program)
    if found is None or not all(map(_public, (found, sys.executable, *paths[:-1]))):
        return None
    return FIRST_USER + os.getpid() % 4000


def _public(path: str) -> bool:
    """Return whether every user may reach a path."""
    real = Path(path).resolve()
    return all(p.stat().st_mode & stat.S_IXOTH for p in real.parents)


def _hand_over(outer: Path, place: Path, uid: int) -> None:
    outer.chmod(0o711)
    for path in (place, *place.iterdir()):
        os.chown(path, uid, uid)


def _spec(
    limits: Limits,
    place: Path,
    paths: Sequence[str],
    environment: Mapping[str, str] | None,
    uid: int | None,
    isolation: Sequence[str],
) -> dict[str, object]:
    mb = 1 << 20
    rlimits = {
        "RLIMIT_CPU": max(1, round(limits.cpu_s)),
        "RLIMIT_AS": limits.memory_mb * mb,
        "RLIMIT_FSIZE": limits.file_mb * mb,
        "RLIMIT_CORE": 0,
        "RLIMIT_NPROC": limits.processes + (0 if uid is not None else _own_processes()),
    }
    return {
        "limits": rlimits,
        "files": "files" in isolation,
        "processes": limits.processes if "processes" in isolation else 0,
        "readable": [*SYSTEM, *DEVICES, *paths, str(CHILD)],
        "writable": [str(place), "/dev/null"],
        "uid": uid,
        "environment": {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(place),
            "TMPDIR": str(place),
            "LANG": "C.UTF-8",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "MKL_NUM_THREADS": "1",
            **(environment or {}),
        },
    }


def _own_processes() -> int:
    """Return how many processes and threads this user has: the limit counts them too."""
    total = 0
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if entry.stat().st_uid == os.getuid():
                total += sum(1 for _ in (entry / "task").iterdir())
        except OSError:
            continue
    return total


def _watched(
    command: Sequence[str], place: Path, limits: Limits, isolation: Sequence[str]
) -> tuple[str, int, str, str, float, float]:
    """Start the command, watch it, and leave nothing running."""
    before = os.times()
    begin = time.monotonic()
    job = subprocess.Popen(
        command,
        cwd=place,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin"},
    )
    try:
        texts, reason = _collected(job, begin, limits)
    finally:
        _kill(job)
    wall = time.monotonic() - begin
    after = os.times()
    cpu = after.children_user + after.children_system
    cpu -= before.children_user + before.children_system
    stdout, stderr = (text.decode("utf-8", "replace") for text in texts)
    if not reason and job.returncode and cpu >= 0.95 * limits.cpu_s:
        reason = "timeout"
    return _status(job.returncode, reason, stderr), job.returncode, stdout, stderr, wall, cpu


def _collected(
    job: subprocess.Popen[bytes], begin: float, limits: Limits
) -> tuple[list[bytearray], str]:
    """Read both outputs until the end, a limit, or the time-out."""
    texts = [bytearray(), bytearray()]
    most = limits.output_kb * 1024
    assert job.stdout and job.stderr
    with selectors.DefaultSelector() as selector:
        for stream, text in zip((job.stdout, job.stderr), texts, strict=True):
            os.set_blocking(stream.fileno(), False)
            selector.register(stream, selectors.EVENT_READ, text)
        while selector.get_map() or job.poll() is None:
            if time.monotonic() - begin > limits.wall_s:
                return texts, "timeout"
            if not selector.get_map():
                time.sleep(TICK_S)
            for key, _ in selector.select(TICK_S):
                chunk = os.read(key.fd, 1 << 16)
                if not chunk:
                    selector.unregister(key.fileobj)
                key.data.extend(chunk[: most - len(key.data)])
                if len(key.data) >= most:
                    return texts, "output_limit"
            if job.poll() is not None and not _waiting(selector):
                break  # ended; something it started may hold the pipe for ever
            if _descendants(job.pid) > limits.processes:
                return texts, "process_limit"
    return texts, ""


def _waiting(selector: selectors.BaseSelector) -> bool:
    return bool(selector.get_map() and selector.select(0))


def _children(pid: int) -> list[int]:
    try:
        return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _descendants(pid: int) -> int:
    """Return how many processes stand below a process, without the launcher."""
    total, level = 0, [pid]
    while level and total <= MANY:
        level = [child for one in level for child in _children(one)]
        total += len(level)
    return total - 1


def _kill(job: subprocess.Popen[bytes]) -> None:
    """End all that was started and wait until it is gone.

    The first process of a PID namespace takes all others with it, and the launcher that waits
    for it returns when the last one is gone; the group is killed where there is no namespace.
    """
    if job.poll() is None:
        for child in _children(job.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            job.wait(GRACE_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(job.pid, signal.SIGKILL)
    job.wait()
    for stream in (job.stdout, job.stderr):
        if stream:
            stream.close()


def _status(returncode: int, reason: str, stderr: str) -> str:
    if reason:
        return reason
    if returncode == FAILED:
        raise OSError("the sandbox could not put a restriction in force; nothing was run")
    if returncode == 0:
        return "ok"
    number = -returncode if returncode < 0 else returncode - 128
    if number == signal.SIGXCPU:
        return "timeout"
    lowered = stderr.lower()
    if "memoryerror" in lowered or "out of memory" in lowered or "bad_alloc" in lowered:
        return "memory"
    return "signal" if 0 < number < 65 else "error"


def _kept(place: Path, names: Sequence[str], limits: Limits) -> dict[str, bytes]:
    """Return the wanted files; links and oversized ones are left."""
    found = {}
    for name in names:
        path = place / name
        if path.is_symlink() or not path.is_file():
            continue
        if path.stat().st_size <= limits.file_mb << 20:
            found[name] = path.read_bytes()
    return found
