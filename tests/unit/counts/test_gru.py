"""The fast GRU against torch's own with the same weights."""

import pytest
import torch
from torch import nn

from headwater.counts.gru import ScanGRU


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize(("n", "steps"), [(7, 9), (1, 1), (2, 2)])
def test_states_and_gradients_are_those_of_torch(layers, both, n, steps):
    torch.manual_seed(layers)
    ours = ScanGRU(5, 4, layers, batch_first=True, bidirectional=both).double()
    theirs = nn.GRU(5, 4, layers, batch_first=True, bidirectional=both).double()
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(n, steps, 5, dtype=torch.float64, requires_grad=True)
    y = x.detach().clone().requires_grad_()
    mine, other = ours(x), theirs(y)[0]
    assert torch.allclose(mine, other, atol=1e-13)
    weight = torch.randn_like(mine)
    (mine * weight).sum().backward()
    (other * weight).sum().backward()
    assert torch.allclose(x.grad, y.grad, atol=1e-12)
    for (name, p), q in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        assert torch.allclose(p.grad, q.grad, atol=1e-12), name


def test_large_inputs_close_gates_without_harm():
    ours = ScanGRU(2, 3, 2, batch_first=True).double()
    states = ours(torch.full((2, 4, 2), 1e8).double())
    states.sum().backward()
    assert torch.isfinite(states).all()
    assert all(torch.isfinite(p.grad).all() for p in ours.parameters())
