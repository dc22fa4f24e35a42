"""Picard (Ablin, Cardoso, Gramfort 2018, python-picard) of log(x + 0.5) - o."""

from __future__ import annotations

import warnings

import numpy as np
import xarray as xr
from picard import picard

from .common import as_dataset, pooled_log_rates


class Picard:
    """Maximum-likelihood ICA under an orthogonality constraint (Picard-O)."""

    def decompose(self, cube: xr.Dataset, d: int, seed: int) -> xr.Dataset:
        """Return mixing and sources; attribute ``converged`` is 0 where it did not."""
        z, _ = pooled_log_rates(cube, d)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            whiten, unmix, sources = picard(
                z.T, n_components=d, max_iter=1000, centering=False, random_state=seed % 2**32
            )
        failed = any("did not converge" in str(w.message) for w in caught)
        mixing = np.linalg.pinv(unmix @ whiten)
        return as_dataset(cube, mixing, sources.T, converged=int(not failed))
