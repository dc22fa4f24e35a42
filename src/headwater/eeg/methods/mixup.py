"""Mixup (Zhang et al. 2018) on features: i.i.d. pairs, labels mixed, lam ~ Beta(0.2, 0.2)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from ..training import Network
from .erm import Erm

BETA = 0.2


class Mixup(Erm):
    """Cross-entropy of mixed inputs against both labels, weighted alike."""

    def batch(self, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        """Return the arrays of a step; see `training.Objective`."""
        x, y, _ = super().batch(rng)
        partner = rng.permutation(len(y))
        lam = rng.beta(BETA, BETA, len(y)).astype(np.float32)
        mixed = lam[:, None] * x + (1 - lam[:, None]) * x[partner]
        return mixed, y, y[partner], lam

    def terms(
        self, network: Network, batch: tuple[torch.Tensor, ...], progress: float
    ) -> Mapping[str, torch.Tensor]:
        """Return the terms of the loss; see `training.Objective`."""
        x, one, two, lam = batch
        logits = network(x)
        first = cross_entropy(logits, one, reduction="none")
        second = cross_entropy(logits, two, reduction="none")
        return {"supervised": (lam * first + (1 - lam) * second).mean()}
