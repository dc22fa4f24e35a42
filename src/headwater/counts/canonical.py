"""The canonical form of a fit: shift, sign, order, regimes, in this order.

`Frame` says how sources move: s' = sign (s[order] - shift[order]); the law of the counts and
the bound do not change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from .distributions import GaussianMarkov
from .parameters import Parameters


@dataclass(frozen=True)
class Frame:
    """Order, sign and shift of the sources, each (d,); shift is in the old frame."""

    order: torch.Tensor
    sign: torch.Tensor
    shift: torch.Tensor

    @classmethod
    def identity(cls, d: int) -> Frame:
        """Return the frame that changes nothing."""
        one = torch.ones(d, dtype=torch.float64)
        return cls(torch.arange(d), one, torch.zeros_like(one))

    def sources(self, q: GaussianMarkov) -> GaussianMarkov:
        """Return q(s') from q(s)."""
        alpha = q.alpha[..., self.order]
        carried = torch.cat([torch.zeros_like(alpha[:, :1]), alpha[:, 1:]], 1)
        shift = self.shift[self.order]
        beta = self.sign * (q.beta[..., self.order] - (1 - carried) * shift)
        return GaussianMarkov(alpha, beta, q.p[..., self.order])

    def then(self, other: Frame) -> Frame:
        """Return the frame that does this one, then `other`."""
        # s'' = g2 (s'[o2] - h2[o2]), s' = g1 (s[o1] - h1[o1])
        order = self.order[other.order]
        sign = other.sign * self.sign[other.order]
        moved = self.sign[other.order] * other.shift[other.order]
        shift = torch.empty_like(self.shift)
        shift[order] = self.shift[order] + moved
        return Frame(order, sign, shift)


def shift_sources(p: Parameters, shift: torch.Tensor) -> Parameters:
    """Return the parameters of s' = s - shift; the intercept (column 0) takes Gamma shift."""
    effects = p.effects.clone()
    effects[:, 0] = effects[:, 0] + p.mixing @ shift
    delta = shift[:, None]
    return replace(
        p,
        effects=effects,
        init_mean=p.init_mean - delta,
        ar_bias=p.ar_bias - (1 - p.ar_coef) * delta,
    )


def flip_sources(p: Parameters, sign: torch.Tensor) -> Parameters:
    """Return the parameters of s' = sign s."""
    flip = sign[:, None]
    return replace(
        p, mixing=p.mixing * sign, init_mean=p.init_mean * flip, ar_bias=p.ar_bias * flip
    )


def order_sources(p: Parameters, order: torch.Tensor) -> Parameters:
    """Return the parameters with sources in another order."""
    same = {"effects": p.effects, "mixing": p.mixing[:, order]}
    rest = {k: v[order] for k, v in p.state().items() if k not in same}
    return replace(p, **same, **rest)


def order_regimes(p: Parameters) -> tuple[Parameters, torch.Tensor]:
    """Return the parameters with regimes by stationary mean, and the order (d, C).

    Where a regime has no stationary mean (|a| >= 0.999) the source's regimes go by b.
    """
    mean = p.stationary_mean()
    key = torch.where(torch.isfinite(mean).all(-1, keepdim=True), mean, p.ar_bias)
    order = torch.argsort(key, dim=-1, stable=True)
    pick = {
        name: value.gather(-1, order)
        for name, value in p.state().items()
        if name not in {"mixing", "effects", "regime_transition"}
    }
    rows = p.regime_transition.gather(1, order[..., None].expand_as(p.regime_transition))
    both = rows.gather(2, order[:, None, :].expand_as(rows))
    return replace(p, **pick, regime_transition=both), order


@torch.no_grad()
def canonical(
    p: Parameters, mean: torch.Tensor, observed: torch.Tensor, intercept: bool
) -> tuple[Parameters, Frame]:
    """Return parameters in canonical form and the frame of the sources.

    Parameters
    ----------
    mean : (n, T, d)
        E q(s).
    observed : (n, T)
    intercept : bool
        Whether column 0 of `effects` is an intercept; sources are shifted only then.
    """
    weight = observed[..., None]
    total = weight.sum().clamp(min=1.0)
    centre = (weight * mean).sum((0, 1)) / total
    variance = (weight * (mean - centre) ** 2).sum((0, 1)) / total
    shift = centre if intercept else torch.zeros_like(centre)
    if intercept:
        p = shift_sources(p, shift)
    largest = p.mixing.abs().argmax(0)
    sign = torch.sign(p.mixing[largest, torch.arange(p.d)])
    sign = torch.where(sign == 0, torch.ones_like(sign), sign)
    p = flip_sources(p, sign)
    order = torch.argsort(variance, descending=True, stable=True)
    p = order_sources(p, order)
    p, _ = order_regimes(p)
    return p, Frame(order, sign[order], shift)
