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

from .recurrence import each_step, each_step_back

CLOSED = 1e3  # before the sigmoid: an update gate that keeps the old state exactly


def scan(work: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Return h of every step and before the first, (T + 1, D, S, n); uses up `work`.

    h_k = (1 - z) n + z h_{k-1} with r, z = sigmoid(.), n = tanh(. + r (W_hn h + b_hn)), from
    h = 0. Series are the last axis, so that the parts of each step lie in one piece.

    Parameters
    ----------
    work : (T, D, 4S, n)
        b_hn, then what does not come from the state to r, z and n. On return it holds
        W_hn h + b_hn, r, z, n.
    weights : (D, B S, S)
        From the state to W_hn h, r, z and, where B = 4, to n outside the reset gate.
    """
    steps, groups, size, n = len(work), len(weights), weights.shape[2], work.shape[3]
    states = work.new_empty(steps + 1, groups, size, n)
    state = states[0].zero_()
    parts = (work[:, :, : weights.shape[1]], work[:, :, size : 3 * size], *work.chunk(4, 2))
    for linear, gates, hidden, r, z, fresh, out in each_step(*parts, states[1:]):
        linear.baddbmm_(weights, state)
        gates.sigmoid_()
        fresh.addcmul_(r, hidden).tanh_()
        state = torch.lerp(fresh, state, z, out=out)
    return states


def scan_back(
    gradient: torch.Tensor, work: torch.Tensor, states: torch.Tensor, weights: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the gradients of r, z, n (T, D, 3S, n), of `weights` and of b_hn (D, S).

    From that of the states; `work` as `scan` left it.
    """
    steps, groups, size, n = gradient.shape
    hidden, r, z, fresh = work.chunk(4, 2)
    before = states[:-1]
    # d(h_{k-1} by z, W_hn h, r, z, n) per unit of dh_k, before their nonlinearities
    moved = work.new_empty(steps, groups, 5, size, n)
    moved[:, :, 0] = z
    to_fresh = torch.mul(1 - z, 1 - fresh * fresh, out=moved[:, :, 4])
    torch.mul(to_fresh, r, out=moved[:, :, 1])
    torch.mul(moved[:, :, 1], hidden * (1 - r), out=moved[:, :, 2])
    torch.mul(before - fresh, z - z * z, out=moved[:, :, 3])
    same = torch.eye(size, dtype=work.dtype).expand(groups, size, size)
    turned = torch.cat([same, weights], 1).transpose(1, 2)
    used = moved.flatten(2, 3)[:, :, : size + weights.shape[1]]
    # each step of `moved` becomes the gradient itself
    moved[-1].mul_(gradient[-1].unsqueeze(1))
    for slope, flat, earlier in each_step_back(moved[:-1], used[1:], gradient[:-1]):
        slope.mul_(torch.baddbmm(earlier, turned, flat).unsqueeze(1))
    to_weights = torch.matmul(used[:, :, size:], before.transpose(2, 3)).sum(0)
    return moved[:, :, 2:].flatten(2, 3), to_weights, moved[:, :, 1].sum((0, 3))


class Wave(torch.autograd.Function):
    """The last states (T, H, n) of a one-way GRU of L layers on x (T, I, n).

    After x come weight_ih, weight_hh, bias_ih and bias_hh of each layer, as torch has them.
    """

    @staticmethod
    def forward(ctx, x, *layers):  # noqa: ANN001, ANN002, ANN205
        """Return the states."""
        (steps, _, n), count, size = x.shape, len(layers) // 4, layers[1].shape[1]
        moves = steps + count - 1
        work = x.new_zeros(moves, 4, count, size, n)
        # from the states of all layers to W_hn h, r, z and n of all layers
        weights = x.new_zeros(4 if count > 1 else 3, count, size, count, size)
        for layer in range(count):
            into, within, bias, hidden = layers[4 * layer : 4 * layer + 4]
            joint = _joint(bias, hidden).view(3, size, 1)
            work[:, 0, layer] = hidden[2 * size :, None]
            weights[:3, layer, :, layer] = within.view(3, size, size).roll(1, 0)
            if layer == 0:
                torch.add((into @ x).view(steps, 3, size, n), joint, out=work[:steps, 1:, 0])
            else:
                weights[1:, layer, :, layer - 1] = into.view(3, size, size)
                work[:, 1:, layer] = joint
                work[:layer, 2, layer] = CLOSED
        work, weights = work.view(moves, 1, -1, n), weights.view(1, -1, count * size)
        states = scan(work, weights)
        ctx.save_for_backward(x, layers[0], work, states, weights)
        return states[count:, 0, -size:].clone()

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):  # noqa: ANN001, ANN205
        """Return the gradients of x and of all weights."""
        x, into, work, states, weights = ctx.saved_tensors
        steps, size, n = gradient.shape
        whole = torch.zeros_like(states[1:])
        moves, count = len(whole), whole.shape[2] // size
        whole[count - 1 :, 0, -size:] = gradient
        to_inputs, to_weights, to_hidden = scan_back(whole, work, states, weights)
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
        work = x.new_empty(steps, 2, 4 * size, n)
        for way in range(2):
            into, _, bias, hidden = ways[4 * way : 4 * way + 4]
            work[:, way, :size] = hidden[2 * size :, None]
            given = x.flip(0) if way else x
            torch.add(into @ given, _joint(bias, hidden)[:, None], out=work[:, way, size:])
        weights = torch.stack([ways[k].roll(size, 0) for k in (1, 5)])
        states = scan(work, weights)
        ctx.save_for_backward(x, ways[0], ways[4], work, states, weights)
        return torch.cat([states[1:, 0], states[1:, 1].flip(0)], 1)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):  # noqa: ANN001, ANN205
        """Return the gradients of x and of all weights."""
        x, *into, work, states, weights = ctx.saved_tensors
        size = gradient.shape[1] // 2
        ways = torch.stack([gradient[:, :size], gradient[:, size:].flip(0)], 1)
        to_inputs, to_weights, to_hidden = scan_back(ways, work, states, weights)
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


def _joint(bias: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
    """Return bias_ih with the part of bias_hh that it can take up: all but that of n."""
    joint = bias.clone()
    gates = 2 * len(bias) // 3
    joint[:gates] += hidden[:gates]
    return joint


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
