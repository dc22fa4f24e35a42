"""Runs inside the new process: gives up rights, sets limits, becomes the program.

Started as a file, with the standard library only: ``sandbox_child.py SPEC.json COMMAND...``.
Prints nothing; exit code 120 says that a promised restriction could not be put in force.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
READ = 0b1101  # execute, read file, read dir (bits 0, 2, 3)
FILE_ONLY = 0b111 | 1 << 14 | 1 << 15  # rights that mean something on a file
# rights of the file system by version of the kernel's interface
HANDLED = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
NEWEST = (1 << 16) - 1
NO_NEW_PRIVILEGES, PARENT_DIES = 38, 1
FAILED = 120
LEAST_PIDS = 320  # the kernel takes no fewer than 301


class Ruleset(ctypes.Structure):
    """struct landlock_ruleset_attr, first member."""

    _fields_ = [("fs", ctypes.c_uint64)]


class Beneath(ctypes.Structure):
    """struct landlock_path_beneath_attr."""

    _pack_ = 1
    _fields_ = [("access", ctypes.c_uint64), ("fd", ctypes.c_int32)]


def landlock_version(libc: Any) -> int:
    """Return the version of the kernel's interface, below 1 where there is none."""
    return libc.syscall(CREATE_RULESET, None, 0, 1)


def restrict_files(libc: Any, readable: Sequence[str], writable: Sequence[str]) -> None:
    """Let this process and its children reach nothing but these paths (Landlock)."""
    version = landlock_version(libc)
    if version < 1:
        raise OSError("no landlock")
    handled = HANDLED.get(version, NEWEST)
    rules = Ruleset(handled)
    ruleset = libc.syscall(CREATE_RULESET, ctypes.byref(rules), ctypes.sizeof(rules), 0)
    if ruleset < 0:
        raise OSError("landlock ruleset")
    for paths, access in ((readable, READ), (writable, handled)):
        for path in paths:
            try:
                handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue
            allowed = access if Path(path).is_dir() else access & FILE_ONLY
            rule = Beneath(allowed & handled, handle)
            if libc.syscall(ADD_RULE, ruleset, 1, ctypes.byref(rule), 0):
                raise OSError(f"landlock rule for {path}")
            os.close(handle)
    if libc.syscall(RESTRICT_SELF, ruleset, 0):
        raise OSError("landlock")
    os.close(ruleset)


def few_processes(count: int) -> None:
    """Let the PID namespace hold few processes; the kernel knows this per namespace since 6.14.

    It also holds for root, whom RLIMIT_NPROC lets pass. On older kernels the number is that of
    the whole machine, so it is left alone.
    """
    version = tuple(int(v) for v in os.uname().release.split("-")[0].split(".")[:2])
    if version >= (6, 14):
        with contextlib.suppress(OSError):  # needs rights over the namespace; a help, no promise
            Path("/proc/sys/kernel/pid_max").write_text(str(max(LEAST_PIDS, count)))


def limit(spec: dict[str, Any]) -> None:
    """Set the limits of this process and its children."""
    for name, value in spec["limits"].items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


def main() -> None:
    """Restrict, then become the program."""
    spec = json.loads(Path(sys.argv[1]).read_text())
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        if spec["processes"]:
            few_processes(spec["processes"])
        libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        if spec["files"]:
            restrict_files(libc, spec["readable"], spec["writable"])
        if spec["uid"] is not None:
            os.setgroups([])
            os.setresgid(spec["uid"], spec["uid"], spec["uid"])
            os.setresuid(spec["uid"], spec["uid"], spec["uid"])
        limit(spec)
    except OSError:
        os._exit(FAILED)
    os.execvpe(sys.argv[2], sys.argv[2:], spec["environment"])


if __name__ == "__main__":
    main()
