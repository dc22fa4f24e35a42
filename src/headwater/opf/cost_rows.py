"""Coefficients of polynomial costs read and written by their power of P."""

from __future__ import annotations

import numpy as np

from .case import POLYNOMIAL, Case
from .locate import Fault, Target


def read_cost(gencost: np.ndarray, target: Target, case: Case) -> np.ndarray:
    """Return coefficients of P^k, k = ``target.field.power``; 0 beyond NCOST.

    Raises
    ------
    Fault
        ``cost_not_polynomial`` or ``cost_row_mismatch``.
    """
    where = f"{case.name}, {target.label}, {target.field.name}"
    if len(gencost) < len(case.gen):
        found = f"{len(gencost)} cost rows for {len(case.gen)} generators"
        raise Fault("cost_row_mismatch", where, found, "one for each")
    rows = gencost[target.rows]
    if np.any(rows[:, 0] != POLYNOMIAL):
        hint = "Change the points of the curve in the case file, or replace the row there."
        found = "a piecewise linear cost"
        raise Fault("cost_not_polynomial", where, found, "a polynomial", hint)
    column = 3 + rows[:, 3].astype(int) - target.field.power
    inside = column >= 4
    column = np.where(inside, column, 0)
    return np.where(inside, rows[np.arange(len(rows)), column], 0.0)


def write_cost(gencost: np.ndarray, target: Target, new: np.ndarray) -> np.ndarray:
    """Return cost rows with coefficients of P^k written; a row gets longer where it has to."""
    power = target.field.power or 0
    if gencost.shape[1] < 5 + power:
        gencost = np.hstack([gencost, np.zeros((len(gencost), 5 + power - gencost.shape[1]))])
    for row, value in zip(target.rows, new, strict=True):
        count = int(gencost[row, 3])
        if power >= count:
            if value == 0:
                continue
            kept = gencost[row, 4 : 4 + count].copy()
            gencost[row, 4 : 5 + power] = 0.0
            gencost[row, 5 + power - count : 5 + power] = kept
            gencost[row, 3] = count = power + 1
        gencost[row, 3 + count - power] = value
    return gencost
