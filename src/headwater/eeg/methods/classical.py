"""Baselines without gradients: majority class, logistic regression, RBF support vectors.

Each returns plain arrays as its state, so that a model file holds no pickle.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..training import Data

State = Mapping[str, np.ndarray]


def fit_majority(data: Data, seed: int) -> State:
    """Return the class shares of the training samples."""
    share = np.bincount(data.y, minlength=data.classes) / len(data.y)
    return {"share": share}


def predict_majority(state: State, X: np.ndarray) -> np.ndarray:
    """Return the training shares for every row, (n, C)."""
    return np.tile(state["share"], (len(X), 1))


def fit_logreg(data: Data, seed: int) -> State:
    """Return multinomial logistic regression with C = 0.01."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=0.01, max_iter=1000).fit(data.X, data.y)
    coef, intercept = model.coef_, model.intercept_
    if len(coef) == 1:  # two classes: one row of coefficients
        coef, intercept = np.vstack([-coef, coef]) / 2, np.array([-1, 1]) * intercept[0] / 2
    rows = np.full((data.classes, coef.shape[1]), 0.0)
    offsets = np.full(data.classes, -np.inf)
    rows[model.classes_], offsets[model.classes_] = coef, intercept
    return {"coef": rows, "intercept": offsets}


def predict_logreg(state: State, X: np.ndarray) -> np.ndarray:
    """Return class probabilities, (n, C)."""
    from scipy.special import softmax

    return softmax(X @ state["coef"].T + state["intercept"], axis=1)


def fit_svm(data: Data, seed: int) -> State:
    """Return RBF support vector machines with C = 1, gamma 1 / (d var X), one against the rest."""
    from sklearn.svm import SVC

    gamma = 1.0 / (data.X.shape[1] * data.X.var())
    vectors, weights, offsets, rows = [], [], [], []
    for c in range(data.classes):
        model = SVC(C=1.0, gamma=gamma, class_weight=None).fit(data.X, data.y == c)
        vectors.append(model.support_vectors_)
        weights.append(model.dual_coef_[0])
        offsets.append(model.intercept_[0])
        rows.append(len(model.support_vectors_))
    return {
        "vectors": np.concatenate(vectors),
        "weights": np.concatenate(weights),
        "offsets": np.array(offsets),
        "rows": np.array(rows),
        "gamma": np.array(gamma),
    }


def predict_svm(state: State, X: np.ndarray) -> np.ndarray:
    """Return the softmax of the decision values, (n, C): an order of classes, not calibrated."""
    from scipy.special import softmax
    from sklearn.metrics.pairwise import rbf_kernel

    kernel = rbf_kernel(X, state["vectors"], gamma=float(state["gamma"])) * state["weights"]
    edges = np.concatenate([[0], np.cumsum(state["rows"])[:-1]])
    return softmax(np.add.reduceat(kernel, edges, axis=1) + state["offsets"], axis=1)
