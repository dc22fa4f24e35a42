"""The mean of the training series at the same step: hard to beat where series run in step."""

from __future__ import annotations

import numpy as np
import xarray as xr

from .common import rates_of
from .forecaster import Forecaster, mean_path, mean_path_of_others


class TrainingMean(Forecaster):
    """Mean rate over the training series at the step, times the exposure to come."""

    name = "training_mean"

    def learn(self, cube: xr.Dataset) -> None:
        """Take the mean path."""
        self.path = mean_path(rates_of(cube))

    def rate(self, cube: xr.Dataset, t0: int) -> np.ndarray:
        """Return the mean path for every series."""
        return np.broadcast_to(self.path, (cube.sizes["series"], *self.path.shape)).copy()

    def training_rate(self, cube: xr.Dataset, t0: int) -> np.ndarray:
        """Return for each series the mean path of all others."""
        return mean_path_of_others(rates_of(cube))
