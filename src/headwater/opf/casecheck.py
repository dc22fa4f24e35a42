"""What is wrong with the numbers of a case, before anything is solved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from .costs import nonconvex
from .findings import Finding

if TYPE_CHECKING:
    from .case import Case

ISOLATED = 4
PIECEWISE, POLYNOMIAL = 1, 2
VOLTAGE = (0.5, 1.5)
LIMITS = {
    "bus": ("VMAX", "VMIN"),
    "gen": ("QMAX", "QMIN", "PMAX", "PMIN"),
    "branch": ("RATE_A", "RATE_B", "RATE_C", "ANGMIN", "ANGMAX"),
}
# Columns that no program reads: what stands there is not judged.
IGNORED = ("BASE_KV", "MBASE", "RATE_B", "RATE_C", "PC1", "PC2", "APF", "RAMP_Q")


def findings(case: Case) -> list[Finding]:
    """Return what is wrong with a case.

    Returns
    -------
    list of Finding
        Errors ``nan_or_inf``, ``duplicate_bus``, ``unknown_bus``, ``bounds_crossed``,
        ``unit_out_of_range``, ``zero_impedance``, ``cost_row_mismatch``, ``nonconvex_cost``;
        warnings ``negative_reactance``, ``unused_cost_columns``.
    """
    found = list(_finite(case))
    if found:
        return found
    found = [*_buses(case), *_cost_rows(case)]
    if any(f.severity == "error" for f in found):
        return found
    return [*found, *_bounds(case), *_voltages(case), *_impedances(case), *nonconvex(case)]


def _error(code: str, where: str, found: str, expected: str = "", hint: str = "") -> Finding:
    return Finding("error", code, where, found, expected, hint)


def _name(case: Case, component: str, row: int) -> str:
    table = getattr(case, component)
    if component == "branch":
        f, t = table[["F_BUS", "T_BUS"]].to_numpy()[row]
        return f"{case.name}, branch {f:g}-{t:g}"
    if component == "gen":
        return f"{case.name}, unit at bus {table['GEN_BUS'].to_numpy()[row]:g}"
    return f"{case.name}, bus {table['BUS_I'].to_numpy()[row]:g}"


def _finite(case: Case) -> Iterator[Finding]:
    if not (np.isfinite(case.base_mva) and case.base_mva > 0):
        where = f"{case.name}, baseMVA"
        yield _error("unit_out_of_range", where, f"{case.base_mva:g}", "a positive base power, MVA")
    for component, limits in LIMITS.items():
        values, names = case.array(component), getattr(case, component).columns
        if np.isfinite(values).all():
            continue
        limit = np.isin(names, limits)
        bad = np.isnan(values) | (np.isinf(values) & ~limit[None, :])
        bad &= ~np.isin(names, IGNORED)[None, :]
        for row, column in np.argwhere(bad):
            where = f"{_name(case, component, row)}, {names[column]}"
            yield _error(
                "nan_or_inf",
                where,
                str(values[row, column]),
                "a number" if np.isnan(values[row, column]) else "a finite number",
                "Only limits may be infinite.",
            )
    if not np.isfinite(case.gencost).all():
        row = int(np.argwhere(~np.isfinite(case.gencost))[0, 0])
        yield _error("nan_or_inf", f"{case.name}, gencost row {row + 1}", "nan or inf", "numbers")


def _buses(case: Case) -> Iterator[Finding]:
    numbers = case.column("bus", "BUS_I")
    values, counts = np.unique(numbers, return_counts=True)
    for value in values[counts > 1]:
        rows = ", ".join(str(k + 1) for k in np.flatnonzero(numbers == value))
        yield _error(
            "duplicate_bus", f"{case.name}, bus rows {rows}", f"bus {value:g} twice", "once each"
        )
    for component, columns in (("gen", ["GEN_BUS"]), ("branch", ["F_BUS", "T_BUS"])):
        ends = np.column_stack([case.column(component, c) for c in columns])
        for row, column in np.argwhere(~np.isin(ends, numbers)):
            where = f"{case.name}, {component} row {row + 1}, {columns[column]}"
            found = f"bus {ends[row, column]:g}"
            yield _error("unknown_bus", where, found, f"a bus of {case.name}")


def _cost_rows(case: Case) -> Iterator[Finding]:
    rows, ng = len(case.gencost), len(case.gen)
    if rows not in (ng, 2 * ng):
        expected = f"{ng}, or {2 * ng} with costs of reactive power"
        yield _error(
            "cost_row_mismatch",
            f"{case.name}, gencost",
            f"{rows} rows for {ng} generators",
            expected,
        )
        return
    width = case.gencost.shape[1] - 4
    beyond = []
    for row, line in enumerate(case.gencost):
        where, count = f"{case.name}, gencost row {row + 1}", int(line[3])
        needed = 2 * count if line[0] == PIECEWISE else count
        if line[0] not in (PIECEWISE, POLYNOMIAL):
            yield _error(
                "cost_row_mismatch", f"{where}, MODEL", f"{line[0]:g}", "1 (piecewise) or 2"
            )
        elif line[0] == PIECEWISE and count < 2:
            yield _error("cost_row_mismatch", f"{where}, NCOST", f"{count}", "2 points or more")
        elif needed > width:
            yield _error(
                "cost_row_mismatch",
                f"{where}, NCOST",
                f"{count} with {width} numbers",
                f"{needed} numbers",
            )
        elif line[0] == PIECEWISE and np.any(np.diff(line[4 : 4 + needed : 2]) <= 0):
            points = ", ".join(f"{v:g}" for v in line[4 : 4 + needed : 2])
            yield _error("cost_row_mismatch", where, f"points at {points} MW", "points that rise")
        elif np.any(line[4 + needed :]):
            beyond.append(row + 1)
    if beyond:
        shown = ", ".join(map(str, beyond[:10])) + (", ..." if len(beyond) > 10 else "")
        yield Finding(
            "warning",
            "unused_cost_columns",
            f"{case.name}, gencost rows {shown}",
            "numbers beyond NCOST",
            "zeros",
            "They are ignored: NCOST says how many count.",
        )


def _bounds(case: Case) -> Iterator[Finding]:
    pairs = (("bus", "VMIN", "VMAX"), ("gen", "PMIN", "PMAX"), ("gen", "QMIN", "QMAX"))
    for component, low, high in pairs:
        if component == "bus":
            on = case.column("bus", "BUS_TYPE") != ISOLATED
        else:
            on = case.column("gen", "GEN_STATUS") > 0
        least, most = case.column(component, low), case.column(component, high)
        for row in np.flatnonzero(on & (least > most)):
            where = f"{_name(case, component, row)}, {low} and {high}"
            found = f"{low} {least[row]:g} > {high} {most[row]:g}"
            yield _error("bounds_crossed", where, found, f"{low} <= {high}")
    low, high = case.column("branch", "ANGMIN"), case.column("branch", "ANGMAX")
    both = (case.column("branch", "BR_STATUS") > 0) & (low != 0) & (high != 0) & (low > high)
    for row in np.flatnonzero(both):
        where = f"{_name(case, 'branch', row)}, ANGMIN and ANGMAX"
        yield _error(
            "bounds_crossed", where, f"ANGMIN {low[row]:g} > ANGMAX {high[row]:g}", "degrees"
        )
    rate = case.column("branch", "RATE_A")
    for row in np.flatnonzero(rate < 0):
        where = f"{_name(case, 'branch', row)}, RATE_A"
        yield _error("unit_out_of_range", where, f"{rate[row]:g}", "MVA, 0 for no limit")


def _voltages(case: Case) -> Iterator[Finding]:
    on = case.column("bus", "BUS_TYPE") != ISOLATED
    for name, least in (("VMAX", VOLTAGE[0]), ("VMIN", 0.0)):
        values = case.column("bus", name)
        for row in np.flatnonzero(on & ((values < least) | (values > VOLTAGE[1]))):
            percent = 50 <= values[row] <= 150
            hint = f"It looks like percent: write {values[row] / 100:g}." if percent else ""
            yield _error(
                "unit_out_of_range",
                f"{_name(case, 'bus', row)}, {name}",
                f"{name} {values[row]:g}",
                f"p.u., {least:g} to {VOLTAGE[1]:g}",
                hint,
            )


def _impedances(case: Case) -> Iterator[Finding]:
    on = case.column("branch", "BR_STATUS") > 0
    r, x = case.column("branch", "BR_R"), case.column("branch", "BR_X")
    for row in np.flatnonzero(on & (r == 0) & (x == 0)):
        hint = "Give the reactance a small value, or join the two buses."
        where = _name(case, "branch", row)
        yield _error("zero_impedance", where, "BR_R 0 and BR_X 0", "r or x not zero", hint)
    negative = np.flatnonzero(on & (x < 0))
    if len(negative):
        shown = ", ".join(_name(case, "branch", k).split("branch ")[1] for k in negative[:10])
        yield Finding(
            "warning",
            "negative_reactance",
            f"{case.name}, branch {shown}" + (", ..." if len(negative) > 10 else ""),
            f"BR_X < 0 in {len(negative)} branches",
            "mostly positive",
            "Allowed: series capacitors, and the middle of three-winding transformers, have one.",
        )
