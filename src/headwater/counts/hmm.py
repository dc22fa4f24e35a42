"""Regime chains, exactly: forward-backward, filtering and Viterbi over C regimes.

One chain per series and source, all at once. With potentials e_t(c) = log-weight of regime c
at step t (counts.md §3.1), the partition function is

    Z = sum over paths of pi(u_1) exp(e_1(u_1)) prod_t A(u_{t-1}, u_t) exp(e_t(u_t)).

Work is done in linear space with a scale per step, so a step costs one small product.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Chain:
    """Result of forward-backward.

    Attributes
    ----------
    log_partition : (n, d)
        log Z.
    marginal : (n, T, d, C)
        gamma_t(c) = q(u_t = c).
    filtered : (n, T, d, C)
        q(u_t = c | potentials up to t).
    pairs : (n, T, d, C, C)
        xi_t(b, c) = q(u_{t-1} = b, u_t = c); zero at t = 0.
    """

    log_partition: torch.Tensor
    marginal: torch.Tensor
    filtered: torch.Tensor
    pairs: torch.Tensor


def transitions(matrix: torch.Tensor, steps: int) -> torch.Tensor:
    """Return kernels broadcastable to (n, T, d, C, C) from (d, C, C) or from that shape."""
    return matrix.expand(1, steps, *matrix.shape) if matrix.dim() == 3 else matrix


def forward(
    potentials: torch.Tensor, init: torch.Tensor, matrix: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return log Z (n, d), filtered marginals and scaled weights (n, T, d, C)."""
    top = potentials.max(-1, keepdim=True).values
    weights = torch.exp(potentials - top)
    kernels = transitions(matrix, potentials.shape[1])
    filtered = torch.empty_like(weights)
    scales = torch.empty_like(top)
    state = init * weights[:, 0]
    for t in range(potentials.shape[1]):
        if t:
            state = (state.unsqueeze(-2) @ kernels[:, t]).squeeze(-2) * weights[:, t]
        scale = state.sum(-1, keepdim=True)
        state = state / scale
        filtered[:, t], scales[:, t] = state, scale
    log_partition = (scales.log() + top).sum(1).squeeze(-1)
    return log_partition, filtered, weights / scales


def forward_backward(potentials: torch.Tensor, init: torch.Tensor, matrix: torch.Tensor) -> Chain:
    """Return marginals and pair marginals of every chain.

    Parameters
    ----------
    potentials : (n, T, d, C)
        e.
    init : (d, C)
        pi.
    matrix : (d, C, C) or (n, T, d, C, C)
        A; with five dimensions the kernel that leads to each step.
    """
    if potentials.shape[-1] == 1:
        return _single(potentials)
    log_partition, filtered, scaled = forward(potentials, init, matrix)
    kernels = transitions(matrix, potentials.shape[1])
    steps = potentials.shape[1]
    back = torch.ones_like(filtered)
    for t in range(steps - 1, 0, -1):
        message = (back[:, t] * scaled[:, t]).unsqueeze(-1)
        back[:, t - 1] = (kernels[:, t] @ message).squeeze(-1)
    pairs = torch.zeros(*potentials.shape, potentials.shape[-1], dtype=potentials.dtype)
    pairs[:, 1:] = (
        filtered[:, :-1].unsqueeze(-1) * kernels[:, 1:] * (back * scaled)[:, 1:].unsqueeze(-2)
    )
    return Chain(log_partition, filtered * back, filtered, pairs)


def _single(potentials: torch.Tensor) -> Chain:
    ones = torch.ones_like(potentials)
    pairs = ones.unsqueeze(-1).clone()
    pairs[:, 0] = 0
    return Chain(potentials.sum((1, 3)), ones, ones, pairs)


def forward_bound(
    potentials: torch.Tensor, init: torch.Tensor, matrix: torch.Tensor
) -> torch.Tensor:
    """Return L_fwd (n, d): the bound with forward-only kernels q(u_t | u_{t-1}) ∝ A e^{e_t}.

    Never above log Z, equal to it for one regime (counts.md §3.1, point 3).
    """
    kernels = transitions(matrix, potentials.shape[1])
    first = torch.logsumexp(init.log() + potentials[:, 0], -1)
    state = torch.softmax(init.log() + potentials[:, 0], -1)
    total = first
    for t in range(1, potentials.shape[1]):
        joint = kernels[:, t].log() + potentials[:, t].unsqueeze(-2)
        norm = torch.logsumexp(joint, -1)
        total = total + (state * norm).sum(-1)
        state = (state.unsqueeze(-1) * torch.exp(joint - norm.unsqueeze(-1))).sum(-2)
    return total


def viterbi(potentials: torch.Tensor, init: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    """Return the most probable regime path of each chain, (n, T, d) integers."""
    kernels = transitions(matrix, potentials.shape[1]).log()
    steps = potentials.shape[1]
    score = init.log() + potentials[:, 0]
    pointers = torch.zeros(potentials.shape, dtype=torch.int64)
    for t in range(1, steps):
        best = (score.unsqueeze(-1) + kernels[:, t]).max(-2)
        pointers[:, t] = best.indices
        score = best.values + potentials[:, t]
    path = torch.empty(potentials.shape[:-1], dtype=torch.int64)
    path[:, -1] = score.argmax(-1)
    for t in range(steps - 1, 0, -1):
        path[:, t - 1] = pointers[:, t].gather(-1, path[:, t].unsqueeze(-1)).squeeze(-1)
    return path


class LogPartition(torch.autograd.Function):
    """log Z as a function of the potentials; its gradient is gamma, already known.

    ``LogPartition.apply(potentials, chain)`` gives (n, d). A loop over T under autograd would
    cost several times more.
    """

    @staticmethod
    def forward(ctx, potentials: torch.Tensor, chain: Chain) -> torch.Tensor:  # noqa: ANN001
        """Return log Z."""
        ctx.save_for_backward(chain.marginal)
        return chain.log_partition.clone()

    @staticmethod
    def backward(ctx, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:  # noqa: ANN001
        """Return d log Z / d e_t(c) = gamma_t(c)."""
        (marginal,) = ctx.saved_tensors
        return marginal * gradient[:, None, :, None], None
