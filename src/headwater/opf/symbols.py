"""Small things that symbols need: entries of columns, sums over the elements at a bus."""

from __future__ import annotations

from typing import Any

import casadi as ca

SX = ca.SX


def take(vector: SX, index: Any) -> SX:
    """Return entries of a column as a column, where CasADi may make a row."""
    index = [int(k) for k in index]
    return ca.vec(vector[index]) if index else SX(0, 1)


def incidence(index: Any, rows: int) -> ca.DM:
    """Return the sparse (rows, len(index)) matrix with a one at (index[k], k)."""
    index = [int(i) for i in index]
    if not index:
        return ca.DM(rows, 0)
    pattern = ca.Sparsity.triplet(rows, len(index), index, list(range(len(index))))
    return ca.DM(pattern, 1.0)
