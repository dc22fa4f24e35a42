"""One trainer for all gradient methods: equal steps, epoch chosen on validation subjects.

A method is an `Objective`: it draws a batch and names the terms of its loss. The trainer knows
nothing of the tested subject; `fit` returns the state with the lowest validation cross-entropy.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from .backbones import BACKBONES


class TrainingError(ArithmeticError):
    """A loss term is not finite."""


@dataclass(frozen=True)
class Data:
    """What a method learns from, normalised; nothing of the tested subjects.

    Attributes
    ----------
    X : (n, d) float32; y : (n,) int64
    unit : (n,) int64
        Code of the training subject (or subject x session).
    X_validation, y_validation, w_validation
        Of validation subjects; the weights give every subject and class in it the same say, so
        that the epoch is not chosen by class shares that a new subject need not have.
    classes : int
    grid : (channels, bands)
    """

    X: np.ndarray
    y: np.ndarray
    unit: np.ndarray
    X_validation: np.ndarray
    y_validation: np.ndarray
    w_validation: np.ndarray
    classes: int
    grid: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Settings:
    """Settings of training that all gradient methods share.

    Attributes
    ----------
    backbone : mlp | dgcnn | eegnet
    m : int
        Size of the representation.
    steps : int
        Gradient steps of every method, stages of one method taken together.
    check_every : int
        Steps between two looks at the validation subjects.
    """

    backbone: str = "mlp"
    m: int = 32
    batch: int = 128
    steps: int = 420
    check_every: int = 14
    lr: float = 1e-3
    weight_decay: float = 1e-3
    clip: float = 5.0


class Network(nn.Module):
    """Backbone g and linear head h: (n, d) -> logits (n, C)."""

    def __init__(self, settings: Settings, d: int, classes: int, grid: tuple[int, int]) -> None:
        super().__init__()
        self.g = BACKBONES[settings.backbone](d, grid, settings.m)
        self.h = nn.Linear(settings.m, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return representations or logits, (n, ...)."""
        return self.h(self.g(x))

    def penalty(self) -> torch.Tensor | float:
        """Return the backbone's own penalty, 0 where it has none."""
        own = getattr(self.g, "penalty", None)
        return own() if own else 0.0


class Objective(Protocol):
    """A training method."""

    extra: nn.Module  # modules trained along with the network

    def batch(self, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        """Return the arrays of one step; the first two are X and y."""
        ...

    def terms(
        self, network: Network, batch: tuple[torch.Tensor, ...], progress: float
    ) -> Mapping[str, torch.Tensor]:
        """Return the weighted terms of the loss; their sum is minimised."""
        ...


def new_network(data: Data, settings: Settings, seed: int) -> Network:
    """Return a network whose weights depend on the seed alone."""
    torch.manual_seed(seed)
    return Network(settings, data.X.shape[1], data.classes, data.grid)


def fit(
    network: Network, objective: Objective, data: Data, settings: Settings, steps: int, seed: int
) -> tuple[Network, list[dict[str, Any]]]:
    """Train `network` in place for `steps`; return it at its best validation state, and the log.

    Raises
    ------
    TrainingError
        Naming the term and the step if a term is not finite.
    """
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    parameters = [*network.parameters(), *objective.extra.parameters()]
    optimiser = torch.optim.AdamW(parameters, settings.lr, weight_decay=settings.weight_decay)
    best, state, log = np.inf, copy.deepcopy(network.state_dict()), []
    sums: dict[str, float] = {}
    network.train()
    for step in range(1, steps + 1):
        batch = tuple(map(torch.from_numpy, objective.batch(rng)))
        terms = {**objective.terms(network, batch, step / steps)}
        penalty = network.penalty()
        if not isinstance(penalty, float):
            terms["penalty"] = penalty
        for name, value in terms.items():
            number = float(value.detach())
            if not np.isfinite(number):
                raise TrainingError(f"term {name} is {number} at step {step}; lower training.lr")
            sums[name] = sums.get(name, 0.0) + number
        optimiser.zero_grad()
        sum(terms.values()).backward()
        nn.utils.clip_grad_norm_(parameters, settings.clip)
        optimiser.step()
        if step % settings.check_every == 0 or step == steps:
            loss, accuracy = validate(network, data)
            since = step % settings.check_every or settings.check_every
            log.append(
                {"step": step, "validation_loss": loss, "validation_accuracy": accuracy}
                | {name: total / since for name, total in sums.items()}
            )
            sums = {}
            if loss < best:
                best, state = loss, copy.deepcopy(network.state_dict())
    network.load_state_dict(state)
    network.eval()
    return network, log


def validate(network: Network, data: Data) -> tuple[float, float]:
    """Return weighted cross-entropy and balanced accuracy on the validation subjects."""
    network.eval()
    with torch.no_grad():
        logits = network(torch.from_numpy(data.X_validation))
        y = torch.from_numpy(data.y_validation)
        weights = torch.from_numpy(data.w_validation)
        loss = float((weights * cross_entropy(logits, y, reduction="none")).sum())
        accuracy = float((weights * (logits.argmax(dim=1) == y)).sum())
    network.train()
    return loss, accuracy


def probabilities(network: Network, X: np.ndarray) -> np.ndarray:
    """Return class probabilities (n, C) of rows X (n, d)."""
    network.eval()
    with torch.no_grad():
        return torch.softmax(network(torch.from_numpy(X)), dim=1).numpy()


def represented(network: Network, X: np.ndarray) -> np.ndarray:
    """Return representations z (n, m) of rows X (n, d)."""
    network.eval()
    with torch.no_grad():
        return network.g(torch.from_numpy(X)).numpy()
