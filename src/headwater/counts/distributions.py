"""The two path laws as Pyro distributions: the prior of the sources and their posterior.

`SwitchingAR` is the law of the sources with the regimes summed out;
`GaussianMarkov` is the variational family of §3, diagonal over sources.
"""

from __future__ import annotations

import math

import torch
from pyro.distributions import TorchDistribution
from torch.autograd.function import once_differentiable
from torch.distributions import constraints

from .hmm import Chain, LogPartition, forward_backward, transitions
from .intervals import at_intervals
from .parameters import Parameters
from .recurrence import LinearRecurrence, Moments

LOG_2PI = math.log(2 * math.pi)


class GaussianMarkov(TorchDistribution):
    """q(s): s_1 ~ N(beta_1, p_1), s_t | s_{t-1} ~ N(alpha_t s_{t-1} + beta_t, p_t).

    Parameters
    ----------
    alpha, beta, p : (n, T, d)
        Coefficient, bias (nat) and variance (nat^2); alpha_1 is not used and beta_1 is the
        mean m of the first step. Batch shape (n,), event shape (T, d).
    """

    arg_constraints = {}  # noqa: RUF012 - the interface of torch.distributions
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, alpha: torch.Tensor, beta: torch.Tensor, p: torch.Tensor) -> None:
        self.alpha, self.beta, self.p = alpha, beta, p
        super().__init__(beta.shape[:1], beta.shape[1:], validate_args=False)

    @property
    def m(self) -> torch.Tensor:
        """Mean of the first step, (n, d)."""
        return self.beta[:, 0]

    def moments(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the marginal mean mu and variance S of every step, each (n, T, d)."""
        return Moments.apply(self.alpha, self.beta, self.p)

    @property
    def mean(self) -> torch.Tensor:
        """mu, (n, T, d)."""
        return self.moments()[0]

    @property
    def variance(self) -> torch.Tensor:
        """S, (n, T, d)."""
        return self.moments()[1]

    def entropy(self) -> torch.Tensor:
        """Return H = 1/2 sum_t,i log(2 pi e p_t) of each series, (n,)."""
        return 0.5 * (LOG_2PI + 1 + self.p.log()).sum((1, 2))

    def rsample(self, sample_shape: torch.Size = torch.Size()) -> torch.Tensor:  # noqa: B008
        """Return paths (*sample_shape, n, T, d)."""
        shape = torch.Size(sample_shape) + self.beta.shape
        noise = torch.randn(shape, dtype=self.beta.dtype)
        b = self.beta + self.p.sqrt() * noise
        flat = b.reshape(-1, *self.beta.shape[1:])
        alpha = self.alpha.expand(shape).reshape(flat.shape)
        return LinearRecurrence.apply(alpha, flat).reshape(shape)

    def log_prob(self, value: torch.Tensor) -> torch.Tensor:
        """Return log q of paths (..., n, T, d) as (..., n)."""
        before = torch.cat([torch.zeros_like(value[..., :1, :]), value[..., :-1, :]], -2)
        error = value - self.alpha * before - self.beta
        return -0.5 * (LOG_2PI + self.p.log() + error**2 / self.p).sum((-1, -2))

    def expand(self, batch_shape: torch.Size, _instance: object = None) -> GaussianMarkov:
        """Return itself; other batch shapes are not meaningful."""
        if torch.Size(batch_shape) != self.batch_shape:
            raise ValueError(f"batch shape {self.batch_shape} cannot become {batch_shape}")
        return self


class SwitchingAR(TorchDistribution):
    """p(s): AR(1) sources whose coefficients switch with a hidden regime chain, summed out.

    Parameters
    ----------
    parameters : Parameters
    n, steps : int
        Batch shape (n,), event shape (steps, d).
    dt : (n, steps) tensor, optional
        Intervals in base units; with it the exact skeleton of the AR(1) and of the regime
        chain at those intervals is used (time_model ``gap``).
    generator : (d, C, C) tensor, optional
        Of the regime chain, where A = expm(Q) came from it and gradients must reach it.
    """

    arg_constraints = {}  # noqa: RUF012
    support = constraints.real_vector

    def __init__(
        self,
        parameters: Parameters,
        n: int,
        steps: int,
        dt: torch.Tensor | None = None,
        generator: torch.Tensor | None = None,
    ) -> None:
        self.parameters = parameters
        self.dt = dt
        self._at = None if dt is None else at_intervals(parameters, dt, generator)
        shape = torch.Size([steps, parameters.d])
        super().__init__(torch.Size([n]), shape, validate_args=False)

    def dynamics(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return a, b, v (broadcastable to (n, T, d, C)) and the regime kernel of each step."""
        p = self.parameters
        if self._at is None:
            return p.ar_coef, p.ar_bias, p.ar_var, p.regime_transition
        return self._at

    def potentials(self, mu: torch.Tensor, var: torch.Tensor, alpha: torch.Tensor) -> torch.Tensor:
        """Return e_t(i, c), the expected log density of s_t given regime c, under q.

        Moments of q are mu and S = var; shapes (n, T, d) -> (n, T, d, C). With var = 0 it is the
        log-density of a path.
        """
        p = self.parameters
        a, b, v, _ = self.dynamics()
        if not any(x.requires_grad for x in (p.init_mean, p.init_var, a, b, v)):
            return Potentials.apply(mu, var, alpha, p.init_mean, p.init_var, a, b, v)
        first = _gaussian(mu[:, :1, :, None] - p.init_mean, var[:, :1, :, None], p.init_var)
        before, now = mu[:, :-1, :, None], mu[:, 1:, :, None]
        var_before, var_now = var[:, :-1, :, None], var[:, 1:, :, None]
        if self.dt is not None:
            a, b, v = a[:, 1:], b[:, 1:], v[:, 1:]
        spread = var_now + a * (a - 2 * alpha[:, 1:, :, None]) * var_before
        rest = _gaussian(now - a * before - b, spread, v)
        return torch.cat([first, rest], 1)

    def chain(self, potentials: torch.Tensor) -> Chain:
        """Return the regime posterior given potentials; outside autograd."""
        parts = (potentials, self.parameters.regime_init, self.dynamics()[3])
        return forward_backward(*(x.detach() for x in parts))

    def log_partition(self, potentials: torch.Tensor, chain: Chain) -> torch.Tensor:
        """Return log Z (n, d), differentiable in the potentials and in pi and A."""
        value = LogPartition.apply(potentials, chain)
        kernel = self.dynamics()[3]
        if kernel.requires_grad:
            value = value + _kernel_gradient(kernel, self.parameters.regime_init, chain)
        return value

    def log_prob(self, value: torch.Tensor) -> torch.Tensor:
        """Return log p of paths (..., n, T, d), regimes summed out, as (..., n)."""
        shape = value.shape[:-2]
        flat = value.reshape(-1, *value.shape[-2:])
        zero = torch.zeros_like(flat)
        prior = self
        if self.dt is not None:
            dt = self.dt.expand(*shape, self.dt.shape[-1]).reshape(len(flat), -1)
            prior = SwitchingAR(self.parameters, len(flat), flat.shape[1], dt)
        potentials = prior.potentials(flat, zero, zero)
        chain = prior.chain(potentials)
        return prior.log_partition(potentials, chain).sum(-1).reshape(shape)

    def sample(self, sample_shape: torch.Size = torch.Size()) -> torch.Tensor:  # noqa: B008
        """Return paths of the sources, (*sample_shape, n, T, d)."""
        return self.sample_with_regimes(sample_shape)[0]

    @torch.no_grad()
    def sample_with_regimes(
        self,
        sample_shape: torch.Size = torch.Size(),  # noqa: B008
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return paths of sources and of regimes, each (*sample_shape, n, T, d)."""
        p = self.parameters
        lead = torch.Size(sample_shape) + self.batch_shape
        steps, d = self.event_shape
        a, b, v, kernel = self.dynamics()
        index = torch.arange(d)
        regime = torch.distributions.Categorical(p.regime_init).sample(lead)
        source = p.init_mean[index, regime] + p.init_var[index, regime].sqrt() * torch.randn(
            *lead, d, dtype=p.init_mean.dtype
        )
        sources, regimes = [source], [regime]
        for t in range(1, steps):
            if self.dt is None:
                rows, at = kernel[index, regime], lambda x: x[index, regime]  # noqa: B023
            else:
                rows = _pick(kernel[:, t].expand(*lead, d, p.C, p.C), regime)
                at = lambda x: _pick(x[:, t].expand(*lead, d, p.C), regime)  # noqa: B023, E731
            regime = torch.distributions.Categorical(rows).sample()
            noise = torch.randn(*lead, d, dtype=source.dtype)
            source = at(a) * source + at(b) + at(v).sqrt() * noise
            sources.append(source)
            regimes.append(regime)
        return torch.stack(sources, -2), torch.stack(regimes, -2)

    def expand(self, batch_shape: torch.Size, _instance: object = None) -> SwitchingAR:
        """Return the same law for another number of series."""
        if torch.Size(batch_shape) == self.batch_shape:
            return self
        if self.dt is not None or len(batch_shape) != 1:
            raise ValueError(f"batch shape {self.batch_shape} cannot become {batch_shape}")
        return SwitchingAR(self.parameters, batch_shape[0], self.event_shape[0])


class Potentials(torch.autograd.Function):
    """`SwitchingAR.potentials` for dynamics that are not trained by gradient.

    With w = g / v for a gradient g of e and r = mu_t - a mu_{t-1} - b, summed over c:
    d/d mu_t = -w r, d/d mu_{t-1} = w a r, d/d S_t = -w/2, d/d S_{t-1} = -w a (a - 2 alpha)/2,
    d/d alpha_t = w a S_{t-1}.
    """

    @staticmethod
    def forward(ctx, mu, var, alpha, m0, v0, a, b, v):  # noqa: ANN001, ANN205
        """Return e (n, T, d, C)."""
        if a.dim() == 4:
            a, b, v = a[:, 1:], b[:, 1:], v[:, 1:]
        out = mu.new_empty(*mu.shape, m0.shape[1])
        before, old = mu[:, :-1, :, None], var[:, :-1, :, None]
        error = mu[:, 1:, :, None] - b - a * before
        factor = a * (a - 2 * alpha[:, 1:, :, None])
        square = torch.addcmul(var[:, 1:, :, None] + error * error, factor, old)
        torch.sub(-0.5 * (LOG_2PI + v.log()), square.mul_(0.5 / v), out=out[:, 1:])
        first = mu[:, 0, :, None] - m0
        out[:, 0] = -0.5 * (LOG_2PI + v0.log() + (first**2 + var[:, 0, :, None]) / v0)
        ctx.save_for_backward(var, first, error, factor, v0, a, v)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):  # noqa: ANN001, ANN205
        """Return the gradients of mu, S and alpha."""
        var, first, error, factor, v0, a, v = ctx.saved_tensors
        to_mu, to_var = torch.zeros_like(var), torch.zeros_like(var)
        start = gradient[:, 0] / v0
        to_mu[:, 0] = -(start * first).sum(-1)
        to_var[:, 0] = -0.5 * start.sum(-1)
        w = gradient[:, 1:] / v
        pulled, scaled = w * error, w * a
        to_mu[:, 1:] = -pulled.sum(-1)
        to_mu[:, :-1] += (pulled * a).sum(-1)
        to_var[:, 1:] = -0.5 * w.sum(-1)
        to_var[:, :-1] -= 0.5 * (w * factor).sum(-1)
        to_alpha = torch.zeros_like(var)
        torch.mul(scaled.sum(-1), var[:, :-1], out=to_alpha[:, 1:])
        return to_mu, to_var, to_alpha, None, None, None, None, None


def _gaussian(error: torch.Tensor, spread: torch.Tensor, var: torch.Tensor) -> torch.Tensor:
    """Return -1/2 [log 2 pi v + (error^2 + spread)/v]."""
    return -0.5 * (LOG_2PI + var.log() + (error**2 + spread) / var)


def _pick(values: torch.Tensor, regime: torch.Tensor) -> torch.Tensor:
    """Return values[..., d, regime] along the axis after d."""
    index = regime.unsqueeze(-1)
    if values.dim() > regime.dim() + 1:
        index = index.unsqueeze(-1).expand(*regime.shape, 1, values.shape[-1])
        return values.gather(-2, index).squeeze(-2)
    return values.gather(-1, index).squeeze(-1)


def _kernel_gradient(kernel: torch.Tensor, init: torch.Tensor, chain: Chain) -> torch.Tensor:
    """Return zero whose gradient in pi and A is that of log Z (expected log transitions)."""
    log_kernel = transitions(kernel, chain.filtered.shape[1]).clamp(min=1e-300).log()
    moved = (chain.pairs * log_kernel[:, 1:]).sum((1, 3, 4))
    start = (chain.marginal[:, 0] * init.log()).sum(-1)
    total = moved + start
    return total - total.detach()
