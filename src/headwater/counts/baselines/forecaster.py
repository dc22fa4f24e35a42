"""What forecasting baselines share: origins, exposures to come, and quantiles from past errors.

A baseline says what it expects per unit of exposure. Its quantiles are those of a negative
binomial law around that, Var x = m + phi m^2, with phi from its own errors on the training
series, by feature and by lead (1, 2, 3-4, 5-8, ... steps).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import xarray as xr
from scipy.stats import nbinom, poisson

from headwater.core.errors import InputError
from headwater.counts.origins import default_origins

from .common import counts_of, exposure_of

POLICIES = ("true", "last", "mean")
QUANTILES = {"q05": 0.05, "q50": 0.5, "q95": 0.95}
ORIGINS = 8  # of training series, at most, from which phi is learnt
LEAST = 0.1  # counts; an expectation of 0 has no spread of its own
POISSON = 1e-9  # a phi below is none


class Forecaster(ABC):
    """A baseline that forecasts; `fit` it to training series, then `forecast` others."""

    name: str

    @classmethod
    def fit(cls, cube: xr.Dataset) -> Self:
        """Return the forecaster, fitted to all series of a cube."""
        fitted = cls()
        fitted.learn(cube)
        fitted.spread = fitted._spread(cube)
        return fitted

    @abstractmethod
    def learn(self, cube: xr.Dataset) -> None:
        """Take from the training series what `rate` needs."""

    @abstractmethod
    def rate(self, cube: xr.Dataset, t0: int) -> np.ndarray:
        """Return expected counts per unit of exposure, (n, T, K), right from step t0 on.

        Must not look at steps from t0 on.
        """

    def training_rate(self, cube: xr.Dataset, t0: int) -> np.ndarray:
        """Return `rate` of the training series, as if each had not been trained on."""
        return self.rate(cube, t0)

    def forecast(
        self, cube: xr.Dataset, t0: int, exposure: str = "true", seed: int = 0
    ) -> xr.Dataset:
        """Forecast all steps from t0 on.

        Parameters
        ----------
        cube : Dataset
            Held-out series on the time grid of the training series.
        t0 : int
            First step to forecast, 1 to T - 1, counted from 0.
        exposure : true | last | mean
            Exposure to come, see `future_exposure`.
        seed : int
            Of the randomised PIT.

        Returns
        -------
        Dataset
            mean, var (counts^2), q05, q50, q95, pit (series, step, feature); NaN before t0
            and where the exposure is unknown, pit also where nothing was observed.
        """
        steps = cube.sizes["step"]
        if not 1 <= t0 < steps:
            raise InputError(None, "counts.forecast.t0", f"{t0}", f"steps from 1 to {steps - 1}")
        to_come = future_exposure(cube, t0, exposure)[..., None]
        mean = self.rate(cube, t0) * to_come
        mean[:, :t0] = np.nan
        phi = self.spread[_bucket(np.arange(steps) - t0 + 1)]
        centre = np.maximum(mean, LEAST)
        values = {"mean": mean, "var": centre + phi * centre**2}
        law = _Law(centre, np.broadcast_to(phi, centre.shape))
        values |= {name: law.quantile(level) for name, level in QUANTILES.items()}
        values["pit"] = law.pit(counts_of(cube), np.random.default_rng([seed, t0]))
        dims = ("series", "step", "feature")
        coords = {name: cube[name].values for name in dims}
        attrs = {"method": self.name, "exposure": exposure}
        return xr.Dataset({k: (dims, v) for k, v in values.items()}, coords, attrs)

    def _spread(self, cube: xr.Dataset) -> np.ndarray:
        """Return phi, (buckets, K): moments of the errors on the training series."""
        steps, features = cube.sizes["step"], cube.sizes["feature"]
        buckets = int(_bucket(np.array([steps]))[0]) + 1
        above, below = np.zeros((buckets, features)), np.zeros((buckets, features))
        counts, exposure = counts_of(cube), exposure_of(cube)[..., None]
        for t0 in np.unique(np.linspace(1, steps - 1, ORIGINS).astype(int)):
            mean = np.maximum(self.training_rate(cube, int(t0)) * exposure, LEAST)
            excess = (counts - mean) ** 2 - mean
            for t in range(t0, steps):
                row = _bucket(np.array([t - t0 + 1]))[0]
                above[row] += np.nansum(excess[:, t], axis=0)
                below[row] += np.nansum(np.where(np.isnan(excess), 0, mean**2)[:, t], axis=0)
        phi = np.where(below > 0, np.maximum(above, 0) / np.maximum(below, 1e-300), np.nan)
        for row in range(
            1, buckets
        ):  # a lead that was never seen is as uncertain as the one before
            phi[row] = np.where(np.isnan(phi[row]), phi[row - 1], phi[row])
        return np.nan_to_num(phi)


class _Law:
    """Negative binomial with mean m and variance m + phi m^2; Poisson where phi is 0."""

    def __init__(self, mean: np.ndarray, phi: np.ndarray) -> None:
        self.mean = mean
        self.plain = phi < POISSON
        self.size = 1 / np.where(self.plain, 1.0, phi)

    def _pick(self, call: str, argument: Any) -> np.ndarray:
        share = self.size / (self.size + self.mean)
        wide = getattr(nbinom, call)(argument, self.size, share)
        return np.where(self.plain, getattr(poisson, call)(argument, self.mean), wide)

    def quantile(self, level: float) -> np.ndarray:
        return self._pick("ppf", level)

    def pit(self, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return F(x - 1) + u (F(x) - F(x - 1)), u uniform (Czado, Gneiting, Held 2009)."""
        low, high = self._pick("cdf", counts - 1), self._pick("cdf", counts)
        return low + rng.random(counts.shape) * (high - low)


