"""The closed-form bound against quadrature, Monte Carlo and its own parts."""

from dataclasses import replace

import numpy as np
import pyro
import pytest
import torch

from headwater.counts.data import CubeTensors
from headwater.counts.distributions import GaussianMarkov, SwitchingAR
from headwater.counts.elbo import ClosedFormELBO, bound_terms, emission, guide_of, program
from headwater.counts.mstep import maximise, statistics
from headwater.counts.parameters import Parameters

# y, mean, variance, log p(y), best Gaussian bound, optimum (m, v)
QUADRATURE = [
    (0, 0.0, 1.0, -0.96297240, -0.97044942, -0.681240, 0.594799),
    (3, 1.0, 0.5, -1.94829446, -1.95406910, 0.999187, 0.199935),
    (20, 2.5, 0.25, -3.68741769, -3.68991034, 2.891835, 0.044578),
]


def tensors(x, offset=0.0):
    x = torch.as_tensor(x, dtype=torch.float64)
    n, steps, _ = x.shape
    one = torch.ones(n, steps, dtype=torch.float64)
    return CubeTensors(
        x, one, one * offset, torch.zeros(n, 0).double(), one, torch.lgamma(x + 1).sum(-1)
    )


def random_parameters(K=6, d=2, C=2, seed=0):
    g = torch.Generator().manual_seed(seed)
    rand = lambda *s: torch.randn(*s, generator=g, dtype=torch.float64)  # noqa: E731
    mixing = rand(K, d)
    return Parameters(
        mixing=mixing / mixing.norm(dim=0),
        effects=torch.zeros(K, 0).double(),
        regime_init=torch.softmax(rand(d, C), -1),
        regime_transition=torch.softmax(rand(d, C, C), -1),
        init_mean=rand(d, C),
        init_var=rand(d, C).exp(),
        ar_coef=0.8 * torch.tanh(rand(d, C)),
        ar_bias=rand(d, C),
        ar_var=rand(d, C).exp(),
    )


def random_posterior(n=8, steps=10, d=2, seed=1):
    g = torch.Generator().manual_seed(seed)
    rand = lambda: torch.randn(n, steps, d, generator=g, dtype=torch.float64)  # noqa: E731
    return GaussianMarkov(0.5 * torch.tanh(rand()), 0.3 * rand(), 0.1 * rand().exp())


@pytest.mark.parametrize(("y", "mu", "var", "log_p", "best", "m", "v"), QUADRATURE)
def test_one_dimensional_model(y, mu, var, log_p, best, m, v):
    """The model with K = d = C = 1 at its first step is Poisson log-normal in one dimension."""
    p = Parameters(
        mixing=torch.ones(1, 1).double(),
        effects=torch.zeros(1, 0).double(),
        regime_init=torch.ones(1, 1).double(),
        regime_transition=torch.ones(1, 1, 1).double(),
        init_mean=torch.tensor([[mu]]).double(),
        init_var=torch.tensor([[var]]).double(),
        ar_coef=torch.zeros(1, 1).double(),
        ar_bias=torch.zeros(1, 1).double(),
        ar_var=torch.ones(1, 1).double(),
    )
    data = tensors([[[y]]])

    def bound(mean, variance):
        q = GaussianMarkov(
            torch.zeros(1, 1, 1).double(),
            torch.as_tensor(mean).double().reshape(1, 1, 1),
            torch.as_tensor(variance).double().reshape(1, 1, 1),
        )
        return bound_terms(SwitchingAR(p, 1, 1), q, p, data).elbo.item()

    nodes, weights = np.polynomial.hermite_e.hermegauss(200)
    rate = np.exp(mu + np.sqrt(var) * nodes)
    like = np.exp(y * np.log(rate) - rate - torch.lgamma(torch.tensor(y + 1.0)).item())
    assert np.log((weights * like).sum() / np.sqrt(2 * np.pi)) == pytest.approx(log_p, abs=1e-6)
    assert bound(m, v) == pytest.approx(best, abs=1e-6)
    assert bound(m, v) <= log_p
    for shift, scale in ((0.05, 1), (-0.05, 1), (0, 1.1), (0, 0.9)):
        assert bound(m + shift, v * scale) < best


