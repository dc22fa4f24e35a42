"""How near what was found comes to the truth, or one fit to another.

Components have no order, sign or scale: everything is compared after matching.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from .matching import match

NULL_DRAWS = 200


def matched(true: np.ndarray, found: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Match columns, also where the two have different numbers of them.

    Parameters
    ----------
    true : (K, d)
    found : (K, e)

    Returns
    -------
    order : (d,) int
        Column of `found` for every column of `true`; -1 where none is left.
    signs : (d,)
        1 or -1; 0 where there is no partner.
    cosines : (d,)
        |cosine|; 0 where there is no partner.
    """
    d, e = true.shape[1], found.shape[1]
    if e >= d:
        return match(true, found)
    partner, partner_signs, partner_cosines = match(found, true)
    order = np.full(d, -1)
    signs, cosines = np.zeros(d), np.zeros(d)
    order[partner], signs[partner], cosines[partner] = np.arange(e), partner_signs, partner_cosines
    return order, signs, cosines


def null_cosines(
    true: np.ndarray, found: np.ndarray, seed: int, draws: int = NULL_DRAWS
) -> np.ndarray:
    """Return mean matched |cos| by chance, one value per draw.

    Columns are uniform on the sphere with the signs of `found`: what an estimate reaches that
    knows which loadings are positive and nothing else.
    """
    rng = np.random.default_rng(seed)
    signs = np.where(found < 0, -1.0, 1.0)
    values = np.abs(rng.standard_normal((draws, *found.shape))) * signs
    return np.array([matched(true, value)[2].mean() for value in values])


def gram_error(true: np.ndarray, found: np.ndarray) -> float:
    """Return ||G'G - H'H||_F / ||G'G||_F, H the matched columns of `found`, all of unit norm.

    A column without a partner counts as zero.
    """
    order, signs, _ = matched(true, found)
    unit = found / np.linalg.norm(found, axis=0)
    pairs = np.where(order >= 0, unit[:, np.maximum(order, 0)] * signs, 0.0)
    truth = true / np.linalg.norm(true, axis=0)
    gram = truth.T @ truth
    return float(np.linalg.norm(gram - pairs.T @ pairs) / np.linalg.norm(gram))


def detrended(paths: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Return paths (n, T, d) less their mean over the observed series at each step."""
    weight = observed[..., None]
    number = np.maximum(weight.sum(0), 1)
    return paths - np.where(weight, paths, 0).sum(0) / number


def source_sums(true: np.ndarray, found: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Return by series the sums that correlations need, (n, 1 + d + e, 1 + d + e).

    Products of all pairs of columns of (1, true, found), summed over observed steps; kept per
    series, so that series can be resampled without going through the steps again.
    """
    one = np.ones((*observed.shape, 1))
    rows = np.concatenate([one, true, found], axis=-1)
    rows = np.where(observed[..., None], rows, 0.0)
    return np.einsum("nti,ntj->nij", rows, rows)


def correlations(sums: np.ndarray, d: int) -> np.ndarray:
    """Return |Pearson| between true and found sources, (d, e), pooled over series."""
    total = sums.sum(0)
    total = total / total[0, 0]
    covariance = total[1:, 1:] - np.outer(total[0, 1:], total[0, 1:])
    scale = np.sqrt(np.maximum(np.diag(covariance), 0))
    unit = np.where(scale > 0, scale, np.inf)
    return np.abs(covariance / np.outer(unit, unit))[:d, d:]


def source_mcc(sums: np.ndarray, d: int) -> float:
    """Return the mean matched |Pearson| over true sources; without a partner it is 0."""
    value = correlations(sums, d)
    rows, columns = linear_sum_assignment(-value)
    return float(value[rows, columns].sum() / d)


def contingency(
    true: np.ndarray, found: np.ndarray, observed: np.ndarray, sizes: tuple[int, int]
) -> np.ndarray:
    """Return by series how often true regime a meets found regime b, (n, C, C')."""
    n = len(true)
    place = np.arange(n)[:, None] * sizes[0] * sizes[1] + true * sizes[1] + found
    counts = np.bincount(place[observed], minlength=n * sizes[0] * sizes[1])
    return counts.reshape(n, *sizes)


def adjusted_rand(table: np.ndarray) -> float:
    """Return the adjusted Rand index of a contingency table (Hubert and Arabie 1985)."""
    table = np.asarray(table, dtype=float)

    def pairs(x: np.ndarray) -> float:
        return float((x * (x - 1) / 2).sum())

    total = table.sum()
    both, rows, columns = pairs(table), pairs(table.sum(1)), pairs(table.sum(0))
    if total < 2:
        return float("nan")
    expected = rows * columns / (total * (total - 1) / 2)
    largest = (rows + columns) / 2
    return 1.0 if largest == expected else (both - expected) / (largest - expected)


def accuracy(table: np.ndarray) -> float:
    """Return the share of steps in the right regime under the best one-to-one relabelling."""
    table = np.asarray(table, dtype=float)
    rows, columns = linear_sum_assignment(-table)
    return float(table[rows, columns].sum() / max(table.sum(), 1))


def relabelling(table: np.ndarray) -> np.ndarray:
    """Return for every true regime the found one under the best relabelling; -1 for none."""
    rows, columns = linear_sum_assignment(-np.asarray(table, dtype=float))
    result = np.full(len(table), -1)
    result[rows] = columns
    return result


def sliced_wasserstein2(
    one: np.ndarray, two: np.ndarray, seed: int, projections: int = 1000
) -> float:
    """Return the sliced Wasserstein-2 distance of two samples, (N, K) and (M, K).

    The root of the mean, over directions uniform on the sphere, of the squared W2 distance of
    the projections (Bonneel et al. 2015); exact for each direction, also for N != M.
    """
    rng = np.random.default_rng(seed)
    directions = rng.standard_normal((one.shape[1], projections))
    directions /= np.linalg.norm(directions, axis=0)
    a, b = np.sort(one @ directions, axis=0), np.sort(two @ directions, axis=0)
    # both quantile functions are constant between these levels
    levels = np.union1d(np.arange(1, len(a) + 1) / len(a), np.arange(1, len(b) + 1) / len(b))
    width = np.diff(levels, prepend=0.0)
    middle = levels - width / 2
    pick = [np.minimum((middle * len(x)).astype(int), len(x) - 1) for x in (a, b)]
    return float(np.sqrt((width[:, None] * (a[pick[0]] - b[pick[1]]) ** 2).sum(0).mean()))


def standardised_rows(counts: np.ndarray) -> np.ndarray:
    """Return log(x + 0.01), each row (one step of one series) at mean 0 and sd 1."""
    value = np.log(counts + 0.01)
    value = value - value.mean(1, keepdims=True)
    scale = value.std(1, keepdims=True)
    return value / np.where(scale > 0, scale, 1.0)
