"""Linear and quadratic programs, with or without integers, read off the symbols once.

    min 1/2 x' H(p) x + c(p)' x + c0(p),  lg <= A(p) x + b(p) <= ug,  lx <= x <= ux

HiGHS solves them; large quadratic ones, and those where its method gives up, go to Clarabel.
HiGHS has no quadratic costs with integers: those are approached from below by tangents until the
error of the cost is less than 1e-6 (outer approximation, M. A. Duran, I. E. Grossmann, Math.
Program. 36, 1986).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import highspy
import numpy as np
from scipy import sparse

from .program import Program, Raw
from .quiet import highs

TANGENT_ERROR, TANGENT_ROUNDS = 1e-6, 60
MIP_GAP = 1e-7
# The active-set method of HiGHS takes ten times as long as Clarabel on 24 periods of 118 buses,
# and does not end on the outages of 24 buses side by side.
LARGE = 800
H = highspy.HighsModelStatus
STATUS = {
    H.kOptimal: "optimal",
    H.kInfeasible: "infeasible",
    H.kUnbounded: "unbounded",
    H.kTimeLimit: "time_limit",
    H.kIterationLimit: "iteration_limit",
}


@dataclass(frozen=True)
class Data:
    """A program as matrices; see the module."""

    hessian: sparse.csc_matrix
    c: np.ndarray
    c0: float
    a: sparse.csc_matrix
    lx: np.ndarray
    ux: np.ndarray
    lg: np.ndarray
    ug: np.ndarray


def degree(program: Program) -> int:
    """Return 1 for a linear, 2 for a quadratic program with linear rows, 3 for all others."""
    if program.blocks:
        return 3
    x = program.x
    rows = ca.jacobian(program.g, x)
    if ca.depends_on(ca.vertcat(*rows.nonzeros()), x):
        return 3
    slope = ca.gradient(program.f, x)
    if not ca.depends_on(slope, x):
        return 1
    hessian = ca.jacobian(slope, x)
    return 3 if ca.depends_on(ca.vertcat(*hessian.nonzeros()), x) else 2


class Matrices:
    """The matrices of a program as functions of its parameters."""

    def __init__(self, program: Program) -> None:
        self.program = program
        x, p, f, g = program.x, program.p, program.f, program.g
        zero = ca.SX.zeros(*x.shape)
        slope = ca.gradient(f, x)
        at_zero = ca.substitute([f, slope, g], [x], [zero])
        parts = [ca.jacobian(slope, x), at_zero[1], at_zero[0], ca.jacobian(g, x), at_zero[2]]
        # p alone enters: all parts are evaluated without x
        self.function = ca.Function("matrices", [x, p], parts)
        self.zero = np.zeros(x.shape[0])

    def at(self, p: np.ndarray) -> Data:
        """Return the matrices for the numbers `p`."""
        hessian, c, c0, a, b = self.function(self.zero, p)
        bounds = self.program.bounds(p)
        shift = np.array(b).ravel()
        return Data(
            hessian=_sparse(hessian),
            c=np.array(c).ravel(),
            c0=float(c0),
            a=_sparse(a),
            lx=bounds["lx"],
            ux=bounds["ux"],
            lg=bounds["lg"] - shift,
            ug=bounds["ug"] - shift,
        )


def _sparse(matrix: ca.DM) -> sparse.csc_matrix:
    pattern = matrix.sparsity()
    found = sparse.csc_matrix(
        (np.array(matrix.nonzeros()), np.array(pattern.row()), np.array(pattern.colind())),
        shape=matrix.shape,
    )
    found.eliminate_zeros()
    return found


class Linear:
    """A program compiled for HiGHS."""

    def __init__(
        self, program: Program, tolerance: float, iterations: int, seconds: float | None
    ) -> None:
        self.program, self.tolerance, self.seconds = program, tolerance, seconds
        self.matrices = Matrices(program)
        self.integer = np.array(program.integer, dtype=bool)

    def solve(self, p: np.ndarray, start: Any = None) -> Raw:
        """Solve with the numbers `p`."""
        data = self.matrices.at(p)
        if not len(data.c):
            return self._nothing(data, p)
        if self.integer.any():
            return self._integer(data, p)
        if data.hessian.nnz and len(data.c) > LARGE:
            from .solve_conic import solve_data

            found = solve_data(self.program, data, p, self.tolerance, self.seconds)
            if found.status in ("optimal", "infeasible"):
                return found
        solver = self._load(data, data.hessian)
        solver.run()
        status = STATUS.get(solver.getModelStatus(), "numerical_error")
        if status == "numerical_error" and solver.getModelStatus() == H.kUnboundedOrInfeasible:
            status = self._which(data)
        raw = self._raw(solver, status, data, p)
        convex = not data.hessian.nnz or data.hessian.diagonal().min() >= 0
        if (
            data.hessian.nnz
            and convex
            and status in ("numerical_error", "iteration_limit", "unbounded")
        ):
            from .solve_conic import solve_data

            return solve_data(self.program, data, p, self.tolerance, self.seconds)
        return raw

    def _nothing(self, data: Data, p: np.ndarray) -> Raw:
        """Return the result of a program without variables."""
        holds = np.all(data.lg <= self.tolerance) and np.all(data.ug >= -self.tolerance)
        rows, none = np.zeros(len(data.lg)), np.zeros(0)
        status = "optimal" if holds else "infeasible"
        return Raw(status, none, p, rows, none, solver="none", program=self.program)

    def _which(self, data: Data) -> str:
        """Tell an infeasible program from an unbounded one: solve it without its objective."""
        from dataclasses import replace

        plain = replace(data, c=np.zeros_like(data.c))
        solver = self._load(plain, sparse.csc_matrix(data.hessian.shape))
        solver.run()
        return "unbounded" if solver.getModelStatus() == H.kOptimal else "infeasible"

    def _load(self, data: Data, hessian: sparse.csc_matrix) -> highspy.Highs:
        solver = highs()
        for name, value in {
            "threads": 1,
            "primal_feasibility_tolerance": max(self.tolerance, 1e-9),
            "dual_feasibility_tolerance": 1e-9,
            "mip_rel_gap": MIP_GAP,
            "mip_abs_gap": 0.0,
            "mip_feasibility_tolerance": 1e-9,
            # its quadratic method goes round in circles on degenerate problems
            "qp_iteration_limit": 1000 + 5 * sum(data.a.shape),
        }.items():
            solver.setOptionValue(name, value)
        if self.seconds is not None:
            solver.setOptionValue("time_limit", float(self.seconds))
        model = highspy.HighsModel()
        lp = model.lp_
        lp.num_row_, lp.num_col_ = data.a.shape
        lp.col_cost_, lp.offset_ = data.c, data.c0
        lp.col_lower_, lp.col_upper_ = data.lx, data.ux
        lp.row_lower_, lp.row_upper_ = data.lg, data.ug
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_, lp.a_matrix_.index_ = data.a.indptr, data.a.indices
        lp.a_matrix_.value_ = data.a.data
        integer = self.integer
        if integer.any():
            kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
            extra = [kinds[0]] * (data.a.shape[1] - len(integer))
            lp.integrality_ = [kinds[int(k)] for k in integer] + extra
        if hessian.nnz:
            lower = sparse.tril(hessian, format="csc")
            model.hessian_.dim_ = hessian.shape[0]
            model.hessian_.format_ = highspy.HessianFormat.kTriangular
            model.hessian_.start_, model.hessian_.index_ = lower.indptr, lower.indices
            model.hessian_.value_ = lower.data
        solver.passModel(model)
        return solver

    def _raw(self, solver: highspy.Highs, status: str, data: Data, p: np.ndarray) -> Raw:
        found, info = solver.getSolution(), solver.getInfo()
        n, m = len(self.integer), len(self.program.bounds(p)["lg"])
        x = np.array(found.col_value)[:n] if found.value_valid else np.full(n, np.nan)
        duals = found.dual_valid
        return Raw(
            status=status,
            x=x,
            p=p,
            row_duals=np.array(found.row_dual)[:m] if duals else np.full(m, np.nan),
            bound_duals=np.array(found.col_dual)[:n] if duals else np.full(n, np.nan),
            solver="highs",
            iterations=max(info.simplex_iteration_count, 0)
            + max(info.ipm_iteration_count, 0)
            + max(info.qp_iteration_count, 0),
            program=self.program,
        )

    # ---- integers -------------------------------------------------------------------------

    def _integer(self, data: Data, p: np.ndarray) -> Raw:
        """Branch and bound; tangents in place of the squares; prices with the integers fixed."""
        tangents = _Tangents(data)
        rounds = 0
        while True:
            solver = self._load(tangents.data(), sparse.csc_matrix((0, 0)))
            solver.run()
            status = STATUS.get(solver.getModelStatus(), "numerical_error")
            if solver.getModelStatus() == H.kUnboundedOrInfeasible:
                status = self._which(data)
            raw = self._raw(solver, status, data, p)
            rounds += 1
            if status != "optimal" or tangents.close(np.array(solver.getSolution().col_value)):
                break
            if rounds == TANGENT_ROUNDS:
                raw.status = "iteration_limit"
                break
        return self._fixed(data, p, raw) if raw.status == "optimal" else raw

    def _fixed(self, data: Data, p: np.ndarray, raw: Raw) -> Raw:
        """Solve once more with the integers at their values: exact costs, and prices."""
        from dataclasses import replace

        whole = np.round(raw.x[self.integer])
        low, high = data.lx.copy(), data.ux.copy()
        low[self.integer] = high[self.integer] = whole
        fixed = Linear.__new__(Linear)
        fixed.__dict__.update(self.__dict__)
        fixed.integer = np.zeros_like(self.integer)
        changed = replace(data, lx=low, ux=high)
        fixed.matrices = _Given(changed)
        again = fixed.solve(p)
        again.iterations += raw.iterations
        return again if again.status == "optimal" else raw


class _Given:
    """Matrices that are there already."""

    def __init__(self, data: Data) -> None:
        self.data = data

    def at(self, p: np.ndarray) -> Data:
        return self.data


class _Tangents:
    """A convex quadratic cost as epigraphs: 1/2 x'Hx = sum_i s_i with s_i >= y_i^2, y = R x."""

    def __init__(self, data: Data) -> None:
        self.base = data
        self.factor = _factor(data.hessian)
        k, n = self.factor.shape
        self.rows: list[tuple[int, float]] = []
        self.k, self.n = k, n

    def data(self) -> Data:
        base, k = self.base, self.k
        if not k:
            return base
        # s_i >= 2 y0 y_i - y0^2
        cuts = self.rows
        i = np.array([c[0] for c in cuts], dtype=int)
        y0 = np.array([c[1] for c in cuts])
        left = sparse.diags(2 * y0) @ self.factor[i] if len(cuts) else None
        wide = sparse.hstack([base.a, sparse.csc_matrix((base.a.shape[0], k))])
        if left is not None:
            pick = sparse.csr_matrix((np.ones(len(i)), (np.arange(len(i)), i)), (len(i), k))
            wide = sparse.vstack([wide, sparse.hstack([-left, pick])])
        return Data(
            hessian=sparse.csc_matrix((0, 0)),
            c=np.r_[base.c, np.ones(k)],
            c0=base.c0,
            a=sparse.csc_matrix(wide),
            lx=np.r_[base.lx, np.zeros(k)],
            ux=np.r_[base.ux, np.full(k, np.inf)],
            lg=np.r_[base.lg, -(y0**2)],
            ug=np.r_[base.ug, np.full(len(i), np.inf)],
        )

    def close(self, x: np.ndarray) -> bool:
        """Return whether the cost is met; where not, add tangents at x."""
        if not self.k:
            return True
        y, s = self.factor @ x[: self.n], x[self.n :]
        gap = np.maximum(y**2 - s, 0)
        total = abs(self.base.c0 + self.base.c @ x[: self.n] + (y**2).sum())
        if gap.sum() <= TANGENT_ERROR * 0.1 * max(total, 1e-6):
            return True
        self.rows += [(int(i), float(y[i])) for i in np.flatnonzero(gap > 1e-12 * max(total, 1))]
        return False


