"""Poisson log-normal PCA: the model without time (Chiquet, Mariadassou, Robin 2018).

    z_j ~ N(0, I_d),  x_jk ~ Poisson(exp(o_j + l_k + (B z_j)_k)),  q(z_j) = N(mu_j, diag s_j)

for every observed sample j on its own. The bound is that of elbo.py with a standard
normal in the place of the dynamics. L-BFGS climbs it in (l, B) with the best q for these found
by Newton steps, so that its gradient is that of the bound at fixed q. Alternating between the
two instead would take thousands of rounds, as deep counts tie z to B.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from scipy.optimize import minimize
from scipy.special import gammaln

from .common import as_dataset, counts_of, exposure_of, log_rates, pooled_log_rates
from .pca import principal_axes

ITERATIONS = 500  # of L-BFGS
INNER = 50  # Newton steps in q, at most
TOLERANCE = 1e-9  # gain of the bound, as a share of it, at which each of the two ends
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
    """Return the state at a maximum of the bound, and whether L-BFGS says it is one."""
    features, d = state.loading.shape
    now = best_posterior(state)

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal now
        values = flat.reshape(features, 1 + d)
        now = best_posterior(replace(now, level=values[:, 0], loading=values[:, 1:]))
        return -now.bound() / len(now.x), -gradient(now).ravel() / len(now.x)

    start = np.column_stack([state.level, state.loading]).ravel()
    options = {"maxiter": ITERATIONS, "ftol": TOLERANCE, "gtol": 1e-7, "maxcor": 20}
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)
    loss(found.x)
    return now, bool(found.success)


def best_posterior(state: State) -> State:
    """Return the state with the best q for its level and loading."""
    last = state.bound()
    for _ in range(INNER):
        state = sample_step(state)
        bound = state.bound()
        if bound - last < TOLERANCE * abs(bound):
            break
        last = bound
    return state


def gradient(state: State) -> np.ndarray:
    """Return the derivatives of the bound by (l_k, b_k) at fixed q, (K, 1 + d)."""
    rate = state.rate()
    rest = state.x - rate
    by_loading = rest.T @ state.mean - (rate.T @ state.var) * state.loading
    return np.column_stack([rest.sum(0), by_loading])


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
