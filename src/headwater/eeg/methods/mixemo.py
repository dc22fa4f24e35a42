"""MixEmo as re-designed from the abstract: prototypes, augmentation, collaboration.

Stage A trains a backbone, stage B partitions its representations (`partition.py`), stage C
synthesises unseen distributions (`augment.py`), stage D trains a shared head with one expert head
per prototype (design §3.5). Only the idea is the paper's (ICML 2026, abstract); every equation
here is a design of ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy, kl_div, log_softmax, softmax

from ..augment import Prototypes, Recipe, Synthesised, make_prototypes, synthesise
from ..training import Data, Network, Settings
from .erm import Erm

RAMP = 0.3  # share of the steps after which collaboration has its full weight


@dataclass(frozen=True)
class Plan:
    """What a MixEmo run does; the ablations change one value each.

    Attributes
    ----------
    partition : style | sample | subject | random
    recipe : Recipe
    lam_e, lam_c, lam_v : float
        Weights of experts, collaboration and variance of risks.
    tau : float
        Temperature of the collaboration.
    """

    partition: str = "style"
    recipe: Recipe = field(default_factory=Recipe)
    lam_e: float = 0.5
    lam_c: float = 0.2
    lam_v: float = 0.5
    tau: float = 2.0

    def without_augmentation(self) -> Plan:
        """Return the plan that keeps the composition and moves and mixes nothing."""
        return replace(self, recipe=replace(self.recipe, p_style=0.0, p_mix=0.0))


class MixEmo(Erm):
    """Stages C and D: synthesised distributions, shared head and experts."""

    def __init__(self, data: Data, settings: Settings, k: np.ndarray, plan: Plan) -> None:
        super().__init__(data, settings)
        self.plan, self.k = plan, k
        self.prototypes: Prototypes = make_prototypes(data.X, data.y, k, data.classes)
        K = int(k.max()) + 1
        self.extra = nn.ModuleList(nn.Linear(settings.m, data.classes) for _ in range(K))

    def batch(self, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        """Return the arrays of a step; see `training.Objective`."""
        new = self.synthesise(rng)
        rows = self.rows(rng)
        weights = new.w.astype(np.float32)
        return (
            new.X,
            new.y,
            new.q,
            new.j,
            weights,
            self.data.X[rows],
            self.data.y[rows],
            self.k[rows],
        )

    def synthesise(self, rng: np.random.Generator) -> Synthesised:
        """Return the synthesised batch of a step."""
        return synthesise(self.prototypes, self.plan.recipe, self.size, rng)

    def terms(
        self, network: Network, batch: tuple[torch.Tensor, ...], progress: float
    ) -> Mapping[str, torch.Tensor]:
        """Return the terms of the loss; see `training.Objective`."""
        x, y, q, j, w, own_x, own_y, own_k = batch
        plan = self.plan
        z = self.represent(network, x, q, j, w)
        logits = network.h(z)
        losses = cross_entropy(logits, y, reduction="none")
        risks = torch.stack([losses[j == i].mean() for i in range(len(w))])
        terms = {"supervised": risks.mean()}
        ramp = min(1.0, progress / RAMP)
        if plan.lam_v:
            terms["variance"] = ramp * plan.lam_v * (risks - risks.mean()).square().mean()
        if plan.lam_e:
            heads = torch.stack([head(network.g(own_x)) for head in self.extra])
            chosen = heads[own_k, torch.arange(len(own_k))]
            terms["experts"] = plan.lam_e * cross_entropy(chosen, own_y)
        if plan.lam_c:
            terms["collaboration"] = ramp * plan.lam_c * self.collaboration(z, logits, y, q, w[j])
        return terms

    def represent(
        self, network: Network, x: torch.Tensor, q: torch.Tensor, j: torch.Tensor, w: torch.Tensor
    ) -> torch.Tensor:
        """Return representations of synthesised samples."""
        return network.g(x)

    def collaboration(
        self,
        z: torch.Tensor,
        logits: torch.Tensor,
        y: torch.Tensor,
        q: torch.Tensor,
        w: torch.Tensor,
    ) -> torch.Tensor:
        """Return tau^2 KL(teacher || shared head) over samples whose teacher is right.

        The teacher is the mixture of experts under w without the sample's own prototype.
        """
        tau = self.plan.tau
        with torch.no_grad():
            weights = w.scatter(1, q[:, None], 0.0)
            weights = weights / weights.sum(1, keepdim=True).clamp_min(1e-8)
            experts = torch.stack([softmax(head(z) / tau, dim=1) for head in self.extra], dim=1)
            teacher = (weights[:, :, None] * experts).sum(1)
            right = (teacher.argmax(1) == y) & (weights.sum(1) > 0.5)
        if not right.any():
            return logits.new_zeros(())
        student = log_softmax(logits[right] / tau, dim=1)
        return tau**2 * kl_div(student, teacher[right], reduction="batchmean")


class LatentMixEmo(MixEmo):
    """Variant: style is moved in the penultimate layer, by statistics of prototypes in the batch.

    Per class and prototype the mean of z, and per prototype its deviation, so that the move is
    within the class (in the manner of MixStyle, Zhou et al. 2021, with prototypes for instances).
    """

    def represent(
        self, network: Network, x: torch.Tensor, q: torch.Tensor, j: torch.Tensor, w: torch.Tensor
    ) -> torch.Tensor:
        """Return representations of synthesised samples, moved in style."""
        z = network.g(x)
        K = len(self.extra)
        member = nn.functional.one_hot(q, K).to(z.dtype)
        count = member.sum(0)
        share = member / count.clamp_min(1)
        with torch.no_grad():
            mean = share.T @ z
            scale = (share.T @ z.square() - mean.square()).clamp_min(1e-4).sqrt()
            weights = w[j] * (count > 1)
            weights = weights / weights.sum(1, keepdim=True).clamp_min(1e-8)
            moved = torch.rand(len(z), 1) < 0.5
            target, spread = weights @ mean, torch.exp(weights @ scale.log())
        return torch.where(moved, (z - mean[q]) / scale[q] * spread + target, z)


class CovarianceMixEmo(MixEmo):
    """Variant: the covariance moves as well as mean and scale (whitening, then colouring).

    Prototype covariances are shrunk (Ledoit-Wolf); the mixture's is their weighted log-Euclidean
    mean (Arsigny et al. 2006).
    """

    def __init__(self, data: Data, settings: Settings, k: np.ndarray, plan: Plan) -> None:
        super().__init__(data, settings, k, plan)
        from sklearn.covariance import ledoit_wolf

        spectra = [np.linalg.eigh(ledoit_wolf(data.X[k == p])[0]) for p in range(int(k.max()) + 1)]
        spectra = [(np.maximum(value, 1e-4), vectors) for value, vectors in spectra]
        self._log = np.array([(v * np.log(s)) @ v.T for s, v in spectra])
        self._whitening = np.array([(v / np.sqrt(s)) @ v.T for s, v in spectra])

    def synthesise(self, rng: np.random.Generator) -> Synthesised:
        """Return the synthesised batch of a step."""
        recipe = replace(self.plan.recipe, p_style=0.0)
        new = synthesise(self.prototypes, recipe, self.size, rng)
        moved = rng.random(len(new.j)) < self.plan.recipe.p_style
        value, vectors = np.linalg.eigh(np.tensordot(new.w, self._log, 1))
        colouring = (vectors * np.exp(value / 2)[:, None]) @ vectors.transpose(0, 2, 1)
        X = new.X.copy()
        for j, q in {(int(a), int(b)) for a, b in zip(new.j[moved], new.q[moved], strict=True)}:
            rows = moved & (new.j == j) & (new.q == q)
            centred = X[rows] - self.prototypes.mean[q]
            X[rows] = centred @ self._whitening[q] @ colouring[j] + new.w[j] @ self.prototypes.mean
        return replace(new, X=X)


class AgreeingMixEmo(MixEmo):
    """Variant: collaboration as agreement - every expert and the shared head meet their mean.

    Mean Jensen-Shannon divergence of all heads on synthesised samples; gradients reach all.
    """

    def collaboration(
        self,
        z: torch.Tensor,
        logits: torch.Tensor,
        y: torch.Tensor,
        q: torch.Tensor,
        w: torch.Tensor,
    ) -> torch.Tensor:
        """Return tau^2 times the divergence of all heads from their mean."""
        heads = torch.stack([logits, *(head(z) for head in self.extra)])
        logs = log_softmax(heads / self.plan.tau, dim=2)
        middle = logs.exp().mean(0).clamp_min(1e-8).log()
        return self.plan.tau**2 * (logs.exp() * (logs - middle)).sum(2).mean()