def _factor(hessian: sparse.csc_matrix) -> sparse.csr_matrix:
    """Return R with 1/2 H = R'R.

    Raises
    ------
    ValueError
        If H is not positive semidefinite.
    """
    if not hessian.nnz:
        return sparse.csr_matrix((0, hessian.shape[1]))
    n = hessian.shape[0]
    diagonal = hessian.diagonal()
    touched = np.unique(np.r_[sparse.triu(hessian, 1).nonzero()])
    alone = np.setdiff1d(np.flatnonzero(diagonal), touched)
    if np.any(diagonal[alone] < 0):
        raise ValueError("the cost is not convex")
    rows = [
        sparse.csr_matrix(
            (np.sqrt(diagonal[alone] / 2), (np.arange(len(alone)), alone)), (len(alone), n)
        )
    ]
    if len(touched):
        values, vectors = np.linalg.eigh(hessian[np.ix_(touched, touched)].toarray() / 2)
        if values.min() < -1e-9 * values.max():
            raise ValueError("the cost is not convex")
        keep = values > 1e-12 * values.max()
        dense = (vectors[:, keep] * np.sqrt(values[keep])).T
        place = sparse.csr_matrix(
            (np.ones(len(touched)), (np.arange(len(touched)), touched)), (len(touched), n)
        )
        rows.append(sparse.csr_matrix(dense) @ place)
    return sparse.csr_matrix(sparse.vstack(rows))
