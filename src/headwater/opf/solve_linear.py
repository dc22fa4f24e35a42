"""Linear, quadratic and mixed-integer programs by HiGHS; cones, and hard QPs, by Clarabel.

The matrices of ``min x'Qx/2 + c'x + c0, lg <= A x + a <= ug, lx <= x <= ux`` are CasADi functions
of the parameters, so a change of numbers costs an evaluation and a solve.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import highspy
import numpy as np
from scipy import sparse

from .program import Program, Raw

HIGHS = {
    highspy.HighsModelStatus.kOptimal: "optimal",
    highspy.HighsModelStatus.kInfeasible: "infeasible",
    highspy.HighsModelStatus.kUnbounded: "unbounded",
    highspy.HighsModelStatus.kTimeLimit: "time_limit",
    highspy.HighsModelStatus.kIterationLimit: "iteration_limit",
}
CLARABEL = {
    "Solved": "optimal",
    "AlmostSolved": "optimal",
    "PrimalInfeasible": "infeasible",
    "AlmostPrimalInfeasible": "infeasible",
    "DualInfeasible": "unbounded",
    "AlmostDualInfeasible": "unbounded",
    "MaxIterations": "iteration_limit",
    "MaxTime": "time_limit",
}
TANGENT_ROUNDS, TANGENT_ERROR = 50, 1e-7


@dataclass
class Matrices:
    """A program at parameter values."""

    q: sparse.csc_matrix
    c: np.ndarray
    constant: float
    a: sparse.csc_matrix
    lower: np.ndarray
    upper: np.ndarray
    lx: np.ndarray
    ux: np.ndarray

    def objective(self, x: np.ndarray) -> float:
        """Return the objective at x."""
        return float(x @ (self.q @ x) / 2 + self.c @ x + self.constant)


def is_quadratic(program: Program) -> bool:
    """Return whether the objective is quadratic and all constraints are linear in x."""
    return bool(ca.is_linear(program.g, program.x) and ca.is_quadratic(program.f, program.x))


class LinearSolver:
    """HiGHS and Clarabel for one linear or quadratic program.

    Parameters
    ----------
    program : Program
    tolerance : float
        Feasibility of rows and bounds.
    time_limit_s : float
    """

    def __init__(self, program: Program, tolerance: float, time_limit_s: float) -> None:
        self.program = program
        self.tolerance, self.time_limit_s = tolerance, time_limit_s
        self.bounds = program.bounds()
        x, p, f, g = program.x, program.p, program.f, program.g
        zero = ca.SX.zeros(x.shape[0])
        gradient = ca.gradient(f, x)
        q = ca.jacobian(gradient, x)
        at_zero = [ca.substitute(e, x, zero) for e in (gradient, f, g)]
        outputs = [q, at_zero[0], at_zero[1], ca.jacobian(g, x), at_zero[2]]
        self.matrices = ca.Function("matrices", [p], outputs)
        self.integer = np.array(program.integer, dtype=bool)
        self.cones = None
        if program.cones:
            rows = [part for v, b in program.cones for part in (b, *ca.horzsplit(v))]
            sizes = [(v.shape[0], v.shape[1] + 1) for v, _ in program.cones]
            stacked = ca.vertcat(*rows)
            offset = ca.substitute(stacked, x, zero)
            self.cones = ca.Function("cones", [p], [ca.jacobian(stacked, x), offset])
            self.cone_sizes = sizes

    def at(self, values: np.ndarray) -> Matrices:
        """Return the matrices for parameter values."""
        q, c, constant, a, offset = self.matrices(values)
        lx, ux, _, lg, ug = (np.array(part).ravel() for part in self.bounds(values))
        offset = np.array(offset.full() if hasattr(offset, "full") else offset).ravel()
        return Matrices(
            _csc(q),
            np.array(c.full()).ravel(),
            float(constant),
            _csc(a),
            lg - offset,
            ug - offset,
            lx,
            ux,
        )

    def solve(self, values: np.ndarray) -> Raw:
        """Solve for parameter values."""
        m = self.at(values)
        if np.any(m.lx > m.ux) or np.any(m.lower > m.upper):
            return Raw("infeasible", np.full(len(m.lx), np.nan), solver="bounds")
        if self.cones is not None:
            return self._clarabel(m, values)
        if self.integer.any() and m.q.nnz:
            return self._tangents(m)
        raw = self._highs(m)
        if raw.status not in ("optimal", "infeasible", "unbounded", "time_limit") and not (
            self.integer.any()
        ):
            return self._clarabel(m, values)
        return raw

    def _highs(self, m: Matrices) -> Raw:
        highs = highspy.Highs()
        highs.setOptionValue("output_flag", False)
        highs.setOptionValue("threads", 1)
        highs.setOptionValue("time_limit", float(self.time_limit_s))
        highs.setOptionValue("primal_feasibility_tolerance", max(self.tolerance, 1e-10))
        highs.setOptionValue("dual_feasibility_tolerance", max(self.tolerance, 1e-10))
        highs.setOptionValue("mip_rel_gap", 1e-9)
        highs.setOptionValue("mip_abs_gap", 1e-9)
        highs.passModel(_highs_model(m, self.integer))
        highs.run()
        status = HIGHS.get(highs.getModelStatus(), "numerical_error")
        if highs.getModelStatus() == highspy.HighsModelStatus.kUnboundedOrInfeasible:
            highs.setOptionValue("presolve", "off")
            highs.run()
            status = HIGHS.get(highs.getModelStatus(), "numerical_error")
        solution, info = highs.getSolution(), highs.getInfo()
        n_rows = m.a.shape[0]
        rows = np.array(solution.row_dual) if len(solution.row_dual) else np.zeros(n_rows)
        bounds = np.array(solution.col_dual) if len(solution.col_dual) else np.zeros(len(m.c))
        iterations = max(0, info.simplex_iteration_count) + max(0, info.qp_iteration_count)
        return Raw(
            status,
            np.array(solution.col_value) if len(solution.col_value) else np.full(len(m.c), np.nan),
            self.program.by_family(rows),
            bounds,
            "highs",
            iterations + max(0, info.ipm_iteration_count),
        )

    def _tangents(self, m: Matrices) -> Raw:
        """Solve a mixed-integer program with separable convex quadratic costs by tangents.

        Every squared variable gets a cost variable above its tangents; tangents are added at
        each solution until the costs differ by less than `TANGENT_ERROR`, relative.
        """
        diagonal = m.q.diagonal()
        if abs(m.q - sparse.diags(diagonal)).max() > 0 or (diagonal < 0).any():
            raise ValueError("integers with a cost that is not separable and convex")
        squared = np.flatnonzero(diagonal)
        n, k = len(m.c), len(squared)
        span = np.linspace(0, 1, 5)
        points = [
            _finite(m.lx[i], -1) + s * (_finite(m.ux[i], 1) - _finite(m.lx[i], -1))
            for i in squared
            for s in span
        ]
        which = np.repeat(np.arange(k), len(span))
        raw, total = Raw("numerical_error", np.full(n, np.nan)), 0
        for _ in range(TANGENT_ROUNDS):
            raw = self._with_cuts(m, squared, diagonal[squared], which, np.array(points))
            total += raw.iterations
            if raw.status != "optimal":
                break
            x, y = raw.x[:n], raw.x[n:]
            true = diagonal[squared] * x[squared] ** 2 / 2
            if (true - y).sum() <= TANGENT_ERROR * (1 + abs(m.objective(x))):
                break
            which = np.concatenate([which, np.arange(k)])
            points = [*points, *x[squared]]
        raw.x, raw.bound_duals, raw.iterations = raw.x[:n], raw.bound_duals[:n], total
        raw.solver = "highs, tangents of the squared costs"
        return raw

    def _with_cuts(
        self, m: Matrices, squared: np.ndarray, h: np.ndarray, which: np.ndarray, at: np.ndarray
    ) -> Raw:
        """Solve with y_i >= h_i a x_i - h_i a^2 / 2 for every tangent point a."""
        n, k, rows = len(m.c), len(squared), np.arange(len(which))
        slope = h[which] * at
        cuts_x = sparse.csc_matrix((-slope, (rows, squared[which])), shape=(len(rows), n))
        cuts_y = sparse.csc_matrix((np.ones(len(rows)), (rows, which)), shape=(len(rows), k))
        a = sparse.bmat([[m.a, None], [cuts_x, cuts_y]], format="csc")
        wide = Matrices(
            sparse.csc_matrix((n + k, n + k)),
            np.concatenate([m.c, np.ones(k)]),
            m.constant,
            a,
            np.concatenate([m.lower, -h[which] * at**2 / 2]),
            np.concatenate([m.upper, np.full(len(rows), np.inf)]),
            np.concatenate([m.lx, np.zeros(k)]),
            np.concatenate([m.ux, np.full(k, np.inf)]),
        )
        kept, self.integer = self.integer, np.concatenate([self.integer, np.zeros(k, dtype=bool)])
        try:
            return self._highs(wide)
        finally:
            self.integer = kept

    def _clarabel(self, m: Matrices, values: np.ndarray) -> Raw:
        import clarabel

        n = len(m.c)
        eye = sparse.identity(n, format="csc")
        equal = m.lower == m.upper
        above = np.isfinite(m.upper) & ~equal
        below = np.isfinite(m.lower) & ~equal
        has_ux, has_lx = np.isfinite(m.ux), np.isfinite(m.lx)
        blocks = [m.a[equal], m.a[above], -m.a[below], eye[has_ux], -eye[has_lx]]
        sides = [m.upper[equal], m.upper[above], -m.lower[below], m.ux[has_ux], -m.lx[has_lx]]
        cones: list[Any] = [clarabel.ZeroConeT(int(equal.sum()))]
        cones.append(clarabel.NonnegativeConeT(sum(len(s) for s in sides[1:])))
        if self.cones is not None:
            jacobian, offset = self.cones(values)
            order = _interleaved(self.cone_sizes)
            blocks.append(-_csc(jacobian)[order])
            sides.append(np.array(offset.full()).ravel()[order])
            cones += [
                clarabel.SecondOrderConeT(d) for rows, d in self.cone_sizes for _ in range(rows)
            ]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_threads = 1
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = min(self.tolerance, 1e-8)
        settings.max_iter = 400
        settings.time_limit = float(self.time_limit_s)
        q = sparse.triu(m.q, format="csc")
        a = sparse.vstack(blocks, format="csc")
        found = clarabel.DefaultSolver(q, m.c, a, np.concatenate(sides), cones, settings).solve()
        z = np.array(found.z)
        ends = np.cumsum([0, *(len(s) for s in sides)])
        rows = np.zeros(m.a.shape[0])
        for part, sign, block in ((equal, -1, 0), (above, -1, 1), (below, 1, 2)):
            rows[part] += sign * z[ends[block] : ends[block + 1]]
        bounds = np.zeros(n)
        bounds[has_ux] -= z[ends[3] : ends[4]]
        bounds[has_lx] += z[ends[4] : ends[5]]
        return Raw(
            CLARABEL.get(str(found.status), "numerical_error"),
            np.array(found.x),
            self.program.by_family(rows),
            bounds,
            "clarabel",
            int(found.iterations),
        )


def _finite(value: float, sign: int) -> float:
    return value if np.isfinite(value) else sign * 100.0


def _interleaved(sizes: list[tuple[int, int]]) -> np.ndarray:
    """Return the order that puts the entries of each cone beside each other."""
    order, start = [], 0
    for rows, dimension in sizes:
        block = start + np.arange(rows * dimension).reshape(dimension, rows)
        order.append(block.T.ravel())
        start += rows * dimension
    return np.concatenate(order)


def _csc(matrix: Any) -> sparse.csc_matrix:
    matrix = ca.DM(matrix)
    columns, rows = matrix.sparsity().get_ccs()
    return sparse.csc_matrix((np.array(matrix.nonzeros()), rows, columns), shape=matrix.shape)


def _highs_model(m: Matrices, integer: np.ndarray) -> highspy.HighsModel:
    model = highspy.HighsModel()
    lp = model.lp_
    lp.num_col_, lp.num_row_ = len(m.c), m.a.shape[0]
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = m.c, m.lx, m.ux
    lp.row_lower_, lp.row_upper_ = m.lower, m.upper
    lp.offset_ = m.constant
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_ = m.a.indptr, m.a.indices
    lp.a_matrix_.value_ = m.a.data
    if integer.any():
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[int(k)] for k in integer]
    if m.q.nnz:
        lower = sparse.tril(m.q, format="csc")
        hessian = model.hessian_
        hessian.dim_ = len(m.c)
        hessian.format_ = highspy.HessianFormat.kTriangular
        hessian.start_, hessian.index_, hessian.value_ = lower.indptr, lower.indices, lower.data
    return model
