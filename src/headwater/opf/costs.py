"""Cost of generation: polynomials, and convex piecewise linear curves as epigraphs.

A piecewise linear curve is y >= m_k p + n_k for every segment k, with the cost y in the
objective (constrained cost variables, MATPOWER User's Manual, section 6.4.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from .case import PIECEWISE, Case, cost_points
from .findings import Finding
from .symbols import take

if TYPE_CHECKING:
    from .model import Model
    from .network import Network


# Relative fall of a slope that is the rounding of a file, not a shape.
ROUNDING = 1e-5


def segments(case: Case, row: int) -> tuple[np.ndarray, np.ndarray]:
    """Return slope ($/MWh) and intercept ($/h) of the segments of a piecewise linear row."""
    x, y = cost_points(case, row)
    slope = np.diff(y) / np.diff(x)
    return slope, y[:-1] - slope * x[:-1]


def piecewise_rows(network: Network, block: int) -> np.ndarray:
    """Return the generators in service (internal) with a piecewise linear cost."""
    cost = network.source.gencost
    rows = network.gen_rows + block * len(network.source.gen)
    if block and len(cost) < 2 * len(network.source.gen):
        return np.zeros(0, dtype=int)
    return np.flatnonzero(cost[rows, 0] == PIECEWISE)


def piecewise_values(network: Network, block: int) -> np.ndarray:
    """Return slope and intercept of all segments, per unit: (2, segments)."""
    base, parts = network.base, []
    for g in piecewise_rows(network, block):
        row = network.gen_rows[g] + block * len(network.source.gen)
        slope, intercept = segments(network.source, row)
        parts.append(np.vstack([slope * base, intercept]))
    return np.hstack(parts) if parts else np.zeros((2, 0))


def nonconvex(case: Case) -> list[Finding]:
    """Return an error for every piecewise linear curve whose slopes fall."""
    found = []
    for row in np.flatnonzero(case.gencost[:, 0] == PIECEWISE):
        slope, _ = segments(case, row)
        if np.any(np.diff(slope) < -ROUNDING * (1 + np.abs(slope[1:]))):
            found.append(
                Finding(
                    "error",
                    "nonconvex_cost",
                    f"{case.name}, gencost row {row + 1}",
                    "slopes " + ", ".join(f"{s:g}" for s in slope) + " $/MWh",
                    "slopes that do not fall",
                    "A falling slope needs integer variables; give a convex curve.",
                )
            )
    return found


class GenerationCost:
    """The cost of p, and of q where the case has a second block of cost rows."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def polynomial(self, power: Any, kind: str = "cost") -> ca.SX:
        """Return the sum of c_k p^k over generators, $/h."""
        return ca.sum1(self.each(power, kind))

    def each(self, power: Any, kind: str = "cost") -> ca.SX:
        """Return the polynomial cost of each generator, $/h."""
        coefficients = self.model.data[kind]
        on = self.model.commitment
        total = coefficients[:, 0] if on is None else coefficients[:, 0] * on
        for k in range(1, coefficients.shape[1]):
            total = total + coefficients[:, k] * power**k
        return total

    def add(self) -> None:
        """Add the cost of generation to the program."""
        model = self.model
        model.program.cost("generation", self.polynomial(model.pg))
        self._piecewise(model.pg, 0, "generation")
        if model.qg is not None and "cost_q" in model.data:
            model.program.cost("reactive_generation", self.polynomial(model.qg, "cost_q"))
            self._piecewise(model.qg, 1, "reactive_generation")

    def _piecewise(self, power: Any, block: int, part: str) -> None:
        model, network = self.model, self.model.network
        chosen = piecewise_rows(network, block)
        if not len(chosen):
            return
        name = "pq"[block]
        values = model.parameter(f"segments_{name}", lambda n: piecewise_values(n, block))
        row = network.gen_rows[chosen] + block * len(network.source.gen)
        counts = [int(network.source.gencost[r, 3]) - 1 for r in row]
        of = np.repeat(np.arange(len(chosen)), counts)
        slope, intercept = values[0, :].T, values[1, :].T
        which = chosen[of]
        if model.commitment is not None:
            intercept = intercept * take(model.commitment, which)
        middle = slope * take(power_middle(model, block), which) + intercept
        start = ca.vertcat(
            *[ca.mmax(take(middle, np.flatnonzero(of == j))) for j in range(len(chosen))]
        )
        free = model.commitment is None
        y = model.program.variable(f"cost_{name}", len(chosen), start=start if free else None)
        line = take(y, of) - slope * take(power, which) - intercept
        model.program.constrain(f"segments_{name}", line, 0, np.inf)
        model.program.cost(part, ca.sum1(y))


def power_middle(model: Model, block: int) -> ca.SX:
    """Return the middle of the range of every generator, p.u."""
    low, high = (model.pmin, model.pmax) if block == 0 else (model.qmin, model.qmax)
    return 0.5 * (ca.fmax(low, -1e3) + ca.fmin(high, 1e3))
