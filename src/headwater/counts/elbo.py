"""The bound in closed form, for training and as a Pyro ELBO.

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
from torch.autograd.function import once_differentiable

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
    total, clamped = Emission.apply(mu, var, parameters.mixing, parameters.effects, data)
    return total - (data.observed * data.log_factorial).sum(1), int(clamped)


class Emission(torch.autograd.Function):
    """sum_t w_t sum_k [x eta - exp(eta + 1/2 Gamma^2 S)] of each series, with its gradient.

    With g = w (x - rate) and h = w rate: d/d mu = g Gamma, d/d S = -1/2 h Gamma^2,
    d/d Gamma = g' mu - (h' S) Gamma, d/d M = g' c. A clamped exponent has no gradient in rate.
    """

    @staticmethod
    def forward(ctx, mu, var, mixing, effects, data):  # noqa: ANN001, ANN205
        """Return the sums (n,) and the number of clamped exponents."""
        shape = data.counts.shape
        fixed = data.offset[..., None] + (data.covariates @ effects.T)[:, None]
        eta = torch.addmm(fixed.flatten(0, 1), mu.flatten(0, 1), mixing.T)
        rate = torch.addmm(eta, var.flatten(0, 1), mixing.T**2, alpha=0.5).view(shape)
        over = None
        if rate.max() > CLAMP:
            over = (rate > CLAMP) & (data.observed[..., None] > 0)
            rate.clamp_(max=CLAMP)
        rate.exp_()
        total = (data.counts * eta.view(shape)).sub_(rate).sum(-1).mul_(data.observed).sum(1)
        ctx.save_for_backward(mu, var, mixing, rate)
        ctx.over, ctx.data = over, data
        clamped = torch.tensor(0 if over is None else int(over.sum()))
        ctx.mark_non_differentiable(clamped)
        return total, clamped

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient, _):  # noqa: ANN001, ANN205
        """Return the gradients of mu, S, Gamma and M."""
        mu, var, mixing, rate = ctx.saved_tensors
        weight = (ctx.data.observed * gradient[:, None])[..., None]
        if ctx.over is not None:
            rate = rate.masked_fill(ctx.over, 0.0)
        h = rate * weight
        g = (ctx.data.counts * weight).sub_(h)
        to_effects = g.sum(1).T @ ctx.data.covariates
        g, h = g.flatten(0, 1), h.flatten(0, 1)
        to_mu = (g @ mixing).view_as(mu)
        to_var = (h @ (-0.5 * mixing**2)).view_as(var)
        to_mixing = g.T @ mu.flatten(0, 1) - (h.T @ var.flatten(0, 1)) * mixing
        return to_mu, to_var, to_mixing, to_effects, None


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