@pytest.mark.parametrize("C", [1, 2])
def test_closed_form_against_monte_carlo(C):
    """C=1: the same number; C=2: closed form is the tighter bound's expectation or below."""
    p, q = random_parameters(C=C), random_posterior()
    pyro.set_rng_seed(5)
    data = tensors(torch.poisson(torch.full((8, 10, 6), 5.0).double()))
    closed = bound_terms(SwitchingAR(p, 8, 10), q, p, data).elbo.sum().item()
    draws = []
    model = program(p)
    prior = SwitchingAR(p, 8, 10)
    for _ in range(400):
        s = q.rsample()
        eta = s @ p.mixing.T
        like = torch.distributions.Poisson(eta.exp(), validate_args=False).log_prob(data.counts)
        draws.append((like.sum() + prior.log_prob(s).sum() - q.log_prob(s).sum()).item())
    mean, error = np.mean(draws), np.std(draws) / np.sqrt(len(draws))
    if C == 1:
        assert abs(mean - closed) <= 4 * error
    assert mean + 4 * error >= closed
    pyro.set_rng_seed(5)
    trace = -pyro.infer.Trace_ELBO(num_particles=100).loss(model, guide_of(lambda _: q), data)
    assert trace == pytest.approx(mean, abs=8 * error)


def test_pyro_loss_is_the_same_number_and_trains_under_svi():
    p, q = random_parameters(), random_posterior()
    data = tensors(torch.full((8, 10, 6), 3.0))
    direct = bound_terms(SwitchingAR(p, 8, 10), q, p, data).elbo.sum().item()
    assert -ClosedFormELBO().loss(program(p), guide_of(lambda _: q), data) == pytest.approx(direct)

    pyro.clear_param_store()

    def guide(batch):
        beta = pyro.param("beta", torch.zeros(8, 10, 2).double())
        law = GaussianMarkov(q.alpha, beta, q.p)
        return guide_of(lambda _: law)(batch)

    svi = pyro.infer.SVI(program(p), guide, pyro.optim.Adam({"lr": 0.05}), ClosedFormELBO())
    losses = [svi.step(data) for _ in range(50)]
    assert losses[-1] < losses[0] - 1


