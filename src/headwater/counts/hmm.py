"""Regime chains, exactly: forward-backward, filtering and Viterbi over C regimes.

One chain per series and source, all at once. With potentials e_t(c) = log-weight of regime c
at step t, the partition function is

    Z = sum over paths of pi(u_1) exp(e_1(u_1)) prod_t A(u_{t-1}, u_t) exp(e_t(u_t)).

Work is done in linear space with a scale per step, so a step costs one small product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from .recurrence import each_step, each_step_back


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
    ahead : (n, T, d, C)
        What the potentials from t on say of u_t, scaled so that xi_t = filtered_{t-1} A ahead_t.
    kernels : (d, C, C) or (n, T, d, C, C)
        A, or the kernel that leads to each step.
    """

    log_partition: torch.Tensor
    marginal: torch.Tensor
    filtered: torch.Tensor
    ahead: torch.Tensor
    kernels: torch.Tensor

    @property
    def pairs(self) -> torch.Tensor:
        """xi_t(b, c) = q(u_{t-1} = b, u_t = c), (n, T - 1, d, C, C), from the second step on."""
        kernels = transitions(self.kernels, self.filtered.shape[1])[:, 1:]
        return self.filtered[:, :-1].unsqueeze(-1) * kernels * self.ahead[:, 1:].unsqueeze(-2)

    def pair_sum(self) -> torch.Tensor:
        """Sum of xi over series and steps, (d, C, C), without xi of every step."""
        if self.kernels.dim() == 5:
            return self.pairs.sum((0, 1))
        before, now = self.filtered[:, :-1].flatten(0, 1), self.ahead[:, 1:].flatten(0, 1)
        return self.kernels * torch.bmm(before.permute(1, 2, 0), now.transpose(0, 1))


def transitions(matrix: torch.Tensor, steps: int) -> torch.Tensor:
    """Return kernels broadcastable to (n, T, d, C, C) from (d, C, C) or from that shape."""
    return matrix.expand(1, steps, *matrix.shape) if matrix.dim() == 3 else matrix


def _moves(matrix: torch.Tensor, steps: int) -> tuple[Callable, list[torch.Tensor]]:
    """Return how kernels move (d, C, n) weights, and the kernels of each step after the first."""
    if matrix.dim() == 3:
        return torch.bmm, [matrix] * (steps - 1)
    kernels = matrix[:, 1:].permute(1, 2, 3, 4, 0).contiguous().unbind(0)
    return lambda kernel, state: (kernel * state.unsqueeze(1)).sum(2), list(kernels)


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
        ones = torch.ones_like(potentials)
        return Chain(potentials.sum((1, 3)), ones, ones, ones, matrix)
    steps = potentials.shape[1]
    # steps first and series last: each step is one piece and its move one product
    top = potentials.amax(-1, keepdim=True)
    weights = (potentials - top).exp_().permute(1, 2, 3, 0).contiguous()
    filtered = torch.empty_like(weights)
    scales = weights.new_empty(steps, weights.shape[1], 1, weights.shape[3])
    state = torch.mul(init.unsqueeze(-1), weights[0])
    torch.sum(state, 1, keepdim=True, out=scales[0])
    state = torch.div(state, scales[0], out=filtered[0])
    move, kernels = _moves(matrix.transpose(-1, -2), steps)
    parts = (weights[1:], scales[1:], filtered[1:])
    for kernel, (weight, scale, out) in zip(kernels, each_step(*parts), strict=True):
        state = move(kernel, state).mul_(weight)
        torch.sum(state, 1, keepdim=True, out=scale)
        state = torch.div(state, scale, out=out)
    ahead = weights.div_(scales)
    back = torch.ones_like(filtered)
    after = back[-1]
    move, kernels = _moves(matrix, steps)
    parts = (ahead[1:], back[:-1])
    for kernel, (given, out) in zip(reversed(kernels), each_step_back(*parts), strict=True):
        after = out.copy_(move(kernel, given.mul_(after)))
    log_partition = scales.log().sum((0, 2)).T + top.sum(1).squeeze(-1)
    shown = (x.permute(3, 0, 1, 2).contiguous() for x in (filtered * back, filtered, ahead))
    return Chain(log_partition, *shown, matrix)


def forward_bound(
    potentials: torch.Tensor, init: torch.Tensor, matrix: torch.Tensor
) -> torch.Tensor:
    """Return L_fwd (n, d): the bound with forward-only kernels q(u_t | u_{t-1}) ∝ A e^{e_t}.

    Never above log Z, equal to it for one regime.
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
