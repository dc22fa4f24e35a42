"""Empirical risk minimisation: i.i.d. batches, or batches balanced over subject and class."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from ..training import Data, Network, Settings


class Erm:
    """Cross-entropy on batches drawn without replacement, epoch after epoch."""

    def __init__(self, data: Data, settings: Settings) -> None:
        self.data, self.size = data, settings.batch
        self.extra: nn.Module = nn.ModuleList()
        self._order = np.empty(0, np.int64)

    def rows(self, rng: np.random.Generator) -> np.ndarray:
        """Return the rows of the next batch."""
        size = min(self.size, len(self.data.y))
        if len(self._order) < size:
            self._order = rng.permutation(len(self.data.y))
        rows, self._order = self._order[:size], self._order[size:]
        return rows

    def batch(self, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        """Return the arrays of a step; see `training.Objective`."""
        rows = self.rows(rng)
        return self.data.X[rows], self.data.y[rows], self.data.unit[rows]

    def terms(
        self, network: Network, batch: tuple[torch.Tensor, ...], progress: float
    ) -> Mapping[str, torch.Tensor]:
        """Return the terms of the loss; see `training.Objective`."""
        x, y, *_ = batch
        return {"supervised": cross_entropy(network(x), y)}


class BalancedErm(Erm):
    """ERM whose batches hold all subjects alike, and all classes alike within each.

    The comparison that counts for composition (design §3.7): nothing else of MixEmo.
    """

    def __init__(self, data: Data, settings: Settings) -> None:
        super().__init__(data, settings)
        key = data.unit * data.classes + data.y
        self._cells = [np.flatnonzero(key == k) for k in np.unique(key)]
        self._of_unit: dict[int, list[int]] = {}
        for index, cell in enumerate(self._cells):
            self._of_unit.setdefault(int(data.unit[cell[0]]), []).append(index)

    def rows(self, rng: np.random.Generator) -> np.ndarray:
        """Return the rows of the next batch."""
        units = list(self._of_unit)
        chosen = [self._of_unit[units[u]] for u in rng.integers(0, len(units), self.size)]
        cells = [self._cells[c[rng.integers(0, len(c))]] for c in chosen]
        return np.array([cell[rng.integers(0, len(cell))] for cell in cells])
