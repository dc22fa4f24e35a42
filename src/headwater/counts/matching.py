"""Components of two fits, matched: Hungarian on |cosine|, never by trying permutations."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment


def match(reference: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Match the columns of two matrices.

    Parameters
    ----------
    reference, other : (K, d)

    Returns
    -------
    order : (d,) int
        ``other[:, order[i]]`` goes with ``reference[:, i]``.
    signs : (d,)
        1 or -1, so that ``signs * other[:, order]`` points the way of the reference.
    cosines : (d,)
        |cosine| of each pair.
    """
    a = reference / np.maximum(np.linalg.norm(reference, axis=0), 1e-300)
    b = other / np.maximum(np.linalg.norm(other, axis=0), 1e-300)
    cosine = a.T @ b
    rows, order = linear_sum_assignment(-np.abs(cosine))
    chosen = cosine[rows, order]
    return order, np.where(chosen < 0, -1.0, 1.0), np.abs(chosen)
