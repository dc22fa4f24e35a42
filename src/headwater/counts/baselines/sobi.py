"""SOBI (Belouchrani et al. 1997) of log(x + 0.5) - o: by dynamics, not by distribution."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headwater.counts.sobi import sobi

from .common import as_dataset, pooled_log_rates
from .pca import principal_axes


class SOBI:
    """Joint diagonalisation of the autocovariances at lags 1 to 5."""

    def decompose(self, cube: xr.Dataset, d: int, seed: int) -> xr.Dataset:
        """Return mixing and sources; `seed` plays no part."""
        z, observed = pooled_log_rates(cube, d)
        axes, scores = principal_axes(z, d)
        scale = scores.std(0)
        white = np.zeros((*observed.shape, d))
        white[observed] = scores / scale
        rotation = sobi(white, observed.astype(float))
        return as_dataset(cube, (axes * scale) @ rotation, white[observed] @ rotation)
