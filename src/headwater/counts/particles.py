"""Draws of sources and regimes given the past: a guided particle filter, all series at once.

The law is the generative one (parameters.py). Per step the Poisson likelihood of a series is
approximated by one Gaussian (Newton steps from the predicted moments); every particle draws
its regimes and sources from its own prior times that Gaussian and is weighted by the exact
ratio, so the approximation costs efficiency only, never correctness.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .data import CubeTensors
from .distributions import at_intervals
from .parameters import Parameters

MAX_COEFFICIENT = 0.999  # |a| beyond it makes forecasts explode
MAX_LOG_RATE = 40.0
INFLATION = 1.1  # of the proposal's variance: weights stay bounded in the tails


@dataclass(frozen=True)
class Law:
    """Parameters as numpy arrays on the time grid of a cube.

    Attributes
    ----------
    mixing : (K, d)
    shift : (n, K)
        M c of each series, nat.
    init, init_mean, init_var : (d, C)
    a, b, v : (1 or n, 1 or T, d, C)
    kernel : (1 or n, 1 or T, d, C, C)
        Leads to each step; a length of 1 stands for "the same at all".
    clipped : int
        Number of AR coefficients that were cut to 0.999 in size.
    """

    mixing: np.ndarray
    shift: np.ndarray
    init: np.ndarray
    init_mean: np.ndarray
    init_var: np.ndarray
    a: np.ndarray
    b: np.ndarray
    v: np.ndarray
    kernel: np.ndarray
    clipped: int

    def part(self, index: slice) -> Law:
        """Return the law of the chosen series."""
        own = {k: getattr(self, k) for k in ("a", "b", "v", "kernel")}
        own = {k: x[index] if len(x) > 1 else x for k, x in own.items()}
        return Law(**{**vars(self), **own, "shift": self.shift[index]})

    def rows(self, regime: np.ndarray, t: int) -> np.ndarray:
        """Return A[u_{t-1}, :] of regimes (n, P, d) as (n, P, d, C)."""
        full = self.kernel[:, min(t, self.kernel.shape[1] - 1)][:, None]
        full = np.broadcast_to(full, (*regime.shape, *full.shape[-2:]))
        return np.take_along_axis(full, regime[..., None, None], -2)[..., 0, :]

    def moments(self, source: np.ndarray, t: int) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of s_t given s_{t-1} (n, P, d), for every regime."""
        k = min(t, self.a.shape[1] - 1)
        mean = self.a[:, k][:, None] * source[..., None] + self.b[:, k][:, None]
        return mean, np.broadcast_to(self.v[:, k][:, None], mean.shape)


@dataclass
class Particles:
    """Weighted draws: source (n, P, d) in nat, regime (n, P, d), log_weight (n, P)."""

    source: np.ndarray
    regime: np.ndarray
    log_weight: np.ndarray

    def weights(self) -> np.ndarray:
        """Return weights that sum to 1 in each series."""
        w = np.exp(self.log_weight - self.log_weight.max(1, keepdims=True))
        return w / w.sum(1, keepdims=True)

    def resampled(self, rng: np.random.Generator, share: float = 1.0) -> Particles:
        """Resample (systematic) the series whose effective size is at most share * P."""
        n, P = self.log_weight.shape
        w = self.weights()
        points = (np.arange(P) + rng.random((n, 1))) / P
        chosen = _inverse_cdf(w.cumsum(1), points)
        do = 1 / (w**2).sum(1, keepdims=True) <= share * P * (1 + 1e-9)
        chosen = np.where(do, chosen, np.arange(P))
        take = chosen[..., None]
        return Particles(
            np.take_along_axis(self.source, take, 1),
            np.take_along_axis(self.regime, take, 1),
            np.where(do, 0.0, self.log_weight),
        )


def law_of(parameters: Parameters, data: CubeTensors, gap: bool) -> Law:
    """Return the law for the series of `data`, |a| >= 1 clipped to 0.999."""
    state = {k: x.detach() for k, x in parameters.state().items()}
    a = state["ar_coef"]
    wild = a.abs() >= 1
    state["ar_coef"] = a.where(~wild, a.sign() * MAX_COEFFICIENT)
    if gap:
        parts = [x.numpy() for x in at_intervals(Parameters(**state), data.dt)]
    else:
        names = ("ar_coef", "ar_bias", "ar_var", "regime_transition")
        parts = [state[name].numpy()[None, None] for name in names]
    return Law(
        state["mixing"].numpy(),
        (data.covariates @ state["effects"].T).numpy(),
        state["regime_init"].numpy(),
        state["init_mean"].numpy(),
        state["init_var"].numpy(),
        *parts,
        clipped=int(wild.sum()),
    )


