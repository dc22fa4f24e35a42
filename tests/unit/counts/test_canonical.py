"""The canonical form changes neither the law nor the bound, and is reached once."""

from dataclasses import replace

import pytest
import torch
from test_elbo import random_parameters, random_posterior, tensors

from headwater.counts.canonical import (
    Frame,
    canonical,
    flip_sources,
    order_regimes,
    order_sources,
    shift_sources,
)
from headwater.counts.distributions import SwitchingAR
from headwater.counts.elbo import bound_terms


@pytest.fixture
def case():
    p = random_parameters(K=6, d=3, C=2)
    p = replace(p, effects=torch.randn(6, 1, dtype=torch.float64))
    q = random_posterior(d=3)
    data = replace(
        tensors(torch.poisson(torch.full((8, 10, 6), 4.0).double())),
        covariates=torch.ones(8, 1).double(),
    )
    return p, q, data


def bound(p, q, data):
    n, steps = data.observed.shape
    return bound_terms(SwitchingAR(p, n, steps), q, p, data).elbo


def test_every_move_keeps_the_bound(case):
    p, q, data = case
    start = bound(p, q, data)
    d = p.d
    one, zero, same = torch.ones(d).double(), torch.zeros(d).double(), torch.arange(d)
    shift = torch.tensor([0.3, -1.0, 2.0]).double()
    moved = Frame(same, one, shift).sources(q)
    assert torch.allclose(bound(shift_sources(p, shift), moved, data), start, atol=1e-8)
    sign = torch.tensor([1.0, -1.0, -1.0]).double()
    turned = Frame(same, sign, zero).sources(q)
    assert torch.allclose(bound(flip_sources(p, sign), turned, data), start, atol=1e-8)
    order = torch.tensor([2, 0, 1])
    dealt = Frame(order, one, zero).sources(q)
    assert torch.allclose(bound(order_sources(p, order), dealt, data), start, atol=1e-8)
    assert torch.allclose(bound(order_regimes(p)[0], q, data), start, atol=1e-8)


def test_all_at_once_and_twice_is_once(case):
    p, q, data = case
    start = bound(p, q, data)
    first, frame = canonical(p, q.moments()[0], data.observed, intercept=True)
    q1 = frame.sources(q)
    assert torch.allclose(bound(first, q1, data), start, atol=1e-8)
    second, again = canonical(first, q1.moments()[0], data.observed, intercept=True)
    for name, value in first.state().items():
        assert torch.allclose(value, second.state()[name], atol=1e-10), name
    assert again.order.tolist() == [0, 1, 2]
    assert again.shift.abs().max() < 1e-10


def test_what_canonical_means(case):
    p, q, data = case
    found, frame = canonical(p, q.moments()[0], data.observed, intercept=True)
    mean = frame.sources(q).moments()[0]
    assert mean.mean((0, 1)).abs().max() < 1e-10
    largest = found.mixing.gather(0, found.mixing.abs().argmax(0, keepdim=True))
    assert (largest > 0).all()
    variance = mean.reshape(-1, 3).var(0)
    assert (variance[:-1] >= variance[1:]).all()
    key = found.stationary_mean()
    assert (key[:, :-1] <= key[:, 1:]).all()


def test_without_an_intercept_nothing_is_shifted(case):
    p, q, data = case
    p = replace(p, effects=torch.zeros(6, 0).double())
    data = replace(data, covariates=torch.zeros(8, 0).double())
    found, frame = canonical(p, q.moments()[0], data.observed, intercept=False)
    assert frame.shift.abs().max() == 0
    assert torch.allclose(bound(found, frame.sources(q), data), bound(p, q, data), atol=1e-8)


def test_frames_compose(case):
    _, q, _ = case
    g = torch.Generator().manual_seed(3)
    make = lambda: Frame(  # noqa: E731
        torch.randperm(3, generator=g),
        torch.tensor([1.0, -1.0, 1.0]).double()[torch.randperm(3, generator=g)],
        torch.randn(3, generator=g, dtype=torch.float64),
    )
    a, b = make(), make()
    one, two = a.then(b).sources(q), b.sources(a.sources(q))
    for name in ("alpha", "beta", "p"):
        assert torch.allclose(getattr(one, name), getattr(two, name))
