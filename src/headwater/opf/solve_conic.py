"""Second-order cone and quadratic programs in Clarabel (P. J. Goulart, Y. Chen, 2024).

min 1/2 x'Hx + c'x,  Ax + s = b,  s in a product of {0}, R+ and second-order cones
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import clarabel
import numpy as np
from scipy import sparse

from .program import Program, Raw
from .solve_linear import Data, Matrices, _sparse

STATUS = {
    "Solved": "optimal",
    "AlmostSolved": "numerical_error",
    "PrimalInfeasible": "infeasible",
    "AlmostPrimalInfeasible": "infeasible",
    "DualInfeasible": "unbounded",
    "AlmostDualInfeasible": "unbounded",
    "MaxIterations": "iteration_limit",
    "MaxTime": "time_limit",
}


class Conic:
    """A program with cones compiled for Clarabel."""

    def __init__(
        self, program: Program, tolerance: float, iterations: int, seconds: float | None
    ) -> None:
        self.program, self.tolerance = program, tolerance
        self.iterations, self.seconds = iterations, seconds
        self.matrices = Matrices(program)
        self.sizes, rows = [], []
        for vector, bound in program.cones:
            count, width = vector.shape
            self.sizes += [width + 1] * count
            rows.append(ca.vec(ca.horzcat(bound, vector).T))
        self.rows = ca.vertcat(*rows) if rows else ca.SX(0, 1)
        x, p = program.x, program.p
        slope = ca.jacobian(self.rows, x)
        zero = ca.substitute(self.rows, x, ca.SX.zeros(*x.shape))
        self.cone = ca.Function("cone", [x, p], [slope, zero])

    def solve(self, p: np.ndarray, start: Any = None) -> Raw:
        """Solve with the numbers `p`."""
        data = self.matrices.at(p)
        slope, zero = self.cone(self.matrices.zero, p)
        cone = _sparse(slope), np.array(zero).ravel(), self.sizes
        return solve_data(
            self.program, data, p, self.tolerance, self.seconds, cone, self.iterations
        )


def solve_data(
    program: Program,
    data: Data,
    p: np.ndarray,
    tolerance: float,
    seconds: float | None,
    cone: tuple[sparse.csc_matrix, np.ndarray, list[int]] | None = None,
    iterations: int = 500,
) -> Raw:
    """Solve matrices, with rows ``(bound, vector) = F x + d`` of second-order cones."""
    n, m = data.a.shape[1], data.a.shape[0]
    rows = sparse.vstack([data.a, sparse.identity(n)], format="csr")
    low, high = np.r_[data.lg, data.lx], np.r_[data.ug, data.ux]
    equal = np.flatnonzero(low == high)
    up = np.flatnonzero((low != high) & np.isfinite(high))
    down = np.flatnonzero((low != high) & np.isfinite(low))
    parts = [rows[equal], rows[up], -rows[down]]
    right = [low[equal], high[up], -low[down]]
    cones: list[Any] = [
        clarabel.ZeroConeT(len(equal)),
        clarabel.NonnegativeConeT(len(up) + len(down)),
    ]
    if cone is not None:
        parts.append(-cone[0])
        right.append(cone[1])
        cones += [clarabel.SecondOrderConeT(k) for k in cone[2]]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = iterations
    settings.max_threads = 1
    goal = min(tolerance, 1e-8)
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = goal
    if seconds is not None:
        settings.time_limit = float(seconds)
    quadratic = sparse.triu(data.hessian, format="csc")
    if not quadratic.shape[0]:
        quadratic = sparse.csc_matrix((n, n))
    matrix = sparse.csc_matrix(sparse.vstack(parts))
    solver = clarabel.DefaultSolver(
        quadratic, data.c, matrix, np.concatenate(right), cones, settings
    )
    found = solver.solve()
    duals = np.zeros(m + n)
    z = np.array(found.z)
    first, second = len(equal), len(equal) + len(up)
    duals[equal] -= z[:first]
    duals[up] -= z[first:second]
    duals[down] += z[second : second + len(down)]
    return Raw(
        status=STATUS.get(str(found.status), "numerical_error"),
        x=np.array(found.x),
        p=p,
        row_duals=duals[:m],
        bound_duals=duals[m:],
        solver="clarabel",
        iterations=int(found.iterations),
        program=program,
    )
