"""Closed-form updates of the dynamics from q: sufficient statistics, then solve.

Statistics are sums over series and steps, so batches of series add up.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import torch

from .hmm import Chain
from .parameters import PROBABILITY_FLOOR, VARIANCE_FLOOR, Parameters

EMPTY = 1e-3  # a regime with less weight than this in all series together is re-seeded


@dataclass(frozen=True)
class Statistics:
    """Expected sufficient statistics, each (d, C) unless said.

    first, first_s, first_ss: sum of gamma_1, gamma_1 mu_1, gamma_1 (mu_1^2 + S_1).
    pairs (d, C, C): sum of xi. n, x, y, xx, xy, yy: over transitions, weighted by gamma_t, of
    1, s_{t-1}, s_t, s_{t-1}^2, s_{t-1} s_t, s_t^2 under q.
    """

    first: torch.Tensor
    first_s: torch.Tensor
    first_ss: torch.Tensor
    pairs: torch.Tensor
    n: torch.Tensor
    x: torch.Tensor
    y: torch.Tensor
    xx: torch.Tensor
    xy: torch.Tensor
    yy: torch.Tensor

    def mixed(self, other: Statistics, rho: float) -> Statistics:
        """Return (1 - rho) self + rho other: the running statistics of mini-batches."""
        return Statistics(
            *(torch.lerp(getattr(self, f.name), getattr(other, f.name), rho) for f in fields(self))
        )

    def scaled(self, factor: float) -> Statistics:
        """Return the statistics times a number."""
        return Statistics(*(getattr(self, f.name) * factor for f in fields(self)))


@torch.no_grad()
def statistics(
    mu: torch.Tensor, var: torch.Tensor, alpha: torch.Tensor, chain: Chain
) -> Statistics:
    """Return the statistics of a batch from q(s) (n, T, d) and q(u)."""
    g = chain.marginal
    g0, gt = g[:, 0], g[:, 1:]
    before, now = mu[:, :-1, :, None], mu[:, 1:, :, None]
    s_before, s_now = var[:, :-1, :, None], var[:, 1:, :, None]
    m0 = mu[:, 0, :, None]
    cross = before * now + alpha[:, 1:, :, None] * s_before
    return Statistics(
        first=g0.sum(0),
        first_s=(g0 * m0).sum(0),
        first_ss=(g0 * (m0**2 + var[:, 0, :, None])).sum(0),
        pairs=chain.pair_sum(),
        n=gt.sum((0, 1)),
        x=(gt * before).sum((0, 1)),
        y=(gt * now).sum((0, 1)),
        xx=(gt * (before**2 + s_before)).sum((0, 1)),
        xy=(gt * cross).sum((0, 1)),
        yy=(gt * (now**2 + s_now)).sum((0, 1)),
    )


@torch.no_grad()
def maximise(stats: Statistics, parameters: Parameters) -> tuple[Parameters, list[str]]:
    """Return the parameters of the dynamics that maximise the bound at fixed q, and notes.

    (a, b) are solved jointly, which never lowers the bound; an empty regime gets the moments
    of its source over all regimes, which is said in a note.
    """
    stats, notes = _reseed_empty(stats)
    first = stats.first.clamp(min=1e-12)
    init_mean = stats.first_s / first
    init_var = stats.first_ss / first - init_mean**2
    n = stats.n.clamp(min=1e-12)
    sxx = stats.xx - stats.x**2 / n
    sxy = stats.xy - stats.x * stats.y / n
    syy = stats.yy - stats.y**2 / n
    a = torch.where(sxx > 1e-12 * stats.xx.clamp(min=1e-12), sxy / sxx.clamp(min=1e-300), 0.0)
    b = (stats.y - a * stats.x) / n
    v = (syy - 2 * a * sxy + a**2 * sxx) / n
    enough = stats.first.sum(-1, keepdim=True) > 0
    kept = stats.first > EMPTY
    updated = replace(
        parameters,
        regime_init=_rows(stats.first),
        regime_transition=_rows(stats.pairs + PROBABILITY_FLOOR),
        init_mean=torch.where(enough & kept, init_mean, parameters.init_mean),
        init_var=torch.where(enough & kept, init_var, parameters.init_var).clamp(
            min=VARIANCE_FLOOR
        ),
        ar_coef=a,
        ar_bias=b,
        ar_var=v.clamp(min=VARIANCE_FLOOR),
    )
    return updated, notes


def _rows(weights: torch.Tensor) -> torch.Tensor:
    """Return weights as probabilities with a floor, rows summing to 1."""
    rows = weights / weights.sum(-1, keepdim=True).clamp(min=1e-12)
    rows = rows.clamp(min=PROBABILITY_FLOOR)
    return rows / rows.sum(-1, keepdim=True)


def _reseed_empty(stats: Statistics) -> tuple[Statistics, list[str]]:
    """Give regimes without weight the moments of their source over all regimes."""
    empty = stats.n < EMPTY
    if not bool(empty.any()):
        return stats, []
    total = {k: getattr(stats, k).sum(-1, keepdim=True) for k in ("n", "x", "y", "xx", "xy", "yy")}
    scale = 1.0 / total["n"].clamp(min=1e-12)
    changed = {
        k: torch.where(empty, (v * scale).expand_as(empty), getattr(stats, k))
        for k, v in total.items()
    }
    places = [f"regime {c} of source {i}" for i, c in empty.nonzero().tolist()]
    note = f"{', '.join(places)} held no data and was given its source's overall moments"
    return replace(stats, **changed), [note]
