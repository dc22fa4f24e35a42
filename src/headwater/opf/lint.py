"""What a change made of the rows that it touched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from .case import POLYNOMIAL, Case
from .findings import Finding
from .locate import Target, number

PAIRS = (
    ("bus", "VMIN", "VMAX"),
    ("gen", "PMIN", "PMAX"),
    ("gen", "QMIN", "QMAX"),
    ("branch", "ANGMIN", "ANGMAX"),
)


def check_rows(case: Case, targets: Sequence[Target]) -> list[Finding]:
    """Return what is wrong with rows after a change.

    Parameters
    ----------
    case : Case
        The changed network.
    targets : sequence of Target
        Fields and rows that were changed.

    Returns
    -------
    list of Finding
        ``bounds_crossed``, ``zero_impedance`` (errors), ``negative_reactance``,
        ``nonconvex_cost`` (warnings).
    """
    found: list[Finding] = []
    for component, low, high in PAIRS:
        rows = _touched(targets, component, (low, high))
        found += _crossed(case, component, low, high, rows)
    found += _impedances(case, _touched(targets, "branch", ("BR_R", "BR_X", "BR_STATUS")))
    costs = tuple(f"COST_C{k}" for k in range(4))
    return found + list(_costs(case, _touched(targets, "gen", costs)))


def _touched(targets: Iterable[Target], component: str, names: tuple[str, ...]) -> np.ndarray:
    rows = [t.rows for t in targets if t.field.component == component and t.field.name in names]
    return np.unique(np.concatenate(rows)) if rows else np.array([], dtype=int)


def _name(case: Case, component: str, row: int) -> str:
    if component == "branch":
        f, t = case.branch[["F_BUS", "T_BUS"]].to_numpy()[row]
        return f"{case.name}, branch {f:g}-{t:g}"
    if component == "gen":
        return f"{case.name}, unit at bus {case.gen['GEN_BUS'].to_numpy()[row]:g}"
    return f"{case.name}, bus {case.bus['BUS_I'].to_numpy()[row]:g}"


def _crossed(
    case: Case, component: str, low: str, high: str, rows: np.ndarray
) -> Iterator[Finding]:
    table = getattr(case, component)
    least, most = table[low].to_numpy(), table[high].to_numpy()
    if component == "gen":
        rows = rows[table["GEN_STATUS"].to_numpy()[rows] > 0]
    if component == "branch":  # 0 and 360 degrees mean that there is no limit on that side
        rows = rows[(least[rows] != 0) & (most[rows] != 0)]
    for row in rows:
        if least[row] > most[row]:
            yield Finding(
                "error",
                "bounds_crossed",
                f"{_name(case, component, row)}, {low} and {high}",
                f"{low} {number(least[row])} > {high} {number(most[row])}",
                f"{low} <= {high}",
                f"Change {low} too, or choose {high} of {number(least[row])} or more.",
            )


def _impedances(case: Case, rows: np.ndarray) -> Iterator[Finding]:
    r, x = case.branch["BR_R"].to_numpy(), case.branch["BR_X"].to_numpy()
    on = case.branch["BR_STATUS"].to_numpy() > 0
    for row in rows[on[rows]]:
        where = _name(case, "branch", row)
        if r[row] == 0 and x[row] == 0:
            hint = "Give the reactance a small value, or join the two buses in the case file."
            found = "BR_R 0 and BR_X 0"
            yield Finding("error", "zero_impedance", where, found, "r or x not zero", hint)
        elif x[row] < 0:
            hint = "Allowed: a series capacitor has one. In DC the flow turns round."
            found = f"BR_X {number(x[row])}"
            yield Finding("warning", "negative_reactance", where, found, "mostly positive", hint)


def _costs(case: Case, rows: np.ndarray) -> Iterator[Finding]:
    """Yield polynomial costs whose slope falls somewhere between PMIN and PMAX."""
    low, high = case.gen["PMIN"].to_numpy(), case.gen["PMAX"].to_numpy()
    for row in rows:
        count = int(case.gencost[row, 3])
        if case.gencost[row, 0] != POLYNOMIAL or count < 3 or not low[row] < high[row] < np.inf:
            continue
        cost = np.poly1d(case.gencost[row, 4 : 4 + count])
        output = np.linspace(max(low[row], -1e9), high[row], 33)
        if np.any(cost.deriv(2)(output) < 0):
            slopes = cost.deriv()(output)
            yield Finding(
                "warning",
                "nonconvex_cost",
                f"{_name(case, 'gen', row)}, cost",
                f"slopes from {number(slopes[0])} at {number(output[0])} MW to"
                f" {number(slopes[-1])} $/MWh at {number(output[-1])} MW",
                "slopes that do not fall",
                "A solver may stop at a local optimum.",
            )
