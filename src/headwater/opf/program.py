"""One optimisation program over CasADi symbols, handed to the solver that fits it.

    min f(x, z; p)  subject to  lbg(p) <= g(x, z; p) <= ubg(p),  lbx(p) <= x <= ubx(p),
                                z_k = phi(u_k(x; p), w_k(p)) for blocks of like elements,
                                some x integer,  ||a_k(x; p)||_2 <= b_k(x; p)

Variables, constraints (by family) and costs (by part) are added; the parameters p are numbers
that may change between solves. `z` are lifted symbols: the flows of all branches are one small
function of a branch, so that derivatives are taken of that function once, not of the network.
Linear and quadratic programs go to HiGHS (Clarabel where its QP method gives up), cones to
Clarabel, all else to IPOPT.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

INF = np.inf
FAR = 1e7


@dataclass
class Block:
    """Lifted symbols ``z[:, k] = phi(u[:, k], w[:, k])``; `u` is affine in the variables."""

    z: ca.SX
    phi: ca.Function | None = None
    u: ca.SX | None = None
    w: ca.SX | None = None


@dataclass
class Raw:
    """What a solver gave.

    Attributes
    ----------
    status : str
        optimal, infeasible, unbounded, iteration_limit, time_limit or numerical_error.
    x : ndarray
        Values of all variables, in the order of the program.
    p : ndarray
        Values of all parameters.
    row_duals, bound_duals : ndarray
        Change of the objective for one unit more on the right-hand side of a row or of a bound.
    solver, iterations
    """

    status: str
    x: np.ndarray
    p: np.ndarray
    row_duals: np.ndarray
    bound_duals: np.ndarray
    solver: str = ""
    iterations: int = 0
    program: Program | None = field(default=None, repr=False)

    def value(self, expression: Any) -> np.ndarray:
        """Return an expression of variables, flows and parameters at the solution."""
        if self.program is None:
            raise ValueError("a raw result without its program")
        return self.program.evaluate(expression, self.x, self.p)

    def fits(self) -> bool:
        """Return whether the program still has the variables and rows of this result."""
        program = self.program
        if program is None:
            return False
        return (len(self.x), len(self.row_duals)) == (program.x.shape[0], program.g.shape[0])

    def dual(self, family: str) -> np.ndarray:
        """Return the duals of a family of constraints, by its full name."""
        if self.program is None:
            raise ValueError("a raw result without its program")
        return self.program.by_family(self.row_duals)[family]


class Program:
    """Variables, constraints by family, costs by part, and parameters."""

    def __init__(self) -> None:
        self.names: dict[str, slice] = {}
        self.families: dict[str, list[slice]] = {}
        self.parts: dict[str, ca.SX] = {}
        self.default: dict[str, np.ndarray] = {}
        self.sources: dict[str, Callable[[Any], Any]] = {}
        self.integer: list[bool] = []
        self.cones: list[tuple[ca.SX, ca.SX]] = []
        self.blocks: list[Block] = []
        self._x: list[ca.SX] = []
        self._p: list[ca.SX] = []
        self._g: list[ca.SX] = []
        self._lower: dict[str, ca.SX] = {}
        self._upper: dict[str, ca.SX] = {}
        self._start: dict[str, ca.SX | None] = {}
        self._rows: tuple[list[ca.SX], list[ca.SX]] = ([], [])
        self._nx = self._ng = 0
        self._cache: dict[Any, Any] = {}

    # ---- building -----------------------------------------------------------------------

    def variable(
        self,
        name: str,
        n: int,
        lower: Any = -INF,
        upper: Any = INF,
        start: Any = None,
        integer: bool = False,
    ) -> ca.SX:
        """Add a block of `n` variables; bounds and start are numbers or parameter expressions.

        Without a start IPOPT begins at the middle of the bounds.
        """
        if name in self.names:
            raise ValueError(f"variable {name!r} a second time")
        symbol = ca.SX.sym(name, n)
        self.names[name] = slice(self._nx, self._nx + n)
        self._nx += n
        self._x.append(symbol)
        self.integer += [integer] * n
        self._start[name] = None if start is None else _column(start, n)
        self.rebound(name, lower, upper)
        return symbol

    def rebound(self, name: str, lower: Any, upper: Any) -> None:
        """Replace the bounds of a variable."""
        n = self.names[name].stop - self.names[name].start
        self._lower[name], self._upper[name] = _column(lower, n), _column(upper, n)
        self._cache.clear()

    def parameter(
        self, name: str, values: Any, source: Callable[[Any], Any] | None = None
    ) -> ca.SX:
        """Add numbers that may change between solves.

        Parameters
        ----------
        name : str
        values : array
            The numbers of the first solve. Matrices keep their shape; their entries go by columns.
        source : callable, optional
            Function of a `Network` that gives the numbers of another solve.
        """
        if name in self.default:
            raise ValueError(f"parameter {name!r} a second time")
        values = np.asarray(values, dtype=float)
        self.default[name] = values
        if source is not None:
            self.sources[name] = source
        flat = ca.SX.sym(name, values.size)
        self._p.append(flat)
        self._cache.clear()
        return ca.reshape(flat, *values.shape) if values.ndim == 2 else flat

    def constrain(self, family: str, expression: Any, lower: Any = -INF, upper: Any = INF) -> None:
        """Add ``lower <= expression <= upper``, row by row."""
        rows = ca.densify(ca.vec(ca.SX(expression)))
        n = rows.shape[0]
        slices = self.families.setdefault(family, [])
        if not n:
            return
        slices.append(slice(self._ng, self._ng + n))
        self._ng += n
        self._g.append(rows)
        self._rows[0].append(_column(lower, n))
        self._rows[1].append(_column(upper, n))
        self._cache.clear()

    def cone(self, vector: ca.SX, bound: ca.SX) -> None:
        """Add ``||vector_k|| <= bound_k`` for every row k; `vector` is (rows, dimension)."""
        self.cones.append((ca.SX(vector), ca.SX(bound)))
        self._cache.clear()

    def cost(self, part: str, expression: Any) -> None:
        """Add a term to the objective, $/h; `part` is its name in the result."""
        self.parts[part] = self.parts.get(part, ca.SX(0)) + expression
        self._cache.clear()

    def lift(self, name: str, outputs: int, n: int) -> Block:
        """Add symbols (outputs, n) whose function is given later, in the fields of the block."""
        block = Block(ca.SX.sym(name, outputs, n))
        if n:
            self.blocks.append(block)
        self._cache.clear()
        return block

    # ---- reading ------------------------------------------------------------------------

    @property
    def x(self) -> ca.SX:
        """All variables."""
        return self._once("x", lambda: ca.vertcat(*self._x) if self._x else ca.SX(0, 1))

    @property
    def z(self) -> ca.SX:
        """All lifted symbols."""
        return ca.vertcat(*[ca.vec(b.z) for b in self.blocks]) if self.blocks else ca.SX(0, 1)

    @property
    def p(self) -> ca.SX:
        """All parameters."""
        return ca.vertcat(*self._p) if self._p else ca.SX(0, 1)

    @property
    def g(self) -> ca.SX:
        """All constraint expressions."""
        return ca.vertcat(*self._g) if self._g else ca.SX(0, 1)

    @property
    def f(self) -> ca.SX:
        """The objective."""
        return sum(self.parts.values(), ca.SX(0))

    def bounds(self, p: np.ndarray) -> dict[str, np.ndarray]:
        """Return lower and upper bounds of x (lx, ux) and g (lg, ug) and the start x0."""
        function = self._once("bounds", self._bounds)
        found = [np.array(v).ravel() for v in function(p)]
        return dict(zip(("lx", "ux", "x0", "lg", "ug"), found, strict=True))

    def _bounds(self) -> ca.Function:
        low = [self._lower[n] for n in self.names]
        high = [self._upper[n] for n in self.names]
        start = [
            _middle(a, b) if self._start[n] is None else self._start[n]
            for n, a, b in zip(self.names, low, high, strict=True)
        ]
        columns = [low, high, start, *self._rows]
        return ca.Function("bounds", [self.p], [_stack(c) for c in columns])

    def values(self, changes: Mapping[str, Any] | None = None) -> np.ndarray:
        """Return all parameters as one vector, with `changes` in place of the defaults."""
        changes = changes or {}
        parts = []
        for name, default in self.default.items():
            new = np.asarray(changes.get(name, default), dtype=float)
            if new.shape != default.shape:
                raise ValueError(f"parameter {name!r} has shape {new.shape}, not {default.shape}")
            parts.append(new.ravel(order="F"))
        return np.concatenate(parts) if parts else np.zeros(0)

    def evaluate(self, expression: Any, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return the numbers of an expression of x, z and p, in its shape; columns are flat."""
        make = lambda: (expression, self._function(expression))  # noqa: E731
        _, inside = self._once(("value", id(expression)), make)
        expression = ca.SX(expression)
        found = np.array(inside(x, self.lifted(x, p), p))
        return found.ravel() if expression.shape[1] == 1 else found

    def _function(self, expression: Any) -> ca.Function:
        return ca.Function("value", [self.x, self.z, self.p], [ca.SX(expression)])

    def lifted(self, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return the numbers of the lifted symbols."""
        function = self._once("lifted", lambda: lifted_function(self))
        return np.array(function(x, p)).ravel()

    def rows(self, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return the numbers of all constraint rows."""
        make = lambda: ca.Function("rows", [self.x, self.z, self.p], [self.g])  # noqa: E731
        return np.array(self._once("rows", make)(x, self.lifted(x, p), p)).ravel()

    def outside(self, x: np.ndarray, p: np.ndarray) -> float:
        """Return how far the worst cone is violated."""

        def make() -> ca.Function:
            sizes = [ca.sqrt(ca.sum2(v**2)) - b for v, b in self.cones]
            return ca.Function("cones", [self.x, self.p], [ca.mmax(ca.vertcat(*sizes))])

        return float(self._once("cones", make)(x, p))

    def split(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return the values of all variables by name."""
        return {name: x[where] for name, where in self.names.items()}

    def by_family(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Return one number per constraint row, by family."""
        return {
            family: np.concatenate([rows[s] for s in slices]) if slices else np.zeros(0)
            for family, slices in self.families.items()
        }

    def _once(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return what was made before, as long as the program has not changed."""
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]


class Scope:
    """A program as one period sees it: names get a prefix, costs count `hours` times."""

    def __init__(self, program: Program, prefix: str = "", hours: float = 1.0) -> None:
        self.root, self.prefix, self.hours = program, prefix, hours

    def variable(self, name: str, n: int, *bounds: Any, **options: Any) -> ca.SX:
        """As `Program.variable`."""
        return self.root.variable(self.prefix + name, n, *bounds, **options)

    def rebound(self, name: str, lower: Any, upper: Any) -> None:
        """As `Program.rebound`."""
        self.root.rebound(self.prefix + name, lower, upper)

    def parameter(
        self, name: str, values: Any, source: Callable[[Any], Any] | None = None
    ) -> ca.SX:
        """As `Program.parameter`."""
        return self.root.parameter(self.prefix + name, values, source)

    def constrain(self, family: str, expression: Any, lower: Any = -INF, upper: Any = INF) -> None:
        """As `Program.constrain`."""
        self.root.constrain(self.prefix + family, expression, lower, upper)

    def cone(self, vector: ca.SX, bound: ca.SX) -> None:
        """As `Program.cone`."""
        self.root.cone(vector, bound)

    def cost(self, part: str, expression: Any) -> None:
        """As `Program.cost`, $/h; the objective gets it once for every hour."""
        self.root.cost(part, self.hours * expression)

    def lift(self, name: str, outputs: int, n: int) -> Block:
        """As `Program.lift`."""
        return self.root.lift(self.prefix + name, outputs, n)


def lifted_function(program: Program) -> ca.Function:
    """Return the function (x, p) -> z."""
    x, p = ca.MX.sym("x", program.x.shape[0]), ca.MX.sym("p", program.p.shape[0])
    parts = []
    for block in program.blocks:
        inputs = ca.Function("inputs", [program.x, program.p], [block.u, block.w])
        parts.append(ca.vec(block.phi.map(block.z.shape[1])(*inputs(x, p))))
    return ca.Function("lifted", [x, p], [ca.vertcat(*parts) if parts else ca.MX(0, 1)])


def _column(value: Any, n: int) -> ca.SX:
    if isinstance(value, ca.SX):
        column = ca.vec(value)
    else:
        column = ca.SX(ca.DM(np.asarray(value, dtype=float).ravel()))
    column = ca.densify(column)
    if column.shape[0] == n:
        return column
    if column.shape[0] != 1:
        raise ValueError(f"{column.shape[0]} numbers for {n} rows")
    return ca.repmat(column, n, 1)


def _stack(columns: list[ca.SX]) -> ca.SX:
    return ca.densify(ca.vertcat(*columns)) if columns else ca.SX(0, 1)


def _middle(low: ca.SX, high: ca.SX) -> ca.SX:
    """Return the middle of the bounds, one bound where the other is far, else zero."""
    below, above = low < -FAR, high > FAR
    mid = 0.5 * (ca.fmax(low, -FAR) + ca.fmin(high, FAR))
    return ca.if_else(below, ca.if_else(above, 0, high), ca.if_else(above, low, mid))
