"""Programs with optima known by hand: linear, quadratic, with integers, cones, nonlinear."""

import casadi as ca
import numpy as np
import pytest
from pytest import approx

from headwater.opf.program import Program
from headwater.opf.solve_conic import Conic
from headwater.opf.solve_linear import Linear, degree
from headwater.opf.solve_nlp import Nlp

SETTINGS = (1e-8, 500, 30.0)


def knapsack(integer=False):
    """max 5a + 4b, 6a + 4b <= 24, a + 2b <= 6: (3, 1.5), value 21; integers: (4, 0), 20."""
    program = Program()
    x = program.variable("x", 2, 0.0, 10.0, integer=integer)
    program.constrain("first", 6 * x[0] + 4 * x[1], upper=24.0)
    program.constrain("second", x[0] + 2 * x[1], upper=6.0)
    program.cost("value", -(5 * x[0] + 4 * x[1]))
    return program


@pytest.mark.parametrize("solver", [Linear, Conic, Nlp])
def test_linear_program_and_its_duals(solver):
    program = knapsack()
    raw = solver(program, *SETTINGS).solve(program.values())
    assert raw.status == "optimal"
    assert raw.x == approx([3, 1.5], abs=1e-6)
    # one unit more of the first right-hand side lowers the cost by 0.75, of the second by 0.5
    assert raw.dual("first") == approx([-0.75], abs=1e-6)
    assert raw.dual("second") == approx([-0.5], abs=1e-6)


def test_integers():
    program = knapsack(integer=True)
    raw = Linear(program, *SETTINGS).solve(program.values())
    assert raw.x.tolist() == [4, 0]
    assert raw.value(program.f) == approx([-20])


def quadratic(program=None):
    """min (a - 3)^2 + (b + a - 4)^2 with a <= 1, b <= 2: a = 1, b = 2, cost 5."""
    program = program or Program()
    x = program.variable("x", 2, -5.0, ca.vertcat(1.0, 2.0))
    program.cost("square", (x[0] - 3) ** 2 + (x[1] + x[0] - 4) ** 2)
    return program


@pytest.mark.parametrize("solver", [Linear, Conic, Nlp])
def test_quadratic_program_and_the_duals_of_bounds(solver):
    program = quadratic()
    assert degree(program) == 2
    raw = solver(program, *SETTINGS).solve(program.values())
    assert raw.status == "optimal"
    assert raw.x == approx([1, 2], abs=1e-6)
    assert raw.value(program.f) == approx([5], abs=1e-5)
    assert raw.bound_duals == approx([-6, -2], abs=1e-4)


@pytest.mark.parametrize("coupled", [False, True])
def test_integers_with_squares(coupled):
    # min (x - 2.6)^2 + (y - 1.7)^2 [+ (x + y)^2], x + y >= 1, x and y whole: by trying all
    program = Program()
    x = program.variable("x", 2, -10.0, 10.0, integer=True)
    value = (x[0] - 2.6) ** 2 + (x[1] - 1.7) ** 2
    if coupled:
        value += (x[0] + x[1]) ** 2
    program.cost("square", value)
    program.constrain("sum", x[0] + x[1], lower=1.0)
    raw = Linear(program, *SETTINGS).solve(program.values())

    def cost(a, b):
        return (a - 2.6) ** 2 + (b - 1.7) ** 2 + coupled * (a + b) ** 2

    grid = [(a, b) for a in range(-10, 11) for b in range(-10, 11) if a + b >= 1]
    best = min(grid, key=lambda ab: cost(*ab))
    assert raw.status == "optimal"
    assert cost(*raw.x) == approx(cost(*best), rel=1e-6)


def test_tangents_reach_a_mixed_optimum():
    # a unit with cost 10 + p^2 that may be off, or 30 per unit: 4 units of load
    program = Program()
    on = program.variable("on", 1, 0.0, 1.0, integer=True)
    p = program.variable("p", 2, 0.0, 10.0)
    program.constrain("capacity", p[0] - 10 * on, upper=0.0)
    program.constrain("load", p[0] + p[1], 4.0, 4.0)
    program.cost("cost", 10 * on + p[0] ** 2 + 7 * p[1])
    raw = Linear(program, *SETTINGS).solve(program.values())
    # on: p0 = 3.5, 10 + 12.25 + 3.5 = 25.75; off: 28
    assert raw.value(program.f) == approx([25.75], rel=1e-6)
    assert raw.x == approx([1, 3.5, 0.5], abs=1e-5)
    assert raw.dual("load") == approx([7], abs=1e-5)  # price with the unit on


@pytest.mark.parametrize("solver", [Linear, Conic, Nlp])
def test_infeasible(solver):
    program = Program()
    x = program.variable("x", 1, 0.0, 1.0)
    y = program.variable("y", 1, 0.0, 1.0)
    program.constrain("sum", x + y, lower=3.0)
    program.cost("cost", x)
    assert solver(program, *SETTINGS).solve(program.values()).status == "infeasible"


@pytest.mark.parametrize("solver", [Linear, Conic, Nlp])
def test_unbounded(solver):
    program = Program()
    x = program.variable("x", 2)
    program.constrain("difference", x[0] - x[1], 0.0, 1.0)
    program.cost("cost", x[0])
    assert solver(program, *SETTINGS).solve(program.values()).status == "unbounded"


