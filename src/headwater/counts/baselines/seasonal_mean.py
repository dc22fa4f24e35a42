"""The mean at the same phase of a period."""

from __future__ import annotations

import numpy as np
import xarray as xr

from .common import log_rates, rates_of
from .forecaster import Forecaster, mean_path, mean_path_of_others

NEARLY = 0.9


def find_period(paths: np.ndarray) -> int:
    """Return the lag (2 to T / 2) at which paths (n, T, K) resemble themselves most.

    The autocorrelation is pooled over series and features after centring each; the lag must be
    a local peak above 0, and the first of those nearly as high as the highest, as every multiple
    of a period is one. With none, T: then every step is a phase of its own.
    """
    steps = paths.shape[1]
    seen = ~np.isnan(paths)
    number = np.maximum(seen.sum(1, keepdims=True), 1)
    centred = np.where(seen, paths - np.where(seen, paths, 0).sum(1, keepdims=True) / number, 0)
    total = (centred**2).sum() / max(seen.sum(), 1)
    if total == 0 or steps < 4:
        return steps
    lags = np.arange(1, steps // 2 + 2)
    value = np.full(len(lags), -np.inf)
    for i, lag in enumerate(lags[lags < steps]):
        both = (seen[:, lag:] & seen[:, :-lag]).sum()
        value[i] = (centred[:, lag:] * centred[:, :-lag]).sum() / max(both, 1) / total
    inner = value[1:-1]
    peak = (inner > value[:-2]) & (inner >= value[2:]) & (inner > 0)
    if not peak.any():
        return steps
    height = np.where(peak, inner, -np.inf)
    return int(lags[1:-1][(height >= NEARLY * height.max()).argmax()])


class SeasonalMean(Forecaster):
    """Mean rate at the same phase, times the exposure to come.

    Once a series has been seen for a whole period, its own past counts; before, and for phases
    it was never seen in, that of the training series. The period is the cube's attribute
    ``period`` (steps) or, without one, `find_period` of the training series.
    """

    name = "seasonal_mean"

    def learn(self, cube: xr.Dataset) -> None:
        """Take the period and the mean of every phase."""
        given = cube.attrs.get("period")
        self.period = int(given) if given else find_period(log_rates(cube))
        self.phases = _phase_means(rates_of(cube), self.period)
        self.pooled = mean_path(self.phases)

    def rate(self, cube: xr.Dataset, t0: int) -> np.ndarray:
        """Return the phase means for every series and step."""
        pooled = np.repeat(self.pooled[None], cube.sizes["series"], axis=0)
        return self._with_own_past(cube, t0, pooled)

    def training_rate(self, cube: xr.Dataset, t0: int) -> np.ndarray:
        """Return the same with the phase means of all other series."""
        return self._with_own_past(cube, t0, mean_path_of_others(self.phases))

    def _with_own_past(self, cube: xr.Dataset, t0: int, pooled: np.ndarray) -> np.ndarray:
        phase = np.arange(cube.sizes["step"]) % self.period
        result = pooled[:, phase]
        if t0 < self.period:
            return result
        own = _phase_means(rates_of(cube)[:, :t0], self.period)[:, phase]
        return np.where(np.isnan(own), result, own)


def _phase_means(rates: np.ndarray, period: int) -> np.ndarray:
    """Return the mean of each series at each phase, (n, period, K); NaN where never seen."""
    n, steps, features = rates.shape
    result = np.full((n, period, features), np.nan)
    for phase in range(min(period, steps)):
        part = rates[:, phase::period]
        seen = ~np.isnan(part)
        number = seen.sum(1)
        mean = np.where(seen, part, 0).sum(1) / np.maximum(number, 1)
        result[:, phase] = np.where(number > 0, mean, np.nan)
    return result
