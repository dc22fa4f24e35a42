"""Unequal intervals: kernels between steps, gradients, units that hold for other cubes."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from test_elbo import random_parameters

from headwater.core.errors import InputError
from headwater.counts.config import FitConfig
from headwater.counts.data import cube_tensors
from headwater.counts.fit import fit_plnica
from headwater.counts.intervals import at_intervals, nearest_generator, rates_to_generator
from headwater.counts.posterior import bound, posterior
from headwater.counts.simulate import simulate_scenario

SHORT = FitConfig(d=2, C=2, intercept=False, time_model="gap", epochs=30, warmup=10, init_epochs=4)


def with_kernel(*rows):
    """Return parameters of one source with this regime kernel and a in (0, 1)."""
    a = torch.tensor([rows]).double()
    p = random_parameters(d=1, C=len(rows))
    return replace(p, regime_transition=a, ar_coef=p.ar_coef.abs().clamp(0.1, 0.9))


def two_state(p, q, dt):
    """Return A^dt of the chain 0 -> 1 with p, 1 -> 0 with q, in closed form."""
    level, shrink = np.array([[q, p], [q, p]]) / (p + q), (1 - p - q) ** dt
    return level + shrink * (np.eye(2) - level)


def irregular(cube, unit=1.0):
    cube = cube.copy(deep=True)
    steps = np.cumsum([0, *([1, 2, 0.5, 1] * 4)])[: cube.sizes["step"]] * unit
    cube["time"][:] = np.tile(steps, (cube.sizes["series"], 1))
    return cube


@pytest.mark.parametrize("dt", [0.25, 1.0, 1.7, 8.0])
def test_kernel_of_two_regimes_in_closed_form(dt):
    p = with_kernel([0.8, 0.2], [0.3, 0.7])
    times = torch.tensor([[1.0, dt, 0.5]]).double()  # never all whole
    kernel = at_intervals(p, times)[3]
    np.testing.assert_allclose(kernel[0, 1, 0], two_state(0.2, 0.3, dt), atol=1e-12)


def test_kernels_compose():
    """A^0.4 A^0.6 = A for three regimes with complex eigenvalues."""
    p = with_kernel([0.8, 0.15, 0.05], [0.05, 0.8, 0.15], [0.15, 0.05, 0.8])
    kernel = at_intervals(p, torch.tensor([[0.4, 0.6]]).double())[3]
    np.testing.assert_allclose(kernel[0, 0, 0] @ kernel[0, 1, 0], p.regime_transition[0], atol=1e-9)


def test_alternating_regimes_have_whole_powers_only():
    p = with_kernel([0.1, 0.9], [0.8, 0.2])
    kernel = at_intervals(p, torch.tensor([[1.0, 3.0]]).double())[3]
    expected = np.linalg.matrix_power(p.regime_transition[0].numpy(), 3)
    np.testing.assert_allclose(kernel[0, 1, 0], expected, atol=1e-12)
    with pytest.raises(ValueError, match="not whole"):
        at_intervals(p, torch.tensor([[1.0, 1.5]]).double())


def test_negative_coefficients_need_whole_intervals():
    p = replace(random_parameters(C=1), ar_coef=torch.tensor([[-0.6], [0.9]]).double())
    a, b, v, _ = at_intervals(p, torch.full((1, 1), 2.0).double())
    np.testing.assert_allclose(a[0, 0], p.ar_coef**2)
    np.testing.assert_allclose(b[0, 0], p.ar_bias * (1 + p.ar_coef))
    np.testing.assert_allclose(v[0, 0], p.ar_var * (1 + p.ar_coef**2))
    with pytest.raises(ValueError, match="every AR coefficient in"):
        at_intervals(p, torch.full((1, 1), 2.5).double())


@pytest.mark.parametrize("seed", range(5))
def test_generator_near_any_chain(seed):
    """Rows sum to 0, rates are not negative, and a chain from a generator is met exactly."""
    g = torch.Generator().manual_seed(seed)
    any_chain = torch.softmax(2 * torch.randn(2, 3, 3, generator=g, dtype=torch.float64), -1)
    for matrix in (any_chain, torch.full((1, 3, 3), 1 / 3).double()):
        q = nearest_generator(matrix)
        assert torch.allclose(q.sum(-1), torch.zeros(q.shape[:2]).double(), atol=1e-12)
        assert (q - torch.diag_embed(torch.diagonal(q, dim1=1, dim2=2)) >= 0).all()
    exact = rates_to_generator(torch.rand(2, 3, 3, generator=g, dtype=torch.float64))
    back = nearest_generator(torch.linalg.matrix_exp(exact))
    assert torch.allclose(back, exact, atol=1e-9)


def test_gradient_where_eigenvalues_are_equal():
    """A symmetric chain of three regimes has a double eigenvalue: gradients stay finite."""
    rates = torch.full((1, 3, 3), 0.05, dtype=torch.float64, requires_grad=True)
    p = with_kernel([0.9, 0.05, 0.05], [0.05, 0.9, 0.05], [0.05, 0.05, 0.9])
    dt = torch.tensor([[0.5, 1.5]]).double()

    def kernels(r):
        return at_intervals(p, dt, rates_to_generator(r))[3]

    assert torch.autograd.gradcheck(kernels, (rates,))


@pytest.mark.parametrize("C", [1, 3])
def test_gap_fits_improve_with_any_number_of_regimes(C):
    fit = fit_plnica(irregular(simulate_scenario("tiny", 3)), replace(SHORT, C=C), seed=5)
    assert fit.trace["elbo"].iloc[-1] > fit.trace["elbo"].iloc[0]
    rows = fit.posterior["regime_transition"].sum("next_regime")
    np.testing.assert_allclose(rows, 1, atol=1e-12)


def test_a_cube_of_other_spacing_keeps_the_models_unit_of_time():
    """A series alone has another median step; its bound is the one it had in company."""
    cube = irregular(simulate_scenario("tiny", 3))
    cube["time"][4] = cube["time"][4] * 3
    model = fit_plnica(cube, SHORT, seed=5).model
    alone = cube.isel(series=[4])
    assert cube_tensors(alone, False).dt[0, 1] != model.tensors(alone).dt[0, 1]
    whole = bound(model, cube)["elbo"].iloc[4]
    assert bound(model, alone)["elbo"].iloc[0] == pytest.approx(whole, abs=1e-9)


def test_unit_of_time_does_not_matter():
    """Days or seconds: the same fit, as intervals count in median steps."""
    cube = simulate_scenario("tiny", 3)
    days, seconds = (posterior_of(irregular(cube, unit)) for unit in (1.0, 65536.0))
    np.testing.assert_array_equal(days["source_mean"], seconds["source_mean"])


def posterior_of(cube):
    return fit_plnica(cube, SHORT, seed=5).posterior


def test_model_file_keeps_the_unit(tmp_path):
    from headwater.core.io import read_torch, write_torch
    from headwater.counts.model import Model

    cube = irregular(simulate_scenario("tiny", 3), 7.0)
    fit = fit_plnica(cube, SHORT, seed=5)
    write_torch(tmp_path / "params.pt", fit.model.state())
    model = Model.from_state(read_torch(tmp_path / "params.pt"))
    assert model.base_step == 7.0
    # the kernel of one base step is read back, its generator found again from it
    again = posterior(model, cube)
    np.testing.assert_allclose(again["regime_prob"], fit.posterior["regime_prob"], atol=1e-9)


@pytest.mark.parametrize("value", [np.nan, -5.0])
def test_times_that_do_not_increase_are_named(value):
    cube = simulate_scenario("tiny", 3)
    cube["time"][2, 5] = value
    with pytest.raises(InputError, match=r"series 's02', step 5.*times that increase"):
        cube_tensors(cube, False)
