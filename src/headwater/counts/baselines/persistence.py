"""The last value seen."""

from __future__ import annotations

import numpy as np
import xarray as xr

from .common import rates_of
from .forecaster import Forecaster, last_seen, mean_path


class Persistence(Forecaster):
    """Rate at the last observed step, times the exposure to come.

    A series with no observed step before the origin gets the training mean at the step.
    """

    name = "persistence"

    def learn(self, cube: xr.Dataset) -> None:
        """Take the mean path, for series without a past."""
        self.path = mean_path(rates_of(cube))

    def rate(self, cube: xr.Dataset, t0: int) -> np.ndarray:
        """Return the last rate before t0, for all steps."""
        past = rates_of(cube)[:, :t0]
        last = last_seen(~np.isnan(past[..., 0]))
        known = last < t0
        values = past[np.arange(len(past)), np.where(known, last, 0)]
        result = np.repeat(values[:, None], cube.sizes["step"], axis=1)
        return np.where(known[:, None, None], result, self.path)