def test_no_time_and_no_iterations_are_said():
    program = Program()
    x = program.variable("x", 30, -3.0, 3.0)
    program.cost("cost", ca.sum1(ca.cos(x) + x**4 * ca.exp(x)))
    program.constrain("sum", ca.sum1(x**3), 1.0, 1.0)
    assert Nlp(program, 1e-8, 1, None).solve(program.values()).status == "iteration_limit"
    slow = Linear(knapsack(), 1e-8, 500, 0.0)
    assert slow.solve(slow.program.values()).status in ("time_limit", "optimal")


def test_cones():
    # the lowest point of a disc of radius p around (1, 2)
    program = Program()
    radius = program.parameter("radius", [0.5])
    x = program.variable("x", 2)
    program.cone(ca.horzcat(x[0] - 1, x[1] - 2), radius)
    program.cost("height", x[1])
    solver = Conic(program, *SETTINGS)
    for r in (0.5, 1.5):
        raw = solver.solve(program.values({"radius": [r]}))
        assert raw.status == "optimal"
        assert raw.x == approx([1, 2 - r], abs=1e-5)
        assert program.outside(raw.x, raw.p) < 1e-7


def test_parameters_move_bounds_rows_and_costs():
    program = Program()
    c = program.parameter("c", [1.0, 2.0])
    limit = program.parameter("limit", [4.0])
    x = program.variable("x", 2, 0.0, limit)
    program.constrain("sum", x[0] + x[1], 5.0, 5.0)
    program.cost("cost", ca.dot(c, x))
    solver = Linear(program, *SETTINGS)
    assert solver.solve(program.values()).x == approx([4, 1])
    assert solver.solve(program.values({"c": [3.0, 2.0], "limit": [3.0]})).x == approx([2, 3])
    with pytest.raises(ValueError, match="limit"):
        program.values({"limit": [1.0, 2.0]})


def test_a_name_serves_once():
    program = Program()
    program.variable("x", 1)
    with pytest.raises(ValueError, match="second time"):
        program.variable("x", 1)


def lifted(n=7, seed=0):
    """The same nonlinear program with flows as lifted symbols and written out."""
    rng = np.random.default_rng(seed)
    f, t = rng.integers(0, n, 12), rng.integers(0, n, 12)
    f, t = f[f != t].tolist(), t[f != t].tolist()
    u, w = ca.SX.sym("u", 2), ca.SX.sym("w", 1)
    phi = ca.Function(
        "phi", [u, w], [ca.vertcat(u[0] * ca.sin(u[1]) * w, u[0] ** 2 * ca.cos(u[1]))]
    )
    programs = []
    for plain in (False, True):
        program = Program()
        weight = program.parameter("weight", rng.uniform(1, 2, len(f)) * 0 + 1.3)
        v = program.variable("v", n, 0.8, 1.2)
        a = program.variable("a", n, -1.0, 1.0)
        inputs = ca.horzcat(v[f], a[f] - a[t]).T
        if plain:
            z = ca.horzcat(*[phi(inputs[:, k], weight[k]) for k in range(len(f))])
        else:
            block = program.lift("z", 2, len(f))
            block.phi, block.u, block.w = phi, inputs, weight.T
            z = block.z
        p, q = z[0, :].T, z[1, :].T
        program.constrain("square", p**2 + q**2 * v[t], upper=2.0)
        program.constrain("mixed", a[f] * p - q, -3.0, 3.0)
        program.cost("cost", ca.sum1(p * v[f]) + ca.sum1(a**2) + ca.sum1(q**2))
        programs.append(program)
    return programs


def test_derivatives_by_blocks_equal_those_written_out():
    one, two = (Nlp(p, *SETTINGS) for p in lifted())
    x = np.random.default_rng(1).uniform(0.5, 1.0, one.program.x.shape[0])
    p = one.program.values()
    duals = np.random.default_rng(2).normal(size=one.program.g.shape[0])
    for name, arguments in (
        ("grad_f", (x, p)),
        ("jac_g", (x, p)),
        ("hess_lag", (x, p, 0.7, duals)),
    ):
        for a, b in zip(
            one.options[name].call(list(arguments)),
            two.options[name].call(list(arguments)),
            strict=True,
        ):
            assert np.array(ca.densify(a)) == approx(np.array(ca.densify(b)), abs=1e-12), name


def test_hessian_and_jacobian_against_differences():
    solver = Nlp(lifted()[0], *SETTINGS)
    program, p = solver.program, solver.program.values()
    x = np.random.default_rng(3).uniform(0.5, 1.0, program.x.shape[0])
    duals = np.random.default_rng(4).normal(size=program.g.shape[0])

    def slope(at):
        gradient = np.array(solver.options["grad_f"](at, p)[1]).ravel()
        jacobian = np.array(ca.densify(solver.options["jac_g"](at, p)[1]))
        return gradient + jacobian.T @ duals

    step = 1e-6
    upper = np.array(ca.densify(solver.options["hess_lag"](x, p, 1.0, duals)))
    full = upper + np.triu(upper, 1).T
    for k in range(len(x)):
        move = np.eye(len(x))[k] * step
        assert full[k] == approx((slope(x + move) - slope(x - move)) / (2 * step), abs=1e-6)
        rows = (program.rows(x + move, p) - program.rows(x - move, p)) / (2 * step)
        jacobian = np.array(ca.densify(solver.options["jac_g"](x, p)[1]))
        assert jacobian[:, k] == approx(rows, abs=1e-6)
