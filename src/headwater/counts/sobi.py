"""Second-order blind identification: joint diagonalisation of lagged covariances.

Belouchrani et al. 1997 (SOBI); the rotations are those of Cardoso and Souloumiac 1996.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

LAGS = (1, 2, 3, 4, 5)


def lagged_covariances(
    paths: np.ndarray, observed: np.ndarray, lags: Sequence[int] = LAGS
) -> np.ndarray:
    """Return symmetrised covariances at `lags`, (L, d, d), over pairs that are observed.

    Parameters
    ----------
    paths : (n, T, d), centred
    observed : (n, T), 1 where observed
    """
    result = []
    for lag in lags:
        if lag >= paths.shape[1]:
            continue
        weight = observed[:, lag:] * observed[:, :-lag]
        if weight.sum() == 0:
            continue
        now, before = paths[:, lag:], paths[:, :-lag]
        c = np.einsum("nt,nti,ntj->ij", weight, now, before) / weight.sum()
        result.append((c + c.T) / 2)
    d = paths.shape[-1]
    return np.array(result).reshape(-1, d, d)


def joint_diagonaliser(
    matrices: np.ndarray, tolerance: float = 1e-10, sweeps: int = 200
) -> np.ndarray:
    """Return the rotation V (d, d) for which V' C V is as diagonal as can be for every C."""
    work = np.array(matrices, dtype=float)
    d = work.shape[-1]
    rotation = np.eye(d)
    for _ in range(sweeps):
        moved = False
        for i in range(d - 1):
            for j in range(i + 1, d):
                h = np.stack([work[:, i, i] - work[:, j, j], 2 * work[:, i, j]])
                on, off = (h @ h.T)[0, 0] - (h @ h.T)[1, 1], 2 * (h @ h.T)[0, 1]
                angle = 0.5 * np.arctan2(off, on + np.hypot(on, off))
                if abs(angle) < tolerance:
                    continue
                moved = True
                c, s = np.cos(angle), np.sin(angle)
                turn = np.array([[c, -s], [s, c]])
                work[:, :, [i, j]] = work[:, :, [i, j]] @ turn
                work[:, [i, j], :] = turn.T @ work[:, [i, j], :]
                rotation[:, [i, j]] = rotation[:, [i, j]] @ turn
        if not moved:
            break
    return rotation


def sobi(
    white: np.ndarray, observed: np.ndarray | None = None, lags: Sequence[int] = LAGS
) -> np.ndarray:
    """Return the rotation (d, d) that turns whitened paths (n, T, d) into sources.

    ``sources = white @ rotation``; with no usable lag it is the identity.
    """
    seen = np.ones(white.shape[:2]) if observed is None else observed
    matrices = lagged_covariances(white, seen, lags)
    return joint_diagonaliser(matrices) if len(matrices) else np.eye(white.shape[-1])
