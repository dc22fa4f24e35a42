"""Nonlinear programs: exact derivatives by blocks, solved by IPOPT.

A. Waechter, L. T. Biegler, On the implementation of an interior-point filter line-search
algorithm for large-scale nonlinear programming, Mathematical Programming 106 (2006) 25.

With z = phi(u(x)) lifted, Z = dz/dx = blockdiag(phi') U is sparse, and
    dg/dx = g_x + g_z Z
    d2L/dx2 = L_xx + L_xz Z + Z' L_zx + Z' L_zz Z + U' blkdiag(sum_k (L_z)_k phi_k'') U
so that only one branch is differentiated symbolically.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from .program import Program, Raw

STATUS = {
    "Solve_Succeeded": "optimal",
    # the acceptable level is ten times the tolerance, see Nlp
    "Solved_To_Acceptable_Level": "optimal",
    "Infeasible_Problem_Detected": "infeasible",
    "Diverging_Iterates": "unbounded",
    "Maximum_Iterations_Exceeded": "iteration_limit",
    "Maximum_CpuTime_Exceeded": "time_limit",
    "Maximum_WallTime_Exceeded": "time_limit",
}


# Fewer iterations than the monotone rule in every network tried; the ladder has the other one.
FAST = {"mu_strategy": "adaptive"}
CAREFUL = {"mu_strategy": "monotone"}
WARM = FAST | {
    "warm_start_init_point": "yes",
    "mu_init": 1e-4,
    "warm_start_bound_push": 1e-4,
    "warm_start_mult_bound_push": 1e-4,
    "warm_start_slack_bound_push": 1e-4,
}
RULES = {"fast": FAST, "careful": CAREFUL, "warm": WARM}


class Nlp:
    """A program compiled for IPOPT."""

    def __init__(
        self, program: Program, tolerance: float, iterations: int, seconds: float | None
    ) -> None:
        self.program = program
        parts = _Derivatives(program)
        self.problem = {"x": parts.x, "p": parts.p, "f": parts.f, "g": parts.g}
        self.options: dict[str, Any] = {
            "grad_f": parts.gradient(),
            "jac_g": parts.jacobian(),
            "hess_lag": parts.hessian(),
            "no_nlp_grad": True,
            "calc_lam_p": False,
            "print_time": False,
            "error_on_fail": False,
        }
        self.ipopt: dict[str, Any] = {
            "print_level": 0,
            "sb": "yes",
            "tol": min(tolerance, 1e-8),
            "constr_viol_tol": min(tolerance, 1e-8),
            # where rounding keeps large networks from the last digit
            "acceptable_tol": 10 * min(tolerance, 1e-8),
            "acceptable_constr_viol_tol": min(tolerance, 1e-8),
            "max_iter": iterations,
            # IPOPT widens bounds; by its default of 1e-8 a shed load of -1e-6 MW times a price of
            # 1e5 $/MWh is no longer small
            "bound_relax_factor": 1e-10,
        }
        if seconds is not None:
            self.ipopt["max_wall_time"] = float(seconds)
        self.solvers: dict[str, ca.Function] = {}

    def solver(self, rule: str) -> ca.Function:
        """Return IPOPT with one of the sets of options `RULES`."""
        if rule not in self.solvers:
            options = self.options | {"ipopt": self.ipopt | RULES[rule]}
            self.solvers[rule] = ca.nlpsol("nlp", "ipopt", self.problem, options)
        return self.solvers[rule]

    def solve(
        self,
        p: np.ndarray,
        start: Mapping[str, np.ndarray] | None = None,
        rule: str = "fast",
        near: Raw | None = None,
    ) -> Raw:
        """Solve with the numbers `p`.

        Parameters
        ----------
        p : ndarray
        start : mapping, optional
            Where to begin, by variable; the middle of the bounds where it says nothing.
        rule : str
            ``fast`` or ``careful``.
        near : Raw, optional
            Optimum of other numbers to begin at, with its prices.
        """
        bounds = self.program.bounds(p)
        inputs = {"x0": bounds["x0"]}
        if near is not None:
            rule = "warm"
            duals = {"lam_g0": -near.row_duals, "lam_x0": -near.bound_duals}
            inputs = {"x0": near.x} | duals
        for name, values in (start or {}).items():
            inputs["x0"][self.program.names[name]] = values
        limits = {"lbx": "lx", "ubx": "ux", "lbg": "lg", "ubg": "ug"}
        solver = self.solver(rule)
        found = solver(p=p, **inputs, **{k: bounds[v] for k, v in limits.items()})
        stats = solver.stats()
        return Raw(
            status=STATUS.get(stats["return_status"], "numerical_error"),
            x=np.array(found["x"]).ravel(),
            p=p,
            row_duals=-np.array(found["lam_g"]).ravel(),
            bound_duals=-np.array(found["lam_x"]).ravel(),
            solver="ipopt",
            iterations=int(stats["iter_count"]),
            program=self.program,
        )


class _Derivatives:
    """Gradient, Jacobian and Hessian of a program with lifted blocks, as CasADi functions."""

    def __init__(self, program: Program) -> None:
        self.program = program
        x, z, p = program.x, program.z, program.p
        f, g = ca.densify(program.f), program.g
        self.lf, self.lg = ca.SX.sym("lf"), ca.SX.sym("lg", g.shape[0])
        self.x, self.p = ca.MX.sym("x", x.shape[0]), ca.MX.sym("p", p.shape[0])
        self.rows = ca.Function("rows", [x, z, p], [g])
        slopes = ca.gradient(f, x), ca.gradient(f, z)
        self.uphill = ca.Function("uphill", [x, z, p], [f, *slopes])
        self.needs_z = bool(slopes[1].nnz()) or ca.depends_on(ca.vertcat(f, *slopes), z)
        self.first = ca.Function("first", [x, z, p], [ca.jacobian(g, x), ca.jacobian(g, z)])
        lagrangian = self.lf * f + ca.dot(self.lg, g)
        both = ca.vertcat(x, z)
        hessian, gradient = ca.hessian(lagrangian, both)
        nx = x.shape[0]
        self.second = ca.Function(
            "second",
            [x, z, p, self.lf, self.lg],
            [hessian[:nx, :nx], hessian[:nx, nx:], hessian[nx:, nx:], gradient[nx:]],
        )
        self.blocks = [_BlockDerivatives(program, b) for b in program.blocks]
        self.z = ca.vertcat(*[b.value(self.x, self.p) for b in self.blocks])
        if not self.blocks:
            self.z = ca.MX(0, 1)
        self.g = self.rows(self.x, self.z, self.p)
        self.f = ca.densify(self.uphill(self.x, self.z if self.needs_z else 0, self.p)[0])

    def _slope(self) -> ca.MX:
        """Z = dz/dx."""
        return ca.vertcat(*[b.slope(self.x, self.p) for b in self.blocks])

    def gradient(self) -> ca.Function:
        """(x, p) -> f, df/dx."""
        z = self.z if self.needs_z else ca.MX.zeros(*self.z.shape)
        f, fx, fz = self.uphill(self.x, z, self.p)
        total = fx + ca.mtimes(self._slope().T, fz) if self.needs_z else fx
        names = ["x", "p"], ["f", "grad_f_x"]
        return ca.Function(
            "nlp_grad_f", [self.x, self.p], [ca.densify(f), ca.densify(total)], *names
        )

    def jacobian(self) -> ca.Function:
        """(x, p) -> g, dg/dx."""
        gx, gz = self.first(self.x, self.z, self.p)
        total = gx + ca.mtimes(gz, self._slope()) if self.blocks else gx
        names = ["x", "p"], ["g", "jac_g_x"]
        return ca.Function("nlp_jac_g", [self.x, self.p], [self.g, total], *names)

    def hessian(self) -> ca.Function:
        """(x, p, lf, lg) -> upper triangle of d2L/dx2."""
        lf, lg = ca.MX.sym("lf"), ca.MX.sym("lg", self.lg.shape[0])
        xx, xz, zz, lz = self.second(self.x, self.z, self.p, lf, lg)
        total = xx
        if self.blocks:
            slope = self._slope()
            if xz.nnz():
                mixed = ca.mtimes(xz, slope)
                total = total + mixed + mixed.T
            if zz.nnz():
                total = total + ca.mtimes(slope.T, ca.mtimes(zz, slope))
            first = 0
            for block in self.blocks:
                size = block.count * block.outputs
                total = total + block.curvature(self.x, self.p, lz[first : first + size])
                first += size
        names = ["x", "p", "lam_f", "lam_g"], ["triu_hess_gamma_x_x"]
        inputs = [self.x, self.p, lf, lg]
        return ca.Function("nlp_hess_lag", inputs, [ca.triu(total)], *names)


class _BlockDerivatives:
    """phi, phi' and phi'' of a block, mapped over its elements."""

    def __init__(self, program: Program, block: Any) -> None:
        self.outputs, self.count = block.z.shape
        k, m = block.u.shape[0], block.w.shape[0]
        self.k = k
        u, w, weight = ca.SX.sym("u", k), ca.SX.sym("w", m), ca.SX.sym("l", self.outputs)
        z = block.phi(u, w)
        slope = ca.densify(ca.jacobian(z, u))
        bend = ca.densify(ca.hessian(ca.dot(weight, z), u)[0])
        n = self.count
        self.phi = block.phi.map(n)
        self.d1 = ca.Function("d1", [u, w], [slope]).map(n)
        self.d2 = ca.Function("d2", [u, w, weight], [bend]).map(n)
        x, p = program.x, program.p
        self.inputs = ca.Function("inputs", [x, p], [block.u, block.w])
        self.move = ca.Function("move", [x, p], [ca.jacobian(ca.vec(block.u), x)])

    def value(self, x: ca.MX, p: ca.MX) -> ca.MX:
        return ca.vec(self.phi(*self.inputs(x, p)))

    def slope(self, x: ca.MX, p: ca.MX) -> ca.MX:
        blocks = self.d1(*self.inputs(x, p))
        return ca.mtimes(_diagonal(blocks, self.outputs, self.k, self.count), self.move(x, p))

    def curvature(self, x: ca.MX, p: ca.MX, weight: ca.MX) -> ca.MX:
        weights = ca.reshape(weight, self.outputs, self.count)
        blocks = self.d2(*self.inputs(x, p), weights)
        move = self.move(x, p)
        inner = ca.mtimes(_diagonal(blocks, self.k, self.k, self.count), move)
        return ca.mtimes(move.T, inner)


def _diagonal(blocks: ca.MX, rows: int, columns: int, count: int) -> ca.MX:
    """Return dense blocks, given side by side, on the diagonal of a sparse matrix."""
    dense = ca.Sparsity.dense(rows, columns)
    return ca.MX(ca.diagcat(*[dense] * count), ca.vec(blocks))
