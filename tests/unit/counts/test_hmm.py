"""Regime chains against enumeration of all paths and a toy worked out by hand."""

import itertools
import math

import pytest
import torch

from headwater.counts.hmm import LogPartition, forward_backward, forward_bound, viterbi

TOY_PI = torch.tensor([[0.6, 0.4]], dtype=torch.float64)
TOY_A = torch.tensor([[[0.7, 0.3], [0.2, 0.8]]], dtype=torch.float64)


def toy_potentials():
    x = torch.tensor([0, 2, 6, 4], dtype=torch.float64)
    rates = torch.tensor([1.0, 5.0], dtype=torch.float64)
    e = torch.distributions.Poisson(rates).log_prob(x[:, None])
    return e[None, :, None, :]  # n=1, T=4, d=1, C=2


def random_chain(seed=0, n=3, steps=6, d=2, states=2):
    g = torch.Generator().manual_seed(seed)
    e = torch.randn(n, steps, d, states, generator=g, dtype=torch.float64) * 2
    pi = torch.softmax(torch.randn(d, states, generator=g, dtype=torch.float64), -1)
    a = torch.softmax(torch.randn(d, states, states, generator=g, dtype=torch.float64), -1)
    return e, pi, a


def enumerate_paths(e, pi, a):
    """Return log Z, marginals and the best path of one chain, over all C^T paths."""
    steps, states = e.shape
    weights = {}
    for path in itertools.product(range(states), repeat=steps):
        w = pi[path[0]].log() + e[0, path[0]]
        for t in range(1, steps):
            w = w + a[path[t - 1], path[t]].log() + e[t, path[t]]
        weights[path] = float(w)
    top = max(weights.values())
    total = sum(math.exp(w - top) for w in weights.values())
    log_z = top + math.log(total)
    marginal = torch.zeros(steps, states, dtype=torch.float64)
    for path, w in weights.items():
        for t, c in enumerate(path):
            marginal[t, c] += math.exp(w - log_z)
    return log_z, marginal, max(weights, key=weights.get)


def test_toy_of_the_design_page():
    chain = forward_backward(toy_potentials(), TOY_PI, TOY_A)
    assert chain.log_partition.item() == pytest.approx(-8.1923448204, abs=1e-9)
    expected = [0.01327635, 0.34927152, 0.99752971, 0.97826203]
    assert chain.marginal[0, :, 0, 1].tolist() == pytest.approx(expected, abs=1e-8)
    assert viterbi(toy_potentials(), TOY_PI, TOY_A)[0, :, 0].tolist() == [0, 0, 1, 1]


def test_the_trap_of_pyros_discrete_hmm():
    """It moves once before the first observation: the number differs and ours is the other."""
    import pyro.distributions as dist

    law = dist.DiscreteHMM(
        TOY_PI[0].log(), TOY_A[0].log(), dist.Poisson(torch.tensor([1.0, 5.0]).double())
    )
    value = law.log_prob(torch.tensor([0.0, 2.0, 6.0, 4.0]).double()).item()
    assert value == pytest.approx(-8.3680501394, abs=1e-9)


@pytest.mark.parametrize("states", [2, 3])
def test_enumeration(states):
    e, pi, a = random_chain(states=states)
    chain = forward_backward(e, pi, a)
    path = viterbi(e, pi, a)
    for j in range(len(e)):
        for i in range(e.shape[2]):
            log_z, marginal, best = enumerate_paths(e[j, :, i], pi[i], a[i])
            assert chain.log_partition[j, i].item() == pytest.approx(log_z, abs=1e-10)
            assert torch.allclose(chain.marginal[j, :, i], marginal, atol=1e-10)
            assert tuple(path[j, :, i].tolist()) == best


def test_pairs_and_filter_are_consistent():
    e, pi, a = random_chain(states=3)
    chain = forward_backward(e, pi, a)
    assert torch.allclose(chain.pairs.sum(-2), chain.marginal[:, 1:])
    assert torch.allclose(chain.pairs.sum(-1), chain.marginal[:, :-1])
    assert torch.allclose(chain.pair_sum(), chain.pairs.sum((0, 1)))
    for t in range(1, e.shape[1]):
        part = forward_backward(e[:, : t + 1], pi, a)
        assert torch.allclose(part.marginal[:, t], chain.filtered[:, t])


def test_kernels_of_each_step_and_one_for_all_agree():
    e, pi, a = random_chain(steps=300, states=3)  # longer than a block of steps
    one = forward_backward(e, pi, a)
    each = forward_backward(e, pi, a.expand(*e.shape[:2], *a.shape))
    for name in ("log_partition", "marginal", "filtered", "ahead", "pairs"):
        assert torch.allclose(getattr(one, name), getattr(each, name), atol=1e-12), name
    assert torch.allclose(one.pair_sum(), each.pair_sum())


def test_gradient_of_log_partition_is_the_marginal():
    e, pi, a = random_chain(n=1, steps=4)

    def value(potentials):
        with torch.no_grad():
            chain = forward_backward(potentials, pi, a)
        return LogPartition.apply(potentials, chain)

    assert torch.autograd.gradcheck(value, (e.clone().requires_grad_(),))


@pytest.mark.parametrize("states", [1, 2, 3])
def test_forward_only_bound_is_never_above(states):
    e, pi, a = random_chain(seed=4, n=50, steps=12, states=states)
    log_z = forward_backward(e, pi, a).log_partition
    low = forward_bound(e, pi, a)
    assert (low <= log_z + 1e-9).all()
    if states == 1:
        assert torch.allclose(low, log_z, atol=1e-9)
    else:
        assert (log_z - low).max() > 0.01


def test_extreme_potentials_stay_finite():
    e, pi, a = random_chain()
    chain = forward_backward(e * 1e6, pi, a)
    assert torch.isfinite(chain.log_partition).all()
    assert torch.isfinite(chain.marginal).all()
