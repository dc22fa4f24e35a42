"""Principal components of log(x + 0.5) - o."""

from __future__ import annotations

import numpy as np
import xarray as xr

from .common import as_dataset, pooled_log_rates


def principal_axes(z: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return axes (K, d) and scores (N, d) of centred rows."""
    _, _, right = np.linalg.svd(z, full_matrices=False)
    axes = right[:d].T
    return axes, z @ axes


class PCA:
    """Orthogonal directions of greatest variance; rotates nothing."""

    def decompose(self, cube: xr.Dataset, d: int, seed: int) -> xr.Dataset:
        """Return mixing and sources; `seed` plays no part."""
        z, _ = pooled_log_rates(cube, d)
        return as_dataset(cube, *principal_axes(z, d))
