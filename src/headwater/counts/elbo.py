"""The bound in closed form (counts.md §3.1), for training and as a Pyro ELBO.

ELBO = L_x + L_u + H: expected Poisson log-likelihood, exact log-partition of the regime
chains given q(s), and entropy of q(s). Sums in nats, never normalised by sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyro
import torch
from pyro import poutine
from pyro.infer import ELBO

from .data import CubeTensors
from .distributions import GaussianMarkov, SwitchingAR
from .hmm import Chain
from .parameters import Parameters

CLAMP = 50.0  # of the exponent, float64


@dataclass(frozen=True)
class Terms:
    """The bound of each series, (n,), and what its computation gave on the way."""

    emission: torch.Tensor
    dynamics: torch.Tensor
    entropy: torch.Tensor
    clamped: int
    mu: torch.Tensor
    var: torch.Tensor
    chain: Chain

    @property
    def elbo(self) -> torch.Tensor:
        """Sum of the three terms, (n,)."""
        return self.emission + self.dynamics + self.entropy


def fixed_log_rate(parameters: Parameters, data: CubeTensors) -> torch.Tensor:
    """Return o_t + M c, (n, T, K): the part of eta that no source moves."""
    shift = data.covariates @ parameters.effects.T
    return data.offset[..., None] + shift[:, None, :]


def emission(
    parameters: Parameters, data: CubeTensors, mu: torch.Tensor, var: torch.Tensor
) -> tuple[torch.Tensor, int]:
    """Return L_x of each series (n,) and the number of clamped exponents.

    L_x = sum_t w_t sum_k [x eta - exp(eta + 1/2 sum_i Gamma_ki^2 S_ti) - log x!].
    """
    eta = fixed_log_rate(parameters, data) + mu @ parameters.mixing.T
    exponent = eta + 0.5 * var @ (parameters.mixing**2).T
    clamped = int(((exponent > CLAMP) & (data.observed[..., None] > 0)).sum())
    rate = torch.exp(exponent.clamp(max=CLAMP))
    per_step = (data.counts * eta - rate).sum(-1) - data.log_factorial
    return (data.observed * per_step).sum(1), clamped


def bound_terms(
    prior: SwitchingAR, posterior: GaussianMarkov, parameters: Parameters, data: CubeTensors
) -> Terms:
    """Return the bound of each series with the optimal q(u)."""
    mu, var = posterior.moments()
    fit, clamped = emission(parameters, data, mu, var)
    potentials = prior.potentials(mu, var, posterior.alpha)
    chain = prior.chain(potentials)
    dynamics = prior.log_partition(potentials, chain).sum(-1)
    return Terms(fit, dynamics, posterior.entropy(), clamped, mu, var, chain)


def program(parameters: Parameters, gap: bool = False) -> Callable[[CubeTensors], torch.Tensor]:
    """Return the generative model as a Pyro program over a batch of series."""

    def model(data: CubeTensors) -> torch.Tensor:
        n, steps = data.observed.shape
        prior = SwitchingAR(parameters, n, steps, data.dt if gap else None)
        with pyro.plate("series", n):
            sources = pyro.sample("sources", prior)
            eta = fixed_log_rate(parameters, data) + sources @ parameters.mixing.T
            rate = torch.exp(eta.clamp(max=CLAMP))
            law = pyro.distributions.Poisson(rate).mask(data.observed[..., None] > 0)
            return pyro.sample(
                "counts",
                law.to_event(2),
                obs=data.counts,
                infer={"closed_form": (parameters, data)},
            )

    return model


def guide_of(
    encode: Callable[[CubeTensors], GaussianMarkov],
) -> Callable[[CubeTensors], torch.Tensor]:
    """Return the amortised posterior as a Pyro program."""

    def guide(data: CubeTensors) -> torch.Tensor:
        with pyro.plate("series", data.observed.shape[0]):
            return pyro.sample("sources", encode(data))

    return guide


class ClosedFormELBO(ELBO):
    """The bound above as a Pyro loss, for `pyro.infer.SVI` and for torch optimisers.

    Works for a model with a `SwitchingAR` site ``sources`` and a Poisson site ``counts`` that
    carries ``infer={"closed_form": (parameters, data)}``, and a guide whose ``sources`` are a
    `GaussianMarkov`. Nothing is estimated by draws.
    """

    def _get_trace(self, model: Callable, guide: Callable, args: Any, kwargs: Any) -> tuple:
        guided = poutine.trace(guide).get_trace(*args, **kwargs)
        replayed = poutine.replay(model, trace=guided)
        return poutine.trace(replayed).get_trace(*args, **kwargs), guided

    def terms(self, model: Callable, guide: Callable, *args: Any, **kwargs: Any) -> Terms:
        """Return the bound of each series."""
        traced, guided = self._get_trace(model, guide, args, kwargs)
        parameters, data = traced.nodes["counts"]["infer"]["closed_form"]
        prior, posterior = traced.nodes["sources"]["fn"], guided.nodes["sources"]["fn"]
        return bound_terms(prior, posterior, parameters, data)

    def differentiable_loss(self, model: Callable, guide: Callable, *args: Any, **kwargs: Any):  # noqa: ANN201
        """Return -ELBO as a scalar tensor."""
        return -self.terms(model, guide, *args, **kwargs).elbo.sum()

    def loss(self, model: Callable, guide: Callable, *args: Any, **kwargs: Any) -> float:
        """Return -ELBO."""
        with torch.no_grad():
            return float(self.differentiable_loss(model, guide, *args, **kwargs))

    def loss_and_grads(self, model: Callable, guide: Callable, *args: Any, **kwargs: Any) -> float:
        """Return -ELBO and leave its gradients in the parameters."""
        value = self.differentiable_loss(model, guide, *args, **kwargs)
        value.backward()
        return float(value.detach())
