"""Stage C: heterogeneous distribution augmentation (HDA) [design §3.4].

A synthesised distribution is a random mixture of prototypes: its samples are drawn from them with
balanced classes, moved towards the mixture's style, and partly mixed with a partner of the same
class. Labels never change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

FLOOR = 1e-3


@dataclass(frozen=True)
class Prototypes:
    """Prototypes as the sampler needs them.

    Attributes
    ----------
    X : (n, d) float32; y, k : (n,) int64
    mean, scale : (K, d)
        Class-balanced mean mu_k (mean of class means) and standard deviation sigma_k.
    cells : (K, C, most) int64
        Rows of each prototype and class, padded by repetition.
    sizes : (K, C) int64
    """

    X: np.ndarray
    y: np.ndarray
    k: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    cells: np.ndarray
    sizes: np.ndarray


def make_prototypes(X: np.ndarray, y: np.ndarray, k: np.ndarray, classes: int) -> Prototypes:
    """Return `Prototypes` of samples X (n, d) with classes y and prototype numbers k (n,)."""
    K = int(k.max()) + 1
    rows = [[np.flatnonzero((k == j) & (y == c)) for c in range(classes)] for j in range(K)]
    sizes = np.array([[len(cell) for cell in row] for row in rows])
    cells = np.zeros((K, classes, max(1, sizes.max())), np.int64)
    for j, row in enumerate(rows):
        for c, cell in enumerate(row):
            cells[j, c, : len(cell)] = cell
    mean = [np.mean([X[cell].mean(axis=0) for cell in row if len(cell)], axis=0) for row in rows]
    scale = [np.maximum(X[k == j].std(axis=0), FLOOR) for j in range(K)]
    return Prototypes(
        X, y, k, np.array(mean, np.float32), np.array(scale, np.float32), cells, sizes
    )


@dataclass(frozen=True)
class Recipe:
    """How a batch is synthesised.

    Attributes
    ----------
    distributions : int
        J, synthesised distributions per step.
    alpha : float
        Of the symmetric Dirichlet of mixing weights.
    p_style, p_mix : float
        Shares of samples whose style is moved, and that are mixed with a partner.
    gamma_max : float
        Extrapolation beyond the convex hull of prototype means, at most; 1 is none.
    mix_beta : float
        lam ~ Beta(mix_beta, mix_beta).
    """

    distributions: int = 4
    alpha: float = 1.0
    p_style: float = 0.5
    p_mix: float = 0.3
    gamma_max: float = 1.25
    mix_beta: float = 0.4


@dataclass(frozen=True)
class Synthesised:
    """A batch: X (b, d), y, own prototype q, distribution j (b,) and weights w (J, K)."""

    X: np.ndarray
    y: np.ndarray
    q: np.ndarray
    j: np.ndarray
    w: np.ndarray


def mixing_weights(J: int, K: int, alpha: float, rng: np.random.Generator) -> np.ndarray:
    """Return (J, K) weights: Dirichlet over a random subset of 2..K prototypes, zero elsewhere."""
    weights = np.zeros((J, K))
    for row in weights:
        active = rng.permutation(K)[: rng.integers(2, K + 1)]
        row[active] = rng.dirichlet(np.full(len(active), alpha))
    return weights


def synthesise(
    prototypes: Prototypes, recipe: Recipe, batch: int, rng: np.random.Generator
) -> Synthesised:
    """Return a batch of J distributions with batch // J samples each (design §3.4, steps 1-4)."""
    K = len(prototypes.mean)
    J = recipe.distributions
    w = mixing_weights(J, K, recipe.alpha, rng)
    j = np.repeat(np.arange(J), batch // J)
    q, rows = _composed(prototypes, w, j, rng)
    X, y = prototypes.X[rows], prototypes.y[rows]
    moved = rng.random(len(j)) < recipe.p_style
    if moved.any():
        gamma = rng.uniform(1.0, recipe.gamma_max, J) if recipe.gamma_max > 1 else np.ones(J)
        X = np.where(moved[:, None], transferred(prototypes, X, q, w[j], gamma[j]), X)
    mixed = rng.random(len(j)) < recipe.p_mix
    if mixed.any():
        _, partner = _composed(prototypes, w, j, rng, y)
        lam = rng.beta(recipe.mix_beta, recipe.mix_beta, len(j))[:, None]
        lam = np.where(mixed[:, None] & (prototypes.y[partner] == y)[:, None], lam, 1.0)
        X = lam * X + (1 - lam) * prototypes.X[partner]
    return Synthesised(np.asarray(X, np.float32), y, q, j, w)


def _composed(
    prototypes: Prototypes,
    w: np.ndarray,
    j: np.ndarray,
    rng: np.random.Generator,
    y: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw a prototype under w and a row of class c in it; an empty cell gives another class."""
    edges = np.cumsum(w, axis=1)
    edges /= edges[:, -1:]
    q = (rng.random(len(j))[:, None] > edges[j]).sum(axis=1)
    classes = prototypes.sizes.shape[1]
    c = rng.integers(0, classes, len(j)) if y is None else y
    for _ in range(classes - 1):
        c = np.where(prototypes.sizes[q, c] == 0, (c + 1) % classes, c)
    size = prototypes.sizes[q, c]
    pick = np.minimum((rng.random(len(j)) * size).astype(np.int64), size - 1)
    return q, prototypes.cells[q, c, pick]


def transferred(
    prototypes: Prototypes, X: np.ndarray, q: np.ndarray, w: np.ndarray, gamma: np.ndarray
) -> np.ndarray:
    """Return samples of prototypes q moved to the style of the mixtures w (b, K).

    m = mbar + gamma (sum_k w_k mu_k - mbar), s = exp(sum_k w_k log sigma_k),
    x <- (x - mu_q) / sigma_q * s + m.
    """
    centre = prototypes.mean.mean(axis=0)
    target = centre + gamma[:, None] * (w @ prototypes.mean - centre)
    scale = np.exp(w @ np.log(prototypes.scale))
    return (X - prototypes.mean[q]) / prototypes.scale[q] * scale + target
