"""x_t = a_t x_{t-1} + b_t over the second axis, with its exact gradient in one reverse pass."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.autograd.function import once_differentiable

BLOCK = 128  # steps whose views live at once: more would wake Python's garbage collector


def each_step(*parts: torch.Tensor) -> Iterator[tuple[torch.Tensor, ...]]:
    """Yield the views at each index of the first axis, of all parts together."""
    for start in range(0, len(parts[0]), BLOCK):
        yield from zip(*(x[start : start + BLOCK].unbind(0) for x in parts), strict=True)


def each_step_back(*parts: torch.Tensor) -> Iterator[tuple[torch.Tensor, ...]]:
    """Yield what `each_step` does, from the last index to the first."""
    for end in range(len(parts[0]), 0, -BLOCK):
        views = (x[max(end - BLOCK, 0) : end].unbind(0) for x in parts)
        yield from zip(*(reversed(v) for v in views), strict=True)


class LinearRecurrence(torch.autograd.Function):
    """``LinearRecurrence.apply(a, b)``: (n, T, ...) -> x of that shape, x_0 = b_0.

    a_0 is not used. The gradient is the same recurrence backwards:
    g_t = dx_t + a_{t+1} g_{t+1}; db_t = g_t; da_t = g_t x_{t-1}.
    """

    @staticmethod
    def forward(ctx, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:  # noqa: ANN001
        """Return x."""
        a, b = a.transpose(0, 1), b.transpose(0, 1)
        x = b.new_empty(b.shape)  # steps first: each lies in one piece
        state = x[0].copy_(b[0])
        for before, after, out in zip(
            a[1:].unbind(0), b[1:].unbind(0), x[1:].unbind(0), strict=True
        ):
            state = torch.addcmul(after, before, state, out=out)
        ctx.save_for_backward(a, x)
        return x.transpose(0, 1)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:  # noqa: ANN001
        """Return da and db."""
        a, x = ctx.saved_tensors
        gradient = gradient.transpose(0, 1)
        total = torch.empty_like(x)
        state = total[-1].copy_(gradient[-1])
        for factor, given, out in each_step_back(a[1:], gradient[:-1], total[:-1]):
            state = torch.addcmul(given, factor, state, out=out)
        to_a = torch.zeros_like(x)
        torch.mul(total[1:], x[:-1], out=to_a[1:])
        return to_a.transpose(0, 1), total.transpose(0, 1)


class Moments(torch.autograd.Function):
    """``Moments.apply(alpha, beta, p)``, each (n, T, d) -> mu and S of q(s).

    mu_t = alpha_t mu_{t-1} + beta_t and S_t = alpha_t^2 S_{t-1} + p_t in one loop.
    """

    @staticmethod
    def forward(ctx, alpha, beta, p):  # noqa: ANN001, ANN205
        """Return mu and S."""
        n, steps, d = beta.shape
        a, x = beta.new_empty(2, steps, n, 2 * d)  # steps first: each lies in one piece
        turned = alpha.transpose(0, 1)
        a[..., :d] = turned
        torch.mul(turned, turned, out=a[..., d:])
        x[..., :d] = beta.transpose(0, 1)
        x[..., d:] = p.transpose(0, 1)
        before = x[0]
        for factor, now in each_step(a[1:], x[1:]):
            before = now.addcmul_(factor, before)
        ctx.save_for_backward(a, x)
        return x[..., :d].transpose(0, 1), x[..., d:].transpose(0, 1)

    @staticmethod
    @once_differentiable
    def backward(ctx, to_mu, to_var):  # noqa: ANN001, ANN205
        """Return the gradients of alpha, beta and p."""
        a, x = ctx.saved_tensors
        d = x.shape[-1] // 2
        total = torch.empty_like(x)
        total[..., :d] = to_mu.transpose(0, 1)
        total[..., d:] = to_var.transpose(0, 1)
        after = total[-1]
        for factor, now in each_step_back(a[1:], total[:-1]):
            after = now.addcmul_(factor, after)
        to_alpha = torch.zeros_like(x[..., :d])
        product = total[1:] * x[:-1]
        torch.addcmul(product[..., :d], product[..., d:], a[1:, ..., :d], value=2, out=to_alpha[1:])
        return tuple(y.transpose(0, 1) for y in (to_alpha, total[..., :d], total[..., d:]))
