"""Baselines that make training subjects alike or weigh them: CORAL, DANN, GroupDRO.

All three see training subjects only (domain generalisation, no target data).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from ..training import Data, Network, Settings
from .erm import BalancedErm, Erm

CORAL_WEIGHT = 1.0
DANN_WEIGHT = 0.1
DRO_STEP = 0.01


class Coral(BalancedErm):
    """Deep CORAL (Sun & Saenko 2016) between random pairs of training subjects.

    Adds the squared Frobenius distance of covariances of z over 4 m^2, and of means over m.
    """

    PAIRS = 4

    def terms(
        self, network: Network, batch: tuple[torch.Tensor, ...], progress: float
    ) -> Mapping[str, torch.Tensor]:
        """Return the terms of the loss; see `training.Objective`."""
        x, y, unit = batch
        z = network.g(x)
        present, sizes = unit.unique(return_counts=True)
        groups = [z[unit == u] for u in present[sizes >= 4]]
        distance = z.new_zeros(())
        pairs = list(zip(groups[::2], groups[1::2], strict=False))[: self.PAIRS]
        for a, b in pairs:
            means = (a.mean(0) - b.mean(0)).square().mean()
            distance = (
                distance + means + (a.T.cov() - b.T.cov()).square().sum() / (4 * z.shape[1] ** 2)
            )
        return {
            "supervised": cross_entropy(network.h(z), y),
            "coral": CORAL_WEIGHT * distance / max(1, len(pairs)),
        }


class _Reversed(torch.autograd.Function):
    """Identity forward, minus `scale` times the gradient backward."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, scale: float) -> torch.Tensor:
        ctx.scale = scale
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return -ctx.scale * gradient, None


class Dann(Erm):
    """Domain-adversarial training (Ganin et al. 2016) against the id of the training subject.

    The reversal grows as 2 / (1 + exp(-10 p)) - 1 with progress p, as in the paper.
    """

    def __init__(self, data: Data, settings: Settings) -> None:
        super().__init__(data, settings)
        units = int(data.unit.max()) + 1
        self.extra = nn.Sequential(nn.Linear(settings.m, 32), nn.ReLU(), nn.Linear(32, units))

    def terms(
        self, network: Network, batch: tuple[torch.Tensor, ...], progress: float
    ) -> Mapping[str, torch.Tensor]:
        """Return the terms of the loss; see `training.Objective`."""
        x, y, unit = batch
        z = network.g(x)
        scale = 2 / (1 + np.exp(-10 * progress)) - 1
        domain = cross_entropy(self.extra(_Reversed.apply(z, float(scale))), unit)
        return {"supervised": cross_entropy(network.h(z), y), "domain": DANN_WEIGHT * domain}


class GroupDro(BalancedErm):
    """Group DRO (Sagawa et al. 2020): a subject's weight grows with its loss, q <- q exp(eta L)."""

    def __init__(self, data: Data, settings: Settings) -> None:
        super().__init__(data, settings)
        self._q = torch.ones(int(data.unit.max()) + 1)

    def terms(
        self, network: Network, batch: tuple[torch.Tensor, ...], progress: float
    ) -> Mapping[str, torch.Tensor]:
        """Return the terms of the loss; see `training.Objective`."""
        x, y, unit = batch
        losses = cross_entropy(network(x), y, reduction="none")
        count = torch.zeros(len(self._q)).index_add_(0, unit, torch.ones(len(unit)))
        mean = torch.zeros(len(self._q)).index_add_(0, unit, losses) / count.clamp_min(1)
        self._q = self._q * torch.exp(DRO_STEP * mean.detach())
        self._q = self._q / self._q.sum()
        present = self._q * (count > 0)
        return {"supervised": (present / present.sum() * mean).sum()}
