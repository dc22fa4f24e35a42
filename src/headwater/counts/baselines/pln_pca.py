"""Poisson log-normal PCA: the model without time (Chiquet, Mariadassou, Robin 2018).

    z_j ~ N(0, I_d),  x_jk ~ Poisson(exp(o_j + l_k + (B z_j)_k)),  q(z_j) = N(mu_j, diag s_j)

for every observed sample j on its own. The bound is that of counts.md §3.1 with a standard
normal in the place of the dynamics. It is concave in mu_j and in (l_k, b_k), so Newton steps
for all samples, then for all features, and a free rescaling of z in between (parameter
expansion), each accepted only where it does not lower the bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from scipy.special import gammaln

from .common import as_dataset, counts_of, exposure_of, log_rates, pooled_log_rates
from .pca import principal_axes

SWEEPS = 300
TOLERANCE = 1e-6  # gain of the bound per sweep, as a share of it
HALVINGS = 6
LARGEST = 50.0  # of the exponent
FIRST_VARIANCE = 0.05


@dataclass(frozen=True)
class State:
    """level (K,), loading (K, d), mean and var (N, d); offset (N, 1) and counts x (N, K)."""

    x: np.ndarray
    offset: np.ndarray
    level: np.ndarray
    loading: np.ndarray
    mean: np.ndarray
    var: np.ndarray

    def eta(self) -> np.ndarray:
        """Return E log-rate, (N, K)."""
        return self.offset + self.level + self.mean @ self.loading.T

    def rate(self) -> np.ndarray:
        """Return E rate, (N, K)."""
        spread = 0.5 * self.var @ (self.loading**2).T
        return np.exp(np.minimum(self.eta() + spread, LARGEST))

    def emission(self) -> np.ndarray:
        """Return the emission term without log x!, (N, K), nat."""
        return self.x * self.eta() - self.rate()

    def divergence(self) -> np.ndarray:
        """Return KL(q(z_j) || p(z_j)), (N,), nat."""
        return 0.5 * (self.mean**2 + self.var - 1 - np.log(self.var)).sum(1)

    def bound(self) -> float:
        """Return the bound on log p(x), nat."""
        total = self.emission().sum() - self.divergence().sum()
        return float(total - gammaln(self.x + 1).sum())


class PLNPCA:
    """Variational Poisson log-normal PCA; B is turned to its principal axes."""

    def decompose(self, cube: xr.Dataset, d: int, seed: int) -> xr.Dataset:
        """Return mixing and sources; `seed` plays no part. Attributes: elbo, converged."""
        z, observed = pooled_log_rates(cube, d)
        axes, scores = principal_axes(z, d)
        scale = scores.std(0)
        state = State(
            x=counts_of(cube)[observed],
            offset=np.log(exposure_of(cube)[observed])[:, None],
            level=log_rates(cube)[observed].mean(0),
            loading=axes * scale,
            mean=scores / scale,
            var=np.full(scores.shape, FIRST_VARIANCE),
        )
        state, converged = maximise(state)
        # B B' is identified, a rotation of B is not: principal axes of B z
        turned, size, right = np.linalg.svd(state.loading, full_matrices=False)
        sources = state.mean @ right.T * size
        return as_dataset(cube, turned, sources, elbo=state.bound(), converged=int(converged))


def maximise(state: State) -> tuple[State, bool]:
    """Return the state at the maximum of the bound, and whether it was reached."""
    last = state.bound()
    for _ in range(SWEEPS):
        state = rescaled(feature_step(sample_step(state)))
        bound = state.bound()
        if bound - last < TOLERANCE * abs(bound):
            return state, True
        last = bound
    return state, False


def sample_step(state: State) -> State:
    """Return the state after a Newton step in every mu_j and a fixed-point step in s_j."""
    rate, loading = state.rate(), state.loading
    gradient = (state.x - rate) @ loading - state.mean
    curvature = np.einsum("nk,ki,kj->nij", rate, loading, loading) + np.eye(loading.shape[1])

    def value(s: State) -> np.ndarray:
        return s.emission().sum(1) - s.divergence()

    step = np.linalg.solve(curvature, gradient[..., None])[..., 0]
    state = _accepted(state, {"mean": step}, value)
    goal = 1 / (1 + state.rate() @ loading**2)
    return _accepted(state, {"var": goal - state.var}, value)


def feature_step(state: State) -> State:
    """Return the state after a Newton step in every (l_k, b_k)."""
    rate = state.rate()
    pull = state.mean[:, None] + state.var[:, None] * state.loading  # (N, K, d)
    design = np.concatenate([np.ones((*rate.shape, 1)), pull], axis=-1)
    gradient = np.concatenate(
        [
            (state.x - rate).sum(0)[:, None],
            state.x.T @ state.mean - np.einsum("nk,nki->ki", rate, pull),
        ],
        axis=1,
    )
    curvature = np.einsum("nk,nki,nkj->kij", rate, design, design, optimize=True)
    index = np.arange(1, design.shape[-1])
    curvature[:, index, index] += rate.T @ state.var
    curvature += 1e-9 * np.eye(design.shape[-1])
    step = np.linalg.solve(curvature, gradient[..., None])[..., 0]
    changes = {"level": step[:, 0], "loading": step[:, 1:]}
    return _accepted(state, changes, lambda s: s.emission().sum(0))


def rescaled(state: State) -> State:
    """Return the state with every source at second moment 1, which leaves B z as it is."""
    scale = np.sqrt((state.mean**2 + state.var).mean(0))
    return replace(
        state,
        loading=state.loading * scale,
        mean=state.mean / scale,
        var=state.var / scale**2,
    )


def _accepted(
    state: State, changes: dict[str, np.ndarray], value: Callable[[State], np.ndarray]
) -> State:
    """Return the state after `changes`, each entry's halved until its value does not fall."""
    before = value(state)
    shrink = np.ones(len(before))
    trial = state
    for halving in range(HALVINGS + 1):
        moved = {
            name: getattr(state, name) + step * (shrink if step.ndim == 1 else shrink[:, None])
            for name, step in changes.items()
        }
        trial = replace(state, **moved)
        worse = ~(value(trial) >= before)
        if not worse.any():
            break
        shrink = np.where(worse, shrink / 2 if halving < HALVINGS - 1 else 0.0, shrink)
    return trial