def _bucket(lead: np.ndarray) -> np.ndarray:
    """Return 0 for leads up to 1, then 1 for 2, 2 for 3-4, 3 for 5-8, ..."""
    return np.ceil(np.log2(np.maximum(lead, 1))).astype(int)


def future_exposure(cube: xr.Dataset, t0: int, policy: str) -> np.ndarray:
    """Return the exposure assumed at every step, (n, T); only steps from t0 on are meant.

    Parameters
    ----------
    policy : true | last | mean
        What was recorded (NaN where unobserved); the last one before t0; the mean before t0.

    A series without an observed step before t0 has no last and no mean: NaN.

    Raises
    ------
    InputError
        For another policy.
    """
    exposure = exposure_of(cube)
    if policy == "true":
        return exposure
    if policy not in POLICIES:
        raise InputError(
            None, "counts.forecast.exposure", repr(policy), "one of " + ", ".join(POLICIES)
        )
    past = exposure[:, :t0]
    seen = ~np.isnan(past)
    last = last_seen(seen)
    if policy == "last":
        value = past[np.arange(len(past)), np.minimum(last, t0 - 1)]
    else:
        value = np.where(seen, past, 0).sum(1) / np.maximum(seen.sum(1), 1)
    value = np.where(last < t0, value, np.nan)
    return np.repeat(value[:, None], exposure.shape[1], axis=1)


def last_seen(seen: np.ndarray) -> np.ndarray:
    """Return the place of the last True of each row; the length of the row where there is none."""
    steps = seen.shape[1]
    back = seen[:, ::-1].argmax(1)
    return np.where(seen.any(1), steps - 1 - back, steps)


def mean_path(rates: np.ndarray) -> np.ndarray:
    """Return the mean over series at each step, (T, K); between observed steps, linear."""
    seen = ~np.isnan(rates[..., 0])
    number = seen.sum(0)[:, None]
    path = np.where(np.isnan(rates), 0, rates).sum(0) / np.maximum(number, 1)
    return filled(path, number[:, 0] > 0)


def mean_path_of_others(rates: np.ndarray) -> np.ndarray:
    """Return for each series the mean over all others at each step, (n, T, K).

    Where no other was seen, and of a single series, it is the mean of all.
    """
    seen = ~np.isnan(rates)
    known = np.where(seen, rates, 0)
    others = seen.sum(0) - seen
    mean = (known.sum(0) - known) / np.maximum(others, 1)
    return np.where(others > 0, mean, mean_path(rates))


def filled(path: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return a path (T, K) with unknown steps interpolated and the ends carried on."""
    steps = np.arange(len(path))
    if known.all():
        return path
    return np.stack([np.interp(steps, steps[known], p[known]) for p in path.T], axis=1)


def forecast_origins(
    fitted: Forecaster, cube: xr.Dataset, settings: Mapping[str, Any]
) -> xr.Dataset:
    """Return the forecasts from several origins, joined along ``t0``.

    Parameters
    ----------
    settings : mapping
        Read as `headwater.counts.forecast.forecast_origins` reads it: ``t0`` (list of steps;
        empty: `default_origins`) and ``exposure``; other keys are for the model alone.
    """
    chosen = settings.get("t0") or default_origins(cube.sizes["step"])
    origins = sorted({int(t) for t in chosen})
    exposure = settings.get("exposure", "true")
    parts = [fitted.forecast(cube, t0, exposure) for t0 in origins]
    index = xr.DataArray(np.array(origins, dtype=np.int32), dims="t0", name="t0")
    joined = xr.concat(parts, index)
    joined.attrs = {"method": fitted.name, "exposure": exposure}
    return joined
