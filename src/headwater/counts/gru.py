"""A GRU whose steps cost less than those of `torch.nn.GRU` on a CPU, with the same weights.

For series of few features the time of a GRU goes to small operations and to autograd's record
of them. Here all layers of a one-way network move together (layer l works on step k - l, so a
network of L layers takes T + L - 1 moves instead of L T), both directions are one product, and
the gradient is one hand-written pass backwards.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.autograd.function import once_differentiable

CLOSED = 1e3  # before the sigmoid: an update gate that keeps the old state exactly


def scan(
    inputs: torch.Tensor, weights: torch.Tensor, bias: torch.Tensor
) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
    """Return h of every step, h_k = (1 - z) n + z h_{k-1}, and what `scan_back` needs.

    r, z = sigmoid(.), n = tanh(. + r (W_hn h + b_hn)), from h = 0. Series are the last axis, so
    that the parts of each step lie in one piece.

    Parameters
    ----------
    inputs : (T, D, 3S, n)
        What does not come from the state to r, z, n.
    weights : (D, B S, S)
        From the state to W_hn h, r, z and, where B = 4, to n outside the reset gate.
    bias : (D, S, 1)
        b_hn.
    """
    steps, groups, _, n = inputs.shape
    size = weights.shape[2]
    new = inputs.new_empty
    gates, hidden = new(steps, groups, 2 * size, n), new(steps, groups, size, n)
    fresh, states = torch.empty_like(hidden), new(steps + 1, groups, size, n)
    to_gates, to_fresh = inputs.split([2 * size, size], 2)
    state = states[0].zero_()
    parts = (to_gates, to_fresh, *gates.chunk(2, 2), gates, hidden, fresh, states[1:])
    for x, y, r, z, g, h, f, s in zip(*(p.unbind(0) for p in parts), strict=True):
        moved = torch.bmm(weights, state)
        torch.add(moved[:, :size], bias, out=h)
        torch.add(x, moved[:, size : 3 * size], out=g).sigmoid_()
        if moved.shape[1] > 3 * size:
            y = y + moved[:, 3 * size :]
        torch.addcmul(y, r, h, out=f).tanh_()
        state = torch.lerp(f, state, z, out=s)
    return states[1:], (weights, gates, hidden, fresh, states)


def scan_back(
    gradient: torch.Tensor, saved: tuple[torch.Tensor, ...]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the gradients of inputs, weights and bias of `scan` from that of its states."""
    weights, gates, hidden, fresh, states = saved
    steps, groups, size, n = hidden.shape
    before = states[:-1]
    r, z = gates.chunk(2, 2)
    # d(W_hn h, r, z, n) per unit of dh_k, before their nonlinearities, for all steps at once
    moved = states.new_empty(steps, groups, 4, size, n)
    to_fresh = torch.mul(1 - z, 1 - fresh * fresh, out=moved[:, :, 3])
    torch.mul(to_fresh, r, out=moved[:, :, 0])
    torch.mul(moved[:, :, 0], hidden * (1 - r), out=moved[:, :, 1])
    torch.mul(before - fresh, z - z * z, out=moved[:, :, 2])
    turned = weights.transpose(1, 2)
    used = moved.flatten(2, 3)[:, :, : weights.shape[1]]
    carried = torch.zeros_like(states[0])
    every = zip(*(x.unbind(0) for x in (gradient, moved, used, z)), strict=True)
    for g, slope, flat, keep in reversed(list(every)):
        carried = carried + g
        slope.mul_(carried.unsqueeze(1))  # from here on it is the gradient itself
        carried = torch.baddbmm(carried * keep, turned, flat)
    to_weights = torch.matmul(used, before.transpose(2, 3)).sum(0)
    return moved[:, :, 1:].flatten(2, 3), to_weights, moved[:, :, 0].sum((0, 3))


