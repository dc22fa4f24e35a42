"""The two normalisations of cross-subject work, never to be compared with each other.

``train``: mean and standard deviation of the training subjects (inductive). ``per_subject``: each
subject by its own, which uses the tested subject's unlabelled data (transductive).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headwater.core.errors import InputError

MODES = {
    "train": "statistics of the training subjects (inductive)",
    "per_subject": "each subject by its own statistics (transductive: uses unlabelled test data)",
}
FLOOR = 1e-6


class Scaling(NamedTuple):
    """Mean and standard deviation, (d,) each."""

    mean: np.ndarray
    std: np.ndarray


def fit_scaling(X: np.ndarray) -> Scaling:
    """Return the statistics of the rows of X (n, d); constant columns get standard deviation 1."""
    std = X.std(axis=0, dtype=np.float64)
    return Scaling(X.mean(axis=0, dtype=np.float64), np.where(std > FLOOR, std, 1.0))


def normalised(X: np.ndarray, subject: np.ndarray, train: np.ndarray, mode: str) -> np.ndarray:
    """Return X (n, d) standardised as `mode` says; `train` is the mask of training rows (n,).

    Raises
    ------
    InputError
        If the mode is unknown.
    """
    if mode not in MODES:
        raise InputError(None, "eeg.normalisation", repr(mode), f"one of {', '.join(MODES)}")
    result = np.empty(X.shape, np.float32)
    if mode == "train":
        mean, std = fit_scaling(X[train])
        result[:] = (X - mean) / std
        return result
    for name in np.unique(subject):
        rows = subject == name
        mean, std = fit_scaling(X[rows])
        result[rows] = (X[rows] - mean) / std
    return result
