"""x_t = a_t x_{t-1} + b_t over the second axis, with its exact gradient in one reverse pass."""

from __future__ import annotations

import torch


class LinearRecurrence(torch.autograd.Function):
    """``LinearRecurrence.apply(a, b)``: (n, T, ...) -> x of that shape, x_0 = b_0.

    a_0 is not used. The gradient is the same recurrence backwards:
    g_t = dx_t + a_{t+1} g_{t+1}; db_t = g_t; da_t = g_t x_{t-1}.
    """

    @staticmethod
    def forward(ctx, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:  # noqa: ANN001
        """Return x."""
        x = torch.empty_like(b)
        state = b[:, 0]
        x[:, 0] = state
        for t in range(1, b.shape[1]):
            state = torch.addcmul(b[:, t], a[:, t], state)
            x[:, t] = state
        ctx.save_for_backward(a, x)
        return x

    @staticmethod
    def backward(ctx, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:  # noqa: ANN001
        """Return da and db."""
        a, x = ctx.saved_tensors
        total = torch.empty_like(gradient)
        state = gradient[:, -1]
        total[:, -1] = state
        for t in range(gradient.shape[1] - 1, 0, -1):
            state = torch.addcmul(gradient[:, t - 1], a[:, t], state)
            total[:, t - 1] = state
        before = torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1]], 1)
        return total * before, total
