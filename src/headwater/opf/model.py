"""One period of an optimal power flow as symbols that extensions work on.

For authors of extensions. ``apply(model, values)`` is called for every period after the
variables and flows are there and before `Model.finish` adds balances and limits. It may

* add variables and constraints: ``model.variable(name, n, ...)``, ``model.constrain(family,
  expression, lower, upper)`` (names and families get the period in front), and costs in $ per
  hour: ``model.cost(part, expression)`` (weighted with the hours of the period);
* inject power: ``model.inject_p(buses, expression)``, ``model.inject_q`` (per unit, internal bus
  numbers, positive into the bus);
* change what later rows are made from, all `casadi.SX` columns, per unit: ``load_p load_q``
  (nb), ``pf pt qf qt`` (nl; power leaving the from and the to bus), ``rate_margin`` (taken off
  a flow limit) and ``rate_slack`` (added to it) of the rated branches ``network.rated``,
  ``hold_up`` (ng; room kept free below PMAX);
* replace bounds: ``model.rebound("pg", lower, upper)``;
* drop all costs: ``model.program.drop_costs()``.

Symbols: ``va vm pg qg`` (radians, per unit; absent ones are None), parameters ``data[name]`` as
`headwater.opf.network.parameters` names them. Numbers: ``network``, ``base`` (MVA), ``hours``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from .case import PIECEWISE, cost_points
from .findings import Finding
from .network import Network
from .program import INF, Program

SX = ca.SX


@dataclass
class Model:
    """One period.

    Attributes
    ----------
    program : Program
        Shared by all periods.
    network : Network
    formulation : str
        ACOPF, DCOPF, SOCP or ED.
    convention, loads : str
        ``dc_convention`` and ``dispatchable_loads`` of the options.
    data : dict of str to SX
        Parameter symbols; those of demand may differ between periods.
    prefix : str
        In front of the names of this period.
    hours : float
        Length of the period.
    """

    program: Program
    network: Network
    formulation: str
    convention: str
    loads: str
    data: dict[str, SX]
    prefix: str = ""
    hours: float = 1.0
    va: SX | None = None
    vm: SX | None = None
    pg: SX | None = None
    qg: SX | None = None
    pf: SX | None = None
    pt: SX | None = None
    qf: SX | None = None
    qt: SX | None = None
    load_p: SX = field(default_factory=SX)
    load_q: SX = field(default_factory=SX)
    injection_p: SX = field(default_factory=SX)
    injection_q: SX = field(default_factory=SX)
    rate_margin: SX = field(default_factory=SX)
    rate_slack: SX = field(default_factory=SX)
    hold_up: SX = field(default_factory=SX)
    kept: dict[str, SX] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    @property
    def base(self) -> float:
        """Base power, MVA."""
        return self.network.base

    def variable(self, name: str, n: int, *bounds: Any, **options: Any) -> SX:
        """Add variables of this period."""
        return self.program.variable(self.prefix + name, n, *bounds, **options)

    def rebound(self, name: str, lower: Any, upper: Any) -> None:
        """Replace the bounds of variables of this period."""
        self.program.rebound(self.prefix + name, lower, upper)

    def constrain(self, family: str, expression: Any, lower: Any = -INF, upper: Any = INF) -> None:
        """Add constraints of this period."""
        self.program.constrain(self.prefix + family, expression, lower, upper)

    def cost(self, part: str, expression: Any) -> None:
        """Add a cost, $ per hour of this period."""
        self.program.cost(part, self.hours * expression)

    def keep(self, name: str, expression: Any) -> None:
        """Have an expression evaluated at the solution: `Solution.extras` gets it."""
        self.kept[name] = SX(expression)

    def inject_p(self, buses: Sequence[int], expression: Any) -> None:
        """Inject active power, per unit; one bus may be named several times."""
        self.injection_p += incidence(buses, self.network.nb) @ SX(expression)

    def inject_q(self, buses: Sequence[int], expression: Any) -> None:
        """Inject reactive power, per unit."""
        self.injection_q += incidence(buses, self.network.nb) @ SX(expression)

    def generation_cost(self) -> SX:
        """Return the cost of active and reactive generation, $/h, an epigraph where piecewise."""
        total = _polynomial(self.data["cost"], self.pg) + self._pieces(0, self.pg)
        if self.qg is not None and "cost_q" in self.data:
            total += _polynomial(self.data["cost_q"], self.qg) + self._pieces(1, self.qg)
        return total

    def _pieces(self, block: int, power: SX) -> SX:
        """Return the sum of epigraph variables of the piecewise linear rows of a block."""
        case, ng = self.network.case, len(self.network.case.gen)
        rows = [
            (k, r + block * ng)
            for k, r in enumerate(self.network.gen_rows)
            if case.gencost[r + block * ng, 0] == PIECEWISE
        ]
        if not rows:
            return SX(0)
        y = self.variable(f"piecewise_{'pq'[block]}", len(rows))
        for j, (k, r) in enumerate(rows):
            x, cost = cost_points(case, r)
            slopes = np.diff(cost) / np.diff(x)
            line = cost[:-1] + slopes * (self.base * power[k] - x[:-1])
            self.constrain("piecewise", y[j] - line, 0.0, INF)
        return ca.sum1(y)

    def start(self) -> None:
        """Set the columns that extensions change to their first values."""
        n = self.network
        self.load_p, self.load_q = SX(self.data["pd"]), SX(self.data["qd"])
        self.injection_p, self.injection_q = SX.zeros(n.nb), SX.zeros(n.nb)
        self.rate_margin, self.rate_slack = SX.zeros(len(n.rated)), SX.zeros(len(n.rated))
        self.hold_up = SX.zeros(n.ng)
        self.pg = self.variable("pg", n.ng, self.data["pmin"], self.data["pmax"])

    def finish(self) -> None:
        """Add balances and limits, after the extensions."""
        if not self.hold_up.is_zero():
            self.constrain("capacity", self.pg + self.hold_up - self.data["pmax"], -INF, 0.0)
        if self.formulation == "ED":
            total = ca.sum1(self.pg) + ca.sum1(self.injection_p)
            load = ca.sum1(self.load_p) + ca.sum1(self.data["gs"])
            self.constrain("balance_p", total - load, 0.0, 0.0)
            return
        self._limits()
        shunt_v = 1.0 if self.vm is None and "w" not in self.kept else self._squared_voltage()
        flow = (
            incidence(self.network.f, self.network.nb),
            incidence(self.network.t, self.network.nb),
        )
        at = incidence(self.network.at, self.network.nb)
        left = at @ self.pg + self.injection_p - self.load_p - self.data["gs"] * shunt_v
        self.constrain("balance_p", left - flow[0] @ self.pf - flow[1] @ self.pt, 0.0, 0.0)
        if self.qg is not None:
            left = at @ self.qg + self.injection_q - self.load_q + self.data["bs"] * shunt_v
            self.constrain("balance_q", left - flow[0] @ self.qf - flow[1] @ self.qt, 0.0, 0.0)

    def _squared_voltage(self) -> SX:
        return self.kept["w"] if "w" in self.kept else self.vm**2

    def _limits(self) -> None:
        rated = [int(k) for k in self.network.rated]
        if not rated:
            return
        room = self.data["rate"] - self.rate_margin + self.rate_slack
        plain = self.rate_margin.is_zero() and self.rate_slack.is_zero()
        if self.formulation == "DCOPF":
            flow = self.pf[rated]
            if plain:
                self.constrain("limit", flow, -self.data["rate"], self.data["rate"])
            else:
                self.constrain("limit_up", flow - room, -INF, 0.0)
                self.constrain("limit_down", -flow - room, -INF, 0.0)
        elif self.formulation == "SOCP":
            for p, q in ((self.pf, self.qf), (self.pt, self.qt)):
                self.program.cone(ca.horzcat(p[rated], q[rated]), room)
        else:
            for end, p, q in (("from", self.pf, self.qf), ("to", self.pt, self.qt)):
                squared = p[rated] ** 2 + q[rated] ** 2
                if plain:
                    self.constrain(f"limit_{end}", squared, -INF, self.data["rate"] ** 2)
                else:
                    self.constrain(f"limit_{end}", squared - room**2, -INF, 0.0)


def incidence(index: Sequence[int], rows: int) -> ca.DM:
    """Return the sparse (rows, len(index)) matrix with a one at (index[k], k)."""
    index = [int(i) for i in index]
    if not index:
        return ca.DM(rows, 0)
    pattern = ca.Sparsity.triplet(rows, len(index), index, list(range(len(index))))
    return ca.DM(pattern, 1.0)


def _polynomial(coefficients: SX, power: SX) -> SX:
    total = SX(0)
    for k in range(coefficients.shape[1]):
        total += ca.sum1(coefficients[:, k] * power**k)
    return total