class Wave(torch.autograd.Function):
    """The last states (T, H, n) of a one-way GRU of L layers on x (T, I, n).

    After x come weight_ih, weight_hh, bias_ih and bias_hh of each layer, as torch has them.
    """

    @staticmethod
    def forward(ctx, x, *layers):  # noqa: ANN001, ANN002, ANN205
        """Return the states."""
        (steps, _, n), count, size = x.shape, len(layers) // 4, layers[1].shape[1]
        moves = steps + count - 1
        inputs = x.new_zeros(moves, 3, count, size, n)
        # from the states of all layers to W_hn h, r, z and n of all layers
        weights = x.new_zeros(4 if count > 1 else 3, count, size, count, size)
        for layer in range(count):
            into, within, bias, hidden = layers[4 * layer : 4 * layer + 4]
            joint = bias.clone()
            joint[: 2 * size] += hidden[: 2 * size]
            joint = joint.view(3, size, 1)
            weights[:3, layer, :, layer] = within.view(3, size, size).roll(1, 0)
            if layer == 0:
                inputs[:steps, :, 0] = (into @ x).view(steps, 3, size, n) + joint
            else:
                weights[1:, layer, :, layer - 1] = into.view(3, size, size)
                inputs[:, :, layer] = joint
                inputs[:layer, 1, layer] = CLOSED
        ctx.states, ctx.saved = scan(
            inputs.view(moves, 1, 3 * count * size, n),
            weights.view(1, -1, count * size),
            torch.cat([layers[4 * k + 3][2 * size :] for k in range(count)]).view(1, -1, 1),
        )
        ctx.save_for_backward(x, layers[0])
        return ctx.states[count - 1 :, 0, -size:].clone()

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):  # noqa: ANN001, ANN205
        """Return the gradients of x and of all weights."""
        x, into = ctx.saved_tensors
        steps, size, n = gradient.shape
        whole = torch.zeros_like(ctx.states)
        moves, count = len(whole), whole.shape[2] // size
        whole[count - 1 :, 0, -size:] = gradient
        to_inputs, to_weights, to_hidden = scan_back(whole, ctx.saved)
        to_inputs = to_inputs.view(moves, 3, count, size, n)
        to_weights = to_weights.view(-1, count, size, count, size)
        to_hidden, to_bias = to_hidden.view(count, size), to_inputs.sum((0, 4))
        first = to_inputs[:steps, :, 0].reshape(steps, 3 * size, n)
        to_x = into.T @ first if ctx.needs_input_grad[0] else None
        result = [to_x]
        for k in range(count):
            if k == 0:
                result.append(torch.matmul(first, x.transpose(1, 2)).sum(0))
            else:
                result.append(to_weights[1:, k, :, k - 1].reshape(3 * size, size))
            result.append(to_weights[:3, k, :, k].roll(-1, 0).reshape(3 * size, size))
            bias = to_bias[:, k].flatten()
            result += [bias, torch.cat([bias[: 2 * size], to_hidden[k]])]
        return tuple(result)


class Both(torch.autograd.Function):
    """The states (T, 2H, n) of one layer of a two-way GRU on x (T, I, n).

    After x come weight_ih, weight_hh, bias_ih and bias_hh, forwards and then backwards.
    """

    @staticmethod
    def forward(ctx, x, *ways):  # noqa: ANN001, ANN002, ANN205
        """Return the states."""
        (steps, _, n), size = x.shape, ways[1].shape[1]
        inputs = x.new_empty(steps, 2, 3 * size, n)
        for way in range(2):
            into, _, bias, hidden = ways[4 * way : 4 * way + 4]
            joint = bias.clone()
            joint[: 2 * size] += hidden[: 2 * size]
            given = into @ x + joint[:, None]
            inputs[:, way] = given.flip(0) if way else given
        weights = torch.stack([ways[k].roll(size, 0) for k in (1, 5)])
        bias = torch.stack([ways[k][2 * size :, None] for k in (3, 7)])
        states, ctx.saved = scan(inputs, weights, bias)
        ctx.save_for_backward(x, ways[0], ways[4])
        return torch.cat([states[:, 0], states[:, 1].flip(0)], 1)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):  # noqa: ANN001, ANN205
        """Return the gradients of x and of all weights."""
        x, *into = ctx.saved_tensors
        size = gradient.shape[1] // 2
        ways = torch.stack([gradient[:, :size], gradient[:, size:].flip(0)], 1)
        to_inputs, to_weights, to_hidden = scan_back(ways, ctx.saved)
        result, to_x = [], None
        for k in range(2):
            given = to_inputs[:, k].flip(0) if k else to_inputs[:, k]
            bias = given.sum((0, 2))
            result += [
                torch.matmul(given, x.transpose(1, 2)).sum(0),
                to_weights[k].roll(-size, 0),
                bias,
                torch.cat([bias[: 2 * size], to_hidden[k]]),
            ]
            if ctx.needs_input_grad[0]:
                part = into[k].T @ given
                to_x = part if to_x is None else to_x + part
        return to_x, *result


class ScanGRU(nn.GRU):
    """`torch.nn.GRU` (batch first, zero first state, no dropout), with a faster gradient."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        """Return the states of the last layer, (n, T, directions x hidden)."""
        x = x.permute(1, 2, 0).contiguous()
        if not self.bidirectional:
            return Wave.apply(x, *self._flat_weights).permute(2, 0, 1)
        for layer in range(self.num_layers):
            x = Both.apply(x, *self._flat_weights[8 * layer : 8 * layer + 8])
        return x.permute(2, 0, 1)
