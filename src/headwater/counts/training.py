"""Gradient steps on encoder, mixing and effects; closed-form steps on the dynamics.

`Trainer` holds everything that changes during a fit and can be written to a checkpoint and
read back, so that a fit that was killed goes on to the same result.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import torch

from .config import FitConfig
from .data import CubeTensors
from .distributions import SwitchingAR
from .elbo import Terms, bound_terms
from .encoder import Encoder
from .intervals import nearest_generator, rates_to_generator
from .model import build_encoder
from .mstep import Statistics, maximise, statistics
from .parameters import PROBABILITY_FLOOR, VARIANCE_FLOOR, Parameters

FULL_BATCH = 1000  # series
MINI_BATCH = 500
# under time_model gap: of the AR coefficient, and of the rates of the regime chain per base step
GAP_LIMITS = (1e-3, 0.999)
RATE_LIMITS = (1e-6, 3.0)


@dataclass(frozen=True)
class Step:
    """What one epoch did: sums over series, in nats."""

    elbo: float
    emission: float
    dynamics: float
    entropy: float
    grad_norm: float
    clamped: int
    lr: float
    worst: int  # index of the first series without a finite bound, or -1


class Trainer:
    """One fit in progress.

    Parameters
    ----------
    data : CubeTensors
        Covariates standardised by the caller.
    start : Parameters
    config : FitConfig
    seed : int
        Of the weights of the encoder and of the order of mini-batches.
    rate : float
        Factor on both learning rates.
    """

    def __init__(
        self, data: CubeTensors, start: Parameters, config: FitConfig, seed: int, rate: float = 1.0
    ) -> None:
        self.data, self.config, self.rate = data, config, rate
        self.generator = torch.Generator().manual_seed(seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.encoder: Encoder = build_encoder(
                config, data.counts.shape[2], data.covariates.shape[1]
            )
        self.encoder.prepare(data, start.mixing, start.effects)
        self.inputs = self.encoder.inputs_of(data)
        self.dynamics = start.detach()
        self.weights = start.mixing.detach().clone().requires_grad_()
        self.effects = start.effects.detach().clone()
        self.effects.requires_grad_(self.effects.numel() > 0)
        self.gap = _gap_parameters(start) if config.time_model == "gap" else {}
        self.running: Statistics | None = None
        self.epoch = 0
        self.reseeded = 0  # epochs in which an empty regime was given new moments
        slow = [self.weights, *([self.effects] if self.effects.numel() else []), *self.gap.values()]
        self.optimiser = torch.optim.AdamW(
            [
                {"params": list(self.encoder.parameters()), "weight_decay": config.weight_decay},
                {"params": slow, "weight_decay": 0.0},
            ],
            lr=config.lr,
            fused=True,
        )

    @property
    def warm(self) -> bool:
        """Whether mixing and dynamics are still fixed."""
        return self.epoch < self.config.warmup

    def parameters(self) -> Parameters:
        """Return the current parameters; Gamma has unit columns, gradients flow through."""
        mixing = self.weights / self.weights.norm(dim=0, keepdim=True).clamp(min=1e-12)
        dynamics = _from_gap(self.gap, self.dynamics) if self.gap else self.dynamics
        return replace(dynamics, mixing=mixing, effects=self.effects)

    def terms(self, index: torch.Tensor | None) -> tuple[Terms, torch.Tensor]:
        """Return the bound of some series, or of all, and alpha of their q(s)."""
        data = self.data if index is None else self.data.part(index)
        inputs = self.inputs if index is None else self.inputs.part(index)
        n, steps = data.observed.shape
        parameters = self.parameters()
        generator = _generator(self.gap) if self.gap else None
        prior = SwitchingAR(parameters, n, steps, data.dt if self.gap else None, generator)
        posterior = self.encoder(data, inputs)
        return bound_terms(prior, posterior, parameters, data), posterior.alpha

    def run_epoch(self) -> Step:
        """Go once through all series."""
        lr = self._set_rates()
        totals = torch.zeros(3, dtype=torch.float64)
        norm, clamped, worst = 0.0, 0, -1
        for index in self._batches():
            self.optimiser.zero_grad()
            terms, alpha = self.terms(index)
            (-terms.elbo.mean()).backward()
            norm = max(norm, self._step(warm=self.warm))
            if not self.warm and not self.gap:
                self._closed_form(terms, alpha, len(alpha))
            with torch.no_grad():
                totals += torch.stack(
                    [terms.emission.sum(), terms.dynamics.sum(), terms.entropy.sum()]
                )
                clamped += terms.clamped
                bad = (~torch.isfinite(terms.elbo)).nonzero()
                if len(bad) and worst < 0:
                    worst = int(bad[0]) if index is None else int(index[bad[0]])
        self.epoch += 1
        emission, dynamics, entropy = totals.tolist()
        return Step(
            emission + dynamics + entropy, emission, dynamics, entropy, norm, clamped, lr, worst
        )

    def _set_rates(self) -> float:
        """Set this epoch's rates: a cosine to 0 over all epochs; mixing rests while warm."""
        c = self.config
        factor = self.rate * 0.5 * (1 + math.cos(math.pi * self.epoch / c.epochs))
        self.optimiser.param_groups[0]["lr"] = c.lr * factor
        self.optimiser.param_groups[1]["lr"] = 0.0 if self.warm else c.lr_mixing * factor
        return c.lr * factor

    def _batches(self) -> list[torch.Tensor | None]:
        n = len(self.data.observed)
        size = self.config.batch or (n if n <= FULL_BATCH else MINI_BATCH)
        if size >= n:
            return [None]
        return list(torch.randperm(n, generator=self.generator).split(size))

    def _step(self, warm: bool) -> float:
        encoder = list(self.encoder.parameters())
        slow = self.optimiser.param_groups[1]["params"]
        norm = torch.nn.utils.clip_grad_norm_([*encoder, *slow], self.config.clip or math.inf)
        if warm:
            for tensor in slow:
                tensor.grad = None
        self.optimiser.step()
        return float(norm)

    def _closed_form(self, terms: Terms, alpha: torch.Tensor, n: int) -> None:
        """Update the dynamics; with mini-batches from running statistics, rho = (k+2)^-0.7."""
        new = statistics(terms.mu.detach(), terms.var.detach(), alpha.detach(), terms.chain)
        total = len(self.data.observed)
        if n < total:
            new = new.scaled(total / n)
            k = self.epoch - self.config.warmup
            new = new if self.running is None else self.running.mixed(new, (k + 2) ** -0.7)
            self.running = new
        self.dynamics, notes = maximise(new, self.dynamics)
        self.reseeded += bool(notes)

    def state(self) -> dict[str, Any]:
        """Return all that a later process needs to go on, as tensors and plain values."""
        return {
            "encoder": self.encoder.state_dict(),
            "dynamics": self.dynamics.state(),
            "weights": self.weights.detach(),
            "effects": self.effects.detach(),
            "gap": {k: v.detach() for k, v in self.gap.items()},
            "running": None if self.running is None else vars(self.running),
            "optimiser": self.optimiser.state_dict(),
            "generator": self.generator.get_state(),
            "epoch": self.epoch,
            "rate": self.rate,
            "reseeded": self.reseeded,
        }

    def load(self, state: dict[str, Any]) -> None:
        """Take up a state from `state`."""
        self.encoder.load_state_dict(state["encoder"])
        self.inputs = self.encoder.inputs_of(self.data)
        self.dynamics = Parameters(**state["dynamics"])
        with torch.no_grad():
            self.weights.copy_(state["weights"])
            self.effects.copy_(state["effects"])
            for name, value in state["gap"].items():
                self.gap[name].copy_(value)
        self.running = None if state["running"] is None else Statistics(**state["running"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.generator.set_state(state["generator"])
        self.epoch, self.rate = state["epoch"], state["rate"]
        self.reseeded = state["reseeded"]


def _gap_parameters(p: Parameters) -> dict[str, torch.Tensor]:
    """Return free parameters of the dynamics: under `gap` they are fitted by gradient."""
    low, high = GAP_LIMITS
    free = {
        "ar_coef": torch.logit(p.ar_coef.clamp(low + 0.01, high - 0.01)),
        "ar_bias": p.ar_bias,
        "ar_var": p.ar_var.log(),
        "init_mean": p.init_mean,
        "init_var": p.init_var.log(),
        "regime_init": p.regime_init.log(),
    }
    if p.C > 1:
        slow, fast = RATE_LIMITS
        rates = nearest_generator(p.regime_transition).clamp(1e3 * slow, 0.5 * fast)
        free["rates"] = torch.logit((rates / slow).log() / math.log(fast / slow))
    return {k: v.detach().clone().requires_grad_() for k, v in free.items()}


def _generator(free: dict[str, torch.Tensor]) -> torch.Tensor | None:
    """Return Q (d, C, C) from the free rates; None for one regime."""
    if "rates" not in free:
        return None
    slow, fast = RATE_LIMITS
    return rates_to_generator(slow * (fast / slow) ** torch.sigmoid(free["rates"]))


def _from_gap(free: dict[str, torch.Tensor], kept: Parameters) -> Parameters:
    low, high = GAP_LIMITS
    generator = _generator(free)
    kernel = kept.regime_transition if generator is None else torch.linalg.matrix_exp(generator)
    pi = torch.softmax(free["regime_init"], -1) + PROBABILITY_FLOOR
    return replace(
        kept,
        ar_coef=low + (high - low) * torch.sigmoid(free["ar_coef"]),
        ar_bias=free["ar_bias"],
        ar_var=free["ar_var"].exp() + VARIANCE_FLOOR,
        init_mean=free["init_mean"],
        init_var=free["init_var"].exp() + VARIANCE_FLOOR,
        regime_init=pi / pi.sum(-1, keepdim=True),
        regime_transition=kernel,
    )
