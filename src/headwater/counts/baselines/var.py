"""Vector autoregression of order 1 on centred log-ratios, with a ridge.

    y_t+1 = b + A y_t + noise,   y = clr(x + 0.5)

Where the exposure is no library size (days, area) parts make no whole: y is then the log-rate
log(x + 0.5) - o itself.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from .common import counts_of, exposure_of, log_rates
from .forecaster import Forecaster, last_seen

COMPOSITIONAL = ("library", "logsum")  # beginnings of attribute exposure_kind
PENALTIES = np.logspace(-6, 2, 17)  # times the mean sum of squares of a coordinate
LARGEST_ROOT = 0.999  # of A; longer leads would explode


class CLRVAR(Forecaster):
    """CLR-VAR(1) with a ridge penalty chosen by leaving out one training series at a time."""

    name = "var"

    def learn(self, cube: xr.Dataset) -> None:
        """Fit b and A to all transitions between observed steps."""
        self.whole = str(cube.attrs.get("exposure_kind", "")).startswith(COMPOSITIONAL)
        self.share = float(np.nansum(counts_of(cube)) / np.nansum(exposure_of(cube)))
        paths = self._paths(cube)
        known = ~np.isnan(paths[..., 0])
        self.mean = paths[known].mean(0)
        paths = paths - self.mean  # b is then small, and without a penalty
        square, cross, after = _moments(np.where(known[..., None], paths, 0), known)
        self.penalty = _best_penalty(square, cross, after)
        both = _solve(square.sum(0), cross.sum(0), self.penalty)
        self.kernel = _stable(both[:, 1:])
        number = max(square[:, 0, 0].sum(), 1.0)
        # b belongs to the kernel in use: the mean one-step error stays 0
        self.drift = (cross[:, :, 0].sum(0) - self.kernel @ square[:, 1:, 0].sum(0)) / number

    def _paths(self, cube: xr.Dataset) -> np.ndarray:
        paths = log_rates(cube)
        return paths - paths.mean(-1, keepdims=True) if self.whole else paths

    def rate(self, cube: xr.Dataset, t0: int) -> np.ndarray:
        """Return the forecast from the last observed step before t0; without, from the mean."""
        past = self._paths(cube)[:, :t0]
        last = last_seen(~np.isnan(past[..., 0]))
        known = last < t0
        state = past[np.arange(len(past)), np.where(known, last, 0)] - self.mean
        state = np.where(known[:, None], state, 0.0)
        steps = cube.sizes["step"]
        result = np.empty((len(past), steps, len(self.mean)))
        start = np.where(known, last, t0 - 1)
        for t in range(steps):
            ahead = self.drift + state @ self.kernel.T
            state = np.where((t > start)[:, None], ahead, state)
            result[:, t] = state + self.mean
        if not self.whole:
            return np.exp(result)
        parts = np.exp(result - result.max(-1, keepdims=True))
        return self.share * parts / parts.sum(-1, keepdims=True)


def _moments(paths: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return by series sums of z z', y_t+1 z' and y_t+1 y_t+1', z = (1, y_t), over pairs seen."""
    both = (known[:, 1:] & known[:, :-1])[..., None]
    now = np.concatenate([np.ones_like(paths[:, :-1, :1]), paths[:, :-1]], axis=-1)
    now, after = np.where(both, now, 0), np.where(both, paths[:, 1:], 0)
    return (
        np.einsum("nti,ntj->nij", now, now),
        np.einsum("nti,ntj->nij", after, now),
        np.einsum("nti,ntj->nij", after, after),
    )


def _solve(square: np.ndarray, cross: np.ndarray, penalty: float) -> np.ndarray:
    """Return (b, A) that minimise |y_t+1 - b - A y_t|^2 + penalty v |A|^2, v as `PENALTIES`."""
    size = len(square) - 1
    level = max(np.trace(square[1:, 1:]) / size, 1e-12)
    ridge = np.diag([1e-12, *[penalty * level] * size])
    return np.linalg.solve(square + ridge, cross.T).T


def _best_penalty(square: np.ndarray, cross: np.ndarray, after: np.ndarray) -> float:
    """Return the penalty with the least squared one-step error of series left out."""
    if len(square) < 2:
        return PENALTIES[-1]
    errors = []
    for penalty in PENALTIES:
        error = 0.0
        for i in range(len(square)):
            a = _solve(square.sum(0) - square[i], cross.sum(0) - cross[i], penalty)
            error += np.trace(after[i] - 2 * a @ cross[i].T + a @ square[i] @ a.T)
        errors.append(error)
    return float(PENALTIES[int(np.argmin(errors))])


def _stable(kernel: np.ndarray) -> np.ndarray:
    root = np.abs(np.linalg.eigvals(kernel)).max()
    return kernel * min(1.0, LARGEST_ROOT / max(root, 1e-12))
