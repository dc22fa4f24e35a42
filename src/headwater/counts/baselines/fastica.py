"""FastICA (Hyvärinen 1999, scikit-learn) of log(x + 0.5) - o."""

from __future__ import annotations

import warnings

import xarray as xr
from sklearn.decomposition import FastICA as Peer
from sklearn.exceptions import ConvergenceWarning

from .common import as_dataset, pooled_log_rates


class FastICA:
    """Independent components by fixed-point iterations on kurtosis-like contrasts."""

    def decompose(self, cube: xr.Dataset, d: int, seed: int) -> xr.Dataset:
        """Return mixing and sources; attribute ``converged`` is 0 where it did not."""
        z, _ = pooled_log_rates(cube, d)
        ica = Peer(d, whiten="unit-variance", max_iter=1000, random_state=seed % 2**32)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            sources = ica.fit_transform(z)
        failed = any(issubclass(w.category, ConvergenceWarning) for w in caught)
        return as_dataset(cube, ica.mixing_, sources, converged=int(not failed))
