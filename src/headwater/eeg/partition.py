"""Stage B: partition of training samples into distribution prototypes [design §3.3].

The paper's abstract says that representations are split into single-distribution subsets; how is
our design. The partition is to describe style (subject, cap, gain, state) and not class.
Modes: ``style`` clusters subjects by per-class offsets and spread of z, ``sample`` is a Gaussian
mixture of class residuals, ``subject`` one prototype per subject, ``random`` a control.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

MODES = ("style", "sample", "subject", "random")
RIDGE = 1e-3
WEAK_CLUSTERS = 0.1  # silhouette below which every unit is its own prototype


class PartitionError(ValueError):
    """Fewer than two prototypes could be made."""


@dataclass(frozen=True)
class Partition:
    """Prototype of every training sample.

    Attributes
    ----------
    k : (n,) int64 in 0..K-1
    mode : str
    merged : int
        Prototypes that were merged into a neighbour because a class was too rare in them.
    """

    k: np.ndarray
    mode: str
    merged: int = 0

    @property
    def size(self) -> int:
        """Return K."""
        return int(self.k.max()) + 1


def make_partition(
    z: np.ndarray,
    y: np.ndarray,
    unit: np.ndarray,
    *,
    mode: str = "style",
    K: int | None = 6,
    min_per_class: int = 8,
    seed: int = 0,
) -> Partition:
    """Return prototypes of samples with representations z (n, m), classes y and unit ids (n,).

    Parameters
    ----------
    unit : (n,)
        Subject, or subject x session.
    K : int or None
        Number of prototypes at most; None chooses it (silhouette for style, BIC for sample).
    min_per_class : int
        A prototype with fewer samples of a class is merged into the nearest one.

    Raises
    ------
    PartitionError
        If fewer than two prototypes remain.
    """
    code = np.unique(unit, return_inverse=True)[1]
    z = _standardised(z)
    if mode == "style":
        descriptors = style_descriptors(z, y, code)
        k = _cluster(descriptors, K, seed)[code]
    elif mode == "subject":
        k = code.astype(np.int64)
    elif mode == "sample":
        k = _mixture(z, y, K, seed)
    elif mode == "random":
        k = np.random.default_rng(seed).integers(0, K or 6, len(y))
    else:
        raise ValueError(f"partition mode {mode!r}: expected one of {', '.join(MODES)}")
    return _repaired(_numbered(k), z, y, mode, min_per_class)


def _standardised(z: np.ndarray) -> np.ndarray:
    std = z.std(axis=0)
    return (z - z.mean(axis=0)) / np.where(std > 1e-6, std, 1.0)


def _class_means(z: np.ndarray, y: np.ndarray) -> dict[int, np.ndarray]:
    return {int(c): z[y == c].mean(axis=0) for c in np.unique(y)}


def style_descriptors(z: np.ndarray, y: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Return q_u = [off_u, spr_u] of every unit, (units, 2m), standardised over units.

    off_u is the mean over the unit's classes of its class mean less that of all; spr_u half the
    log variance of the residuals from its class means. Neither depends on class shares.
    """
    overall = _class_means(z, y)
    rows = []
    for u in range(int(unit.max()) + 1):
        inside = unit == u
        own = _class_means(z[inside], y[inside])
        offset = np.mean([own[c] - overall[c] for c in own], axis=0)
        spread = np.mean([z[inside & (y == c)].var(axis=0) for c in own], axis=0)
        rows.append(np.concatenate([offset, 0.5 * np.log(spread + RIDGE)]))
    return _standardised(np.array(rows))


def _cluster(descriptors: np.ndarray, K: int | None, seed: int) -> np.ndarray:
    from sklearn.cluster import KMeans
    from sklearn.metrics import silhouette_score

    count = len(descriptors)
    if K is not None:
        model = KMeans(min(K, count), n_init=10, random_state=seed)
        return model.fit_predict(descriptors)
    best, labels = WEAK_CLUSTERS, np.arange(count)
    for size in range(2, min(10, count - 1) + 1):
        found = KMeans(size, n_init=10, random_state=seed).fit_predict(descriptors)
        score = silhouette_score(descriptors, found)
        if score > best:
            best, labels = score, found
    return labels


def _mixture(z: np.ndarray, y: np.ndarray, K: int | None, seed: int) -> np.ndarray:
    from sklearn.decomposition import PCA
    from sklearn.mixture import GaussianMixture

    means = _class_means(z, y)
    residuals = z - np.array([means[int(c)] for c in y])
    low = PCA(min(8, z.shape[1]), random_state=seed).fit_transform(residuals)
    options = {"covariance_type": "diag", "n_init": 3, "reg_covar": 1e-4, "random_state": seed}
    sizes = [K] if K is not None else range(2, 11)
    models = [GaussianMixture(size, **options).fit(low) for size in sizes]
    return min(models, key=lambda model: model.bic(low)).predict(low)


