"""Staged starts: mixing by ICA of log-rates, then regimes by EM on the sources.

A start that is uniform over regimes, or that leaves all parameters free from the first step,
ends in regimes that mean nothing; this order is what makes the fit work.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import torch

from .data import CubeTensors
from .distributions import SwitchingAR
from .mstep import maximise, statistics
from .parameters import Parameters
from .sobi import sobi

KINDS = ("fastica", "sobi", "random")
SOURCE_VARIANCE = 0.02  # S of the first sources, as if they were known that well (nat^2)
EM_STEPS = 60
STAY = 0.95  # first guess of the probability that a regime lasts


@dataclass(frozen=True)
class Start:
    """A first guess and where it came from."""

    kind: str
    parameters: Parameters


def log_rates(data: CubeTensors) -> np.ndarray:
    """Return log(x + 1/2) - o, (n, T, K); the mean of the step stands in where unobserved."""
    rate = (torch.log(data.counts + 0.5) - data.offset[..., None]).numpy()
    seen = data.observed.numpy()[..., None]
    total = np.maximum(seen.sum(0, keepdims=True), 1)
    overall = (seen * rate).sum((0, 1)) / max(seen.sum(), 1)
    mean = np.where(seen.sum(0, keepdims=True) > 0, (seen * rate).sum(0) / total, overall)
    return np.where(seen > 0, rate, mean)


def detrended(rate: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Return log-rates less the mean over series at each step; one series: less its own mean.

    Trends that all series share would make the sources correlate.
    """
    if rate.shape[0] == 1:
        return rate - rate.mean(1, keepdims=True)
    seen = observed[..., None]
    return rate - (seen * rate).sum(0) / np.maximum(seen.sum(0), 1)


def whitened(rate: np.ndarray, observed: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return white paths (n, T, d) and the map (K, d) from them back to log-rates (PCA)."""
    flat = rate[observed > 0]
    flat = flat - flat.mean(0)
    covariance = flat.T @ flat / max(len(flat) - 1, 1)
    values, vectors = np.linalg.eigh(covariance)
    order = np.argsort(values)[::-1][:d]
    scale = np.sqrt(np.maximum(values[order], 1e-8))
    centred = rate - rate[observed > 0].mean(0)
    return centred @ vectors[:, order] / scale, vectors[:, order] * scale


def first_mixing(
    rate: np.ndarray, observed: np.ndarray, d: int, kind: str, seed: int
) -> np.ndarray:
    """Return a first Gamma (K, d), unit columns, from log-rates (n, T, K)."""
    rng = np.random.default_rng(seed)
    features = rate.shape[2]
    if kind == "random":
        mixing = rng.normal(size=(features, d))
    else:
        white, back = whitened(detrended(rate, observed), observed, d)
        mixing = back @ _rotation(white, observed, kind, seed)
    norm = np.linalg.norm(mixing, axis=0)
    mixing = np.where(norm > 1e-8, mixing, rng.normal(size=mixing.shape))
    return mixing / np.linalg.norm(mixing, axis=0)


def _rotation(white: np.ndarray, observed: np.ndarray, kind: str, seed: int) -> np.ndarray:
    d = white.shape[-1]
    if d == 1:
        return np.eye(1)
    if kind == "sobi":
        return sobi(white, observed)
    from sklearn.decomposition import FastICA
    from sklearn.exceptions import ConvergenceWarning

    flat = white[observed > 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a start need not be perfect
        ica = FastICA(whiten=False, max_iter=500, random_state=seed % 2**32)
        ica.fit(flat)
    return np.linalg.pinv(ica.components_)


def first_effects(data: CubeTensors) -> torch.Tensor:
    """Return a first M (K, Q): least squares of the log-rates on the covariates.

    Starting from 0 would let the sources take up what the covariates explain.
    """
    seen = data.observed.numpy() > 0
    rate = log_rates(data)[seen]
    steps = seen.shape[1]
    covariates = np.repeat(data.covariates.numpy()[:, None], steps, 1)[seen]
    return torch.as_tensor(np.linalg.lstsq(covariates, rate, rcond=None)[0].T.copy())


def staged_start(data: CubeTensors, d: int, C: int, kind: str, seed: int) -> Start:
    """Return a start: mixing, sources by least squares, k-means regimes, 60 steps of EM."""
    effects = first_effects(data)
    rate = log_rates(data) - (data.covariates @ effects.T).numpy()[:, None]
    mixing = torch.as_tensor(first_mixing(rate, data.observed.numpy(), d, kind, seed))
    sources = torch.as_tensor(rate) @ torch.linalg.pinv(mixing).T
    guess = regime_guess(sources, data.observed, C, seed)
    parameters = Parameters(mixing=mixing, effects=effects, **guess)
    return Start(kind, switching_em(sources, parameters))


def regime_guess(
    sources: torch.Tensor,
    observed: torch.Tensor,
    C: int,
    seed: int,
) -> dict[str, torch.Tensor]:
    """Return first dynamics: k-means of each source gives levels and variances."""
    d = sources.shape[-1]
    shape = (d, C)
    out = {
        "regime_init": torch.full(shape, 1.0 / C, dtype=torch.float64),
        "init_mean": torch.zeros(shape, dtype=torch.float64),
        "init_var": torch.ones(shape, dtype=torch.float64),
        "ar_coef": torch.full(shape, 0.5, dtype=torch.float64),
        "ar_bias": torch.zeros(shape, dtype=torch.float64),
        "ar_var": torch.ones(shape, dtype=torch.float64),
    }
    stay = STAY if C > 1 else 1.0
    move = (1 - stay) / max(C - 1, 1)
    matrix = torch.full((C, C), move, dtype=torch.float64)
    matrix.fill_diagonal_(stay)
    out["regime_transition"] = matrix.repeat(d, 1, 1)
    for i in range(d):
        values = sources[..., i][observed > 0].numpy()
        level, spread = _clusters(values, C, seed)
        out["init_mean"][i] = torch.as_tensor(level)
        out["init_var"][i] = torch.as_tensor(spread)
        out["ar_bias"][i] = 0.5 * torch.as_tensor(level)
        out["ar_var"][i] = torch.as_tensor(spread)
    return out


def _clusters(values: np.ndarray, C: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return means and variances of C clusters, by increasing mean."""
    overall = max(float(values.var()), 1e-4)
    if C == 1 or len(np.unique(values)) < C:
        # too few values for clusters: levels spread around the mean, never equal
        level = values.mean() + np.sqrt(overall) * (np.arange(C) - (C - 1) / 2)
        return level, np.full(C, overall)
    from sklearn.cluster import KMeans

    means = KMeans(C, n_init=4, random_state=seed % 2**32).fit(values[:, None])
    order = np.argsort(means.cluster_centers_[:, 0])
    level = means.cluster_centers_[order, 0]
    spread = [values[means.labels_ == c].var() for c in order]
    return level, np.maximum(spread, 0.05 * overall)


@torch.no_grad()
def switching_em(
    sources: torch.Tensor, parameters: Parameters, steps: int = EM_STEPS
) -> Parameters:
    """Return dynamics after exact EM with these sources (S = 0.02, alpha = 0)."""
    n, length, _ = sources.shape
    var = torch.full_like(sources, SOURCE_VARIANCE)
    alpha = torch.zeros_like(sources)
    for _ in range(steps if parameters.C > 1 else 1):
        prior = SwitchingAR(parameters, n, length)
        chain = prior.chain(prior.potentials(sources, var, alpha))
        parameters, _ = maximise(statistics(sources, var, alpha, chain), parameters)
    return parameters
