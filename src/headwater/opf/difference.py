"""Two cases side by side: the patch that leads from one to the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from .case import PIECEWISE, Case

SAME = 1e-9
FIELDS = {
    "bus": ("PD", "QD", "GS", "BS", "VMAX", "VMIN"),
    "gen": ("PMAX", "PMIN", "QMAX", "QMIN", "GEN_STATUS", "RAMP_AGC"),
    "branch": ("BR_R", "BR_X", "BR_B", "RATE_A", "TAP", "SHIFT", "BR_STATUS", "ANGMIN", "ANGMAX"),
}


def patch_of(base: Case, changed: Case) -> dict[str, Any]:
    """Return the changed cells, and how many rows were added.

    Returns
    -------
    dict
        ``changes``: list of ``component, key, field, value``, the key being the bus number or
        (fbus, tbus, row); ``added``: rows more by table.
    """
    changes: list[dict[str, Any]] = []
    added = {}
    for name, fields in FIELDS.items():
        one, two = getattr(base, name), getattr(changed, name)
        if len(two) != len(one):
            added[name] = len(two) - len(one)
        rows = min(len(one), len(two))
        for field in fields:
            old, new = one[field].to_numpy()[:rows], two[field].to_numpy()[:rows]
            with np.errstate(invalid="ignore"):
                moved = ~((np.abs(new - old) <= SAME * np.maximum(1, np.abs(old))) | (new == old))
            changes += [
                {
                    "component": name,
                    "key": _key(one, name, k),
                    "field": field,
                    "value": float(new[k]),
                }
                for k in np.flatnonzero(moved)
            ]
    return {"changes": changes + _costs(base, changed), "added": added}


def _key(table: Any, name: str, row: int) -> list[int]:
    if name == "branch":
        return [int(table["F_BUS"].iloc[row]), int(table["T_BUS"].iloc[row]), int(row)]
    return [int(table["BUS_I" if name == "bus" else "GEN_BUS"].iloc[row]), int(row)]


def _costs(base: Case, changed: Case) -> list[dict[str, Any]]:
    found = []
    rows = min(len(base.gencost), len(changed.gencost), len(base.gen))
    for row in range(rows):
        one, two = base.gencost[row], changed.gencost[row]
        if PIECEWISE in (one[0], two[0]):
            continue
        old, new = _by_power(one), _by_power(two)
        for power in range(max(len(old), len(new))):
            a = old[power] if power < len(old) else 0.0
            b = new[power] if power < len(new) else 0.0
            if abs(b - a) > SAME * max(1.0, abs(a)):
                key = _key(base.gen, "gen", row)
                found.append(
                    {"component": "gen", "key": key, "field": f"COST_C{power}", "value": float(b)}
                )
    return found


def _by_power(row: np.ndarray) -> np.ndarray:
    return row[4 : 4 + int(row[3])][::-1]