def _numbered(k: np.ndarray) -> np.ndarray:
    return np.unique(k, return_inverse=True)[1].astype(np.int64)


def _repaired(k: np.ndarray, z: np.ndarray, y: np.ndarray, mode: str, least: int) -> Partition:
    classes = np.unique(y)
    merged = 0
    while (size := int(k.max()) + 1) > 2:
        counts = np.array([[np.sum((k == j) & (y == c)) for c in classes] for j in range(size)])
        poor = np.flatnonzero(counts.min(axis=1) < least)
        if not len(poor):
            break
        j = int(poor[np.argmin(counts[poor].sum(axis=1))])
        centres = np.array([z[k == i].mean(axis=0) for i in range(size)])
        distance = np.linalg.norm(centres - centres[j], axis=1)
        distance[j] = np.inf
        k = _numbered(np.where(k == j, int(distance.argmin()), k))
        merged += 1
    if int(k.max()) + 1 < 2:
        counts_text = ", ".join(f"class {c}: {int((y == c).sum())}" for c in classes)
        raise PartitionError(
            f"partition {mode}: 1 prototype is left of {merged + 1} ({counts_text}); two are "
            "needed: lower partition.min_per_class or raise partition.K"
        )
    return Partition(k, mode, merged)


def prototype_table(
    partition: Partition, y: np.ndarray, unit: np.ndarray, label_names: Sequence[str]
) -> list[dict[str, Any]]:
    """Return one row per prototype: samples, classes, subjects and their entropy in nats."""
    rows = []
    for j in range(partition.size):
        inside = partition.k == j
        _, sizes = np.unique(unit[inside], return_counts=True)
        share = sizes / sizes.sum()
        classes = {f"n_{name}": int((y[inside] == c).sum()) for c, name in enumerate(label_names)}
        entropy = float(-(share * np.log(share)).sum())
        rows.append(
            {
                "prototype": j,
                "n": int(inside.sum()),
                **classes,
                "subjects": len(sizes),
                "subject_entropy": entropy,
            }
        )
    return rows


def diagnostics(
    partition: Partition, z: np.ndarray, y: np.ndarray, unit: np.ndarray, seed: int = 0
) -> Mapping[str, Any]:
    """Return information shared with class and subject, and MMD^2 between and within prototypes.

    `mmd2` (K, K): squared maximum mean discrepancy (RBF kernel, median heuristic; Gretton et al.
    2012, unbiased), its diagonal from random halves of one prototype. `single_distribution` says
    whether the median inside is below the median between.
    """
    from sklearn.metrics import normalized_mutual_info_score as shared

    rng = np.random.default_rng(seed)
    z = _standardised(z)
    groups = [_some(z[partition.k == j], rng) for j in range(partition.size)]
    width = _median_distance(_some(z, rng))
    table = np.zeros((partition.size, partition.size))
    for i, a in enumerate(groups):
        order = rng.permutation(len(a))
        halves = a[order[::2]], a[order[1::2]]
        table[i, i] = mmd2(*halves, width)
        for j in range(i):
            table[i, j] = table[j, i] = mmd2(a, groups[j], width)
    inside = float(np.median(np.diag(table)))
    between = float(np.median(table[np.triu_indices(partition.size, 1)]))
    return {
        "mode": partition.mode,
        "K": partition.size,
        "merged": partition.merged,
        "information_class": float(shared(y, partition.k)),
        "information_subject": float(shared(unit, partition.k)),
        "mmd2": table.round(6).tolist(),
        "mmd2_within": inside,
        "mmd2_between": between,
        "single_distribution": inside < between,
    }


def _some(z: np.ndarray, rng: np.random.Generator, most: int = 200) -> np.ndarray:
    return z if len(z) <= most else z[rng.permutation(len(z))[:most]]


def _median_distance(z: np.ndarray) -> float:
    from scipy.spatial.distance import pdist

    return float(np.median(pdist(z))) or 1.0


def mmd2(a: np.ndarray, b: np.ndarray, width: float) -> float:
    """Return the unbiased squared MMD of two samples, RBF kernel exp(-|x - y|^2 / (2 width^2))."""
    from scipy.spatial.distance import cdist

    if len(a) < 2 or len(b) < 2:
        return float("nan")
    kernel = [
        np.exp(-cdist(p, q, "sqeuclidean") / (2 * width**2)) for p, q in ((a, a), (b, b), (a, b))
    ]
    n, m = len(a), len(b)
    inside = (kernel[0].sum() - n) / (n * (n - 1)) + (kernel[1].sum() - m) / (m * (m - 1))
    return float(inside - 2 * kernel[2].mean())