def predicted(
    law: Law, now: Particles | None, t: int, n: int, P: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return regime probabilities, mean and variance of s_t per regime, each (n, P, d, C)."""
    if now is None:
        shape = (n, P, *law.init.shape)
        return tuple(np.broadcast_to(x, shape) for x in (law.init, law.init_mean, law.init_var))
    mean, var = law.moments(now.source, t)
    return law.rows(now.regime, t), mean, var


def draw_regime(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return one regime per row of probabilities (..., C)."""
    u = rng.random((*rows.shape[:-1], 1))
    return (u > rows.cumsum(-1)[..., :-1]).sum(-1)


def pick(values: np.ndarray, regime: np.ndarray) -> np.ndarray:
    """Return values[..., regime]."""
    return np.take_along_axis(values, regime[..., None], -1)[..., 0]


def advance(
    law: Law,
    now: Particles | None,
    t: int,
    n: int,
    P: int,
    rng: np.random.Generator,
    forced: Mapping[int, int] | None = None,
    shift: np.ndarray | float = 0.0,
) -> Particles:
    """Draw step t from the model alone.

    Parameters
    ----------
    now : Particles or None
        Step t - 1; None: step t is the first one.
    forced : mapping, optional
        Source -> regime that it is in at t whatever the chain draws.
    shift : (d,), optional
        Added to the sources, nat. The numbers drawn do not depend on these two.
    """
    rows, mean, var = predicted(law, now, t, n, P)
    regime = draw_regime(rows, rng)
    for source, c in (forced or {}).items():
        regime[..., source] = c
    noise = rng.standard_normal(regime.shape)
    source = pick(mean, regime) + np.sqrt(pick(var, regime)) * noise + shift
    weight = np.zeros((n, P)) if now is None else now.log_weight
    return Particles(source, regime, weight)


def update(
    law: Law,
    now: Particles | None,
    t: int,
    counts: np.ndarray,
    offset: np.ndarray,
    observed: np.ndarray,
    P: int,
    rng: np.random.Generator,
) -> Particles:
    """Draw step t given its counts (n, K), offset (n,) and mask (n,); weights are exact."""
    n, d = len(counts), law.mixing.shape[1]
    rows, mean, var = predicted(law, now, t, n, P)
    weight = np.full((n, P), 1 / P) if now is None else now.weights()
    base = offset[:, None] + law.shift
    linear, information = _likelihood(law, counts, base, observed, rows, mean, var, weight)
    chance = _regime_proposal(rows, mean, var, linear, information, observed)
    regime = draw_regime(chance, rng)
    m, v = pick(mean, regime), pick(var, regime)
    precision = information[:, None] + np.eye(d) * (1 / v)[..., None]
    centre = np.linalg.solve(precision, (m / v + linear[:, None])[..., None])[..., 0]
    z = rng.standard_normal((n, P, d))
    chol = np.linalg.cholesky(precision)
    scale = np.where(observed, INFLATION, 1.0)[:, None, None] ** 0.5
    step = np.linalg.solve(np.swapaxes(chol, -1, -2), z[..., None])[..., 0]
    source = centre + scale * step
    log_q = (np.log(np.diagonal(chol, 0, -2, -1)) - np.log(scale) - 0.5 * z**2).sum(-1)
    log_p = (-0.5 * (np.log(v) + (source - m) ** 2 / v)).sum(-1)
    log_p += np.log(pick(rows, regime) / pick(chance, regime)).sum(-1)
    eta = np.minimum(source @ law.mixing.T + base[:, None], MAX_LOG_RATE)
    log_lik = (counts[:, None] * eta - np.exp(eta)).sum(-1) * observed[:, None]
    before = 0.0 if now is None else now.log_weight
    return Particles(source, regime, before + log_lik + log_p - log_q)


def _likelihood(
    law: Law,
    counts: np.ndarray,
    base: np.ndarray,
    observed: np.ndarray,
    rows: np.ndarray,
    mean: np.ndarray,
    var: np.ndarray,
    weight: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return r (n, d) and H (n, d, d): log p(x_t | s) ~ r's - s'Hs/2 near its mode."""
    share = rows * weight[..., None, None]
    total = share.sum((1, 3))
    centre = (share * mean).sum((1, 3)) / total
    spread = (share * (var + mean**2)).sum((1, 3)) / total - centre**2
    prior = np.eye(law.mixing.shape[1]) / np.maximum(spread, 1e-8)[:, None]
    s = centre
    for _ in range(15):
        rate = np.exp(np.minimum(s @ law.mixing.T + base, MAX_LOG_RATE))
        slope = (counts - rate) @ law.mixing - (prior @ (s - centre)[..., None])[..., 0]
        information = np.einsum("ki,nk,kj->nij", law.mixing, rate, law.mixing)
        move = np.linalg.solve(information + prior, slope[..., None])[..., 0]
        s = s + np.clip(move, -1, 1)  # a full step overshoots where the rate grows fast
    rate = np.exp(np.minimum(s @ law.mixing.T + base, MAX_LOG_RATE))
    information = np.einsum("ki,nk,kj->nij", law.mixing, rate, law.mixing)
    information *= observed[:, None, None]
    gradient = (counts - rate) @ law.mixing * observed[:, None]
    return gradient + (information @ s[..., None])[..., 0], information


def _regime_proposal(
    rows: np.ndarray,
    mean: np.ndarray,
    var: np.ndarray,
    linear: np.ndarray,
    information: np.ndarray,
    observed: np.ndarray,
) -> np.ndarray:
    """Return probabilities of regimes given roughly what the counts say of each source."""
    if rows.shape[-1] == 1:
        return rows
    d = linear.shape[1]
    known = np.linalg.inv(information + 1e-2 * np.eye(d))
    place = (known @ linear[..., None])[:, None, :, :]
    noise = np.diagonal(known, 0, 1, 2)[:, None, :, None] + var
    fit = -0.5 * (np.log(noise) + (place - mean) ** 2 / noise)
    chance = rows * np.exp(fit - fit.max(-1, keepdims=True))
    chance /= chance.sum(-1, keepdims=True)
    return np.where(observed[:, None, None, None], 0.9 * chance + 0.1 * rows, rows)


def _inverse_cdf(cdf: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return for each row the first index whose cdf reaches each (sorted) point."""
    n, P = cdf.shape
    level = np.arange(n)[:, None] * 2.0  # one sorted list of all rows
    cdf = np.minimum(cdf / cdf[:, -1:], 1.0)
    flat = np.searchsorted((cdf + level).ravel(), (points + level).ravel())
    return np.minimum(flat.reshape(n, P) - np.arange(n)[:, None] * P, P - 1)
