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
    "PrimalInfeasible": "infeasible",
    "AlmostPrimalInfeasible": "infeasible",
    "DualInfeasible": "unbounded",
    "AlmostDualInfeasible": "unbounded",
    "MaxIterations": "iteration_limit",
    "MaxTime": "time_limit",
}


FAILED = "numerical_error"
GAP = 1e-8
REGULARISATIONS = (1e-9, 1e-8, 1e-10)


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
    quadratic = sparse.triu(data.hessian, format="csc")
    if not quadratic.shape[0]:
        quadratic = sparse.csc_matrix((n, n))
    matrix, bounds = sparse.csc_matrix(sparse.vstack(parts)), np.concatenate(right)
    for regularisation in REGULARISATIONS:
        settings = _settings(tolerance, seconds, iterations)
        settings.static_regularization_constant = regularisation
        solver = clarabel.DefaultSolver(quadratic, data.c, matrix, bounds, cones, settings)
        found = solver.solve()
        status = _status(found)
        if status in ("infeasible", "unbounded", "time_limit"):
            break
        off = abs(matrix @ np.array(found.x) + np.array(found.s) - bounds).max(initial=0.0)
        if status == "optimal" and off <= 10 * tolerance:
            break
    duals = np.zeros(m + n)
    z = np.array(found.z)
    first, second = len(equal), len(equal) + len(up)
    duals[equal] -= z[:first]
    duals[up] -= z[first:second]
    duals[down] += z[second : second + len(down)]
    return Raw(
        status=status,
        x=np.array(found.x),
        p=p,
        row_duals=duals[:m],
        bound_duals=duals[m:],
        solver="clarabel",
        iterations=int(found.iterations),
        program=program,
    )


def _settings(tolerance: float, seconds: float | None, iterations: int) -> Any:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = iterations
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = min(tolerance, GAP)
    # relative to the size of the data: an absolute 1e-8 needs more
    settings.tol_feas = 1e-2 * min(tolerance, GAP)
    if seconds is not None:
        settings.time_limit = float(seconds)
    return settings


def _status(found: Any) -> str:
    """Return our word; "almost solved" will do where the gap is closed, for all is checked."""
    word = str(found.status)
    if word == "AlmostSolved":
        size = max(1.0, abs(found.obj_val))
        return "optimal" if abs(found.obj_val - found.obj_val_dual) <= 1e-7 * size else FAILED
    return STATUS.get(word, "numerical_error")