def test_switching_law_matches_enumeration_over_regimes():
    """log p(s) = log sum over all regime paths, T=4, C=2."""
    import itertools
    import math

    p = random_parameters(d=1)
    s = torch.randn(3, 4, 1, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    got = SwitchingAR(p, 3, 4).log_prob(s)
    normal = lambda x, m, v: -0.5 * (math.log(2 * math.pi * v) + (x - m) ** 2 / v)  # noqa: E731
    for j in range(3):
        terms = []
        for path in itertools.product(range(2), repeat=4):
            c = path[0]
            w = p.regime_init[0, c].log().item()
            w += normal(s[j, 0, 0].item(), p.init_mean[0, c].item(), p.init_var[0, c].item())
            for t in range(1, 4):
                c, b = path[t], path[t - 1]
                mean = p.ar_coef[0, c] * s[j, t - 1, 0] + p.ar_bias[0, c]
                w += p.regime_transition[0, b, c].log().item()
                w += normal(s[j, t, 0].item(), mean.item(), p.ar_var[0, c].item())
            terms.append(w)
        assert got[j].item() == pytest.approx(np.logaddexp.reduce(terms), abs=1e-10)


def test_sampled_paths_have_the_moments_of_the_law():
    p = replace(random_parameters(C=1), ar_coef=torch.tensor([[0.7], [-0.5]]).double())
    pyro.set_rng_seed(3)
    s = SwitchingAR(p, 20000, 30).sample()[:, -1]
    a, b, v = (x[:, 0] for x in (p.ar_coef, p.ar_bias, p.ar_var))
    mean, var = b / (1 - a), v / (1 - a**2)
    assert torch.allclose(s.mean(0), mean, atol=4 * (var / 20000).sqrt().max().item())
    assert torch.allclose(s.var(0), var, rtol=0.05)


def test_posterior_draws_have_the_moments_of_the_recursion():
    q = random_posterior(n=1, steps=6)
    pyro.set_rng_seed(0)
    s = q.rsample(torch.Size([20000]))[:, 0]
    mu, var = q.moments()
    assert torch.allclose(s.mean(0), mu[0], atol=0.05)
    assert torch.allclose(s.var(0), var[0], rtol=0.08)


def test_unobserved_steps_add_no_emission():
    p, q = random_parameters(), random_posterior()
    data = tensors(torch.full((8, 10, 6), 3.0))
    mask = data.observed.clone()
    mask[:, 4] = 0
    mu, var = q.moments()
    whole, _ = emission(p, data, mu, var)
    hidden, _ = emission(p, replace(data, observed=mask), mu, var)
    changed = replace(data, observed=mask, counts=data.counts + mask[..., None] * 0)
    changed.counts[:, 4] = 99.0
    again, _ = emission(p, changed, mu, var)
    assert torch.equal(hidden, again)
    assert not torch.allclose(whole, hidden)


def test_m_step_never_lowers_the_bound():
    data = tensors(torch.poisson(torch.full((30, 12, 6), 4.0).double()))
    for seed in range(5):
        p, q = random_parameters(C=3, seed=seed), random_posterior(30, 12, seed=seed + 10)
        before = bound_terms(SwitchingAR(p, 30, 12), q, p, data)
        better, _ = maximise(statistics(before.mu, before.var, q.alpha, before.chain), p)
        after = bound_terms(SwitchingAR(better, 30, 12), q, better, data)
        assert after.elbo.sum() >= before.elbo.sum() - 1e-8


def test_an_empty_regime_gets_its_sources_moments():
    q = random_posterior(30, 12)
    p = random_parameters(C=2)
    far = replace(
        p,
        init_mean=torch.tensor([[0.0, 1e6], [0.0, 0.5]]).double(),
        ar_bias=torch.tensor([[0.0, 1e6], [0.0, 0.5]]).double(),
    )
    data = tensors(torch.full((30, 12, 6), 3.0))
    terms = bound_terms(SwitchingAR(far, 30, 12), q, far, data)
    found, notes = maximise(statistics(terms.mu, terms.var, q.alpha, terms.chain), far)
    assert "regime 1 of source 0" in notes[0]
    assert all(torch.isfinite(v).all() for v in found.state().values())
    assert found.ar_bias.abs().max() < 100


def test_gap_with_unit_intervals_is_the_step_model():
    p = replace(random_parameters(), ar_coef=torch.tensor([[0.3, 0.8], [0.5, 0.1]]).double())
    q = random_posterior()
    data = tensors(torch.full((8, 10, 6), 3.0))
    step = bound_terms(SwitchingAR(p, 8, 10), q, p, data).elbo
    gap = bound_terms(SwitchingAR(p, 8, 10, data.dt), q, p, data).elbo
    assert torch.allclose(step, gap, atol=1e-9)


def test_gradient_of_the_recurrence():
    from headwater.counts.recurrence import LinearRecurrence

    g = torch.Generator().manual_seed(0)
    a, b = (
        torch.randn(2, 5, 3, generator=g, dtype=torch.float64).requires_grad_() for _ in range(2)
    )
    assert torch.autograd.gradcheck(LinearRecurrence.apply, (a, b))


def test_gradient_of_the_moments():
    from headwater.counts.recurrence import Moments

    q = random_posterior(2, 5)
    given = [x.clone().requires_grad_() for x in (q.alpha, q.beta, q.p)]
    mu, var = q.moments()
    at = torch.zeros_like(mu[:, 0]), torch.zeros_like(mu[:, 0])
    for t in range(5):  # the recursion, step by step
        at = q.alpha[:, t] * at[0] + q.beta[:, t], q.alpha[:, t] ** 2 * at[1] + q.p[:, t]
        assert torch.allclose(mu[:, t], at[0])
        assert torch.allclose(var[:, t], at[1])
    assert torch.autograd.gradcheck(Moments.apply, given)


@pytest.mark.parametrize("gap", [False, True])
def test_potentials_with_and_without_trained_dynamics_agree(gap):
    """The hand-written pass for fixed dynamics against autograd through the formula."""
    p = replace(random_parameters(), ar_coef=torch.tensor([[0.3, 0.8], [0.5, 0.1]]).double())
    q = random_posterior(3, 5)
    dt = torch.tensor([1.0, 1.0, 2.0, 1.0, 3.0]).double().repeat(3, 1) if gap else None
    free = replace(p, init_mean=p.init_mean.clone().requires_grad_())
    weight = torch.randn(3, 5, 2, 2, generator=torch.Generator().manual_seed(0)).double()
    found = []
    for law in (SwitchingAR(p, 3, 5, dt), SwitchingAR(free, 3, 5, dt)):
        given = [x.detach().clone().requires_grad_() for x in (*q.moments(), q.alpha)]
        e = law.potentials(*given)
        (e * weight).sum().backward()
        found.append([e, *(x.grad for x in given)])
    for fast, plain in zip(*found, strict=True):
        assert torch.allclose(fast, plain, atol=1e-12)


@pytest.mark.parametrize("hole", [False, True])
def test_gradient_of_the_bound_in_all_it_depends_on(hole):
    """The hand-written backward passes against finite differences, C = 2."""
    p, q = random_parameters(K=3), random_posterior(2, 4)
    data = replace(tensors(torch.full((2, 4, 3), 3.0)), covariates=torch.ones(2, 1).double())
    data.observed[1, 2] = 0 if hole else 1
    names = ("mixing", "effects", "regime_init", "regime_transition", "ar_coef", "ar_bias")
    state = p.state() | {"effects": torch.full((3, 1), 0.2).double()}
    given = [state[n].clone().requires_grad_() for n in names]
    given += [x.clone().requires_grad_() for x in (q.alpha, q.beta, q.p)]

    def value(*x):
        now = replace(p, **dict(zip(names, x[: len(names)], strict=True)))
        return bound_terms(SwitchingAR(now, 2, 4), GaussianMarkov(*x[len(names) :]), now, data).elbo

    assert torch.autograd.gradcheck(value, given)
