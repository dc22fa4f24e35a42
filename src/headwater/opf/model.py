"""One period of an optimal power flow as symbols that extensions work on.

A model is built in three steps: the constructor makes variables, parameters and flows; the
extensions add to it; `Model.finish` adds capacities, limits, balances and the cost of
generation. Everything is per unit of the base power and in radians; costs are $/h.

For authors of extensions. ``apply(model, values)`` is called for every period, first for the
group variables, then constraints, then objective. A `model` has

``formulation``, ``network``, ``convention``, ``period``, ``hours``
    name, the `Network` in service (internal numbers, ``network.base`` MVA), the DC convention,
    number and length of the period.
``program``
    a `Scope`: ``variable(name, n, lower, upper, start, integer)``, ``constrain(family,
    expression, lower, upper)``, ``cone(vector, bound)``, ``cost(part, expression)``,
    ``rebound(name, lower, upper)``. Names get the period in front; costs are $/h, the hours of
    the period are counted by the scope.
``parameter(name, function)``
    numbers that a function of the network gives (PTDF, for example), evaluated anew at every
    solve. Numbers may also be read from ``network.values()`` or ``network.case``: the engine
    notices, and builds anew where they change, which is slower.
``pg qg va vm pf qf pt qt`` (SX columns; None where the formulation has none)
    variables of generators and buses, and power into the branch at both ends. DC: ``pt = -pf``,
    ``vm`` and ``qg`` are None. SOCP: ``w`` (squared voltage) in place of ``vm`` and ``va``.
    ED: only ``pg``. In DC ``pf`` may be replaced (``model.pf = model.pf + s``) by an extension
    of the group variables.
``pd qd pmin pmax qmin qmax vmin vmax rate tap shift`` (SX columns)
    numbers of the case. `finish` applies them, so entries may be replaced before. ``pd`` and
    ``qd`` are those of the period; ``rate`` (nl) has infinity where a branch is unrated;
    ``tap`` and ``shift`` may become variables in ACOPF, ``shift`` in DCOPF of the convention
    ``matpower``. `data` has all numbers by the names of `headwater.opf.network.parameters`.
``inject_p(buses, expression)``, ``inject_q(buses, expression)``
    power fed into buses (internal numbers, one may occur several times). Shedding is one.
``rate_margin``, ``rate_slack`` (SX columns over all branches)
    limits become ``rate - rate_margin + rate_slack``; add to them with ``+=``.
``use_capacity(expression)``, ``use_capacity_down(expression)`` (SX columns over generators)
    ``pg + expression <= pmax`` and ``pg - expression >= pmin``; several add up.
``commit(u)``
    `u` binary over generators: pmin u <= pg <= pmax u, fixed cost c0 u.
``angle_slack`` (SX column over branches)
    widens the limits of the angle difference: an open branch has none.
``closed`` (SX column over branches)
    an extension that opens branches puts its variable there, so that the independent check
    knows; its own constraints bring the flow ``pf`` of an open branch to zero.
``cost_of(pg)``
    polynomial cost of another dispatch, $/h.

``couple(models, values)`` ties periods together once all have been applied, before `finish`.
``report(model, raw)`` gives the extras: ``raw.value(expression)`` is an expression at the
solution, ``model.dual(raw, family)`` the prices of a family ($/h per unit of the right-hand
side). ``refine(models, values, raw) -> bool`` may add constraints after a solve; True asks for
another solve. An objective with ``op: replace`` takes the place of the cost of generation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
import numpy as np

from .costs import GenerationCost
from .network import Network
from .program import INF, Program, Raw, Scope
from .symbols import SX, incidence, take


class Model:
    """One period of one formulation; the module says what extensions may use.

    Parameters
    ----------
    program : Program
        Shared by all periods.
    network : Network
    data : dict of str to SX
        Parameter symbols.
    convention, loads : str
        ``dc_convention`` and ``dispatchable_loads`` of the options.
    prefix : str
        In front of the names of this period.
    period : int
    hours : float
        Length of the period.
    load : pair of SX, optional
        Real and reactive load of the period, per unit; of the case by default.
    """

    formulation = ""

    def __init__(
        self,
        program: Program,
        network: Network,
        data: dict[str, SX],
        convention: str = "matpower",
        loads: str = "free",
        prefix: str = "",
        period: int = 0,
        hours: float = 1.0,
        load: tuple[SX, SX] | None = None,
    ) -> None:
        self.program = Scope(program, prefix, hours)
        self.network, self.data = network, data
        self.convention, self.loads = convention, loads
        self.period, self.hours = period, hours
        self.va = self.vm = self.w = self.qg = None
        self.pf = self.pt = self.qf = self.qt = None
        self.commitment: SX | None = None
        self.generation = True
        n = network
        self.pd, self.qd = load or (SX(data["pd"]), SX(data.get("qd", SX.zeros(n.nb))))
        for name in ("pmin", "pmax", "qmin", "qmax", "vmin", "vmax", "tap", "shift"):
            setattr(self, name, SX(data[name]) if name in data else None)
        self.rate = SX(ca.DM(np.full(n.nl, INF)))
        if "rate" in data and len(n.rated):
            self.rate[n.rated.tolist()] = data["rate"]
        self.injection_p, self.injection_q = SX.zeros(n.nb), SX.zeros(n.nb)
        self.rate_margin, self.rate_slack = SX.zeros(n.nl), SX.zeros(n.nl)
        self.angle_slack, self.closed = SX.zeros(n.nl), SX.ones(n.nl)
        self.up, self.down = SX.zeros(n.ng), SX.zeros(n.ng)
        self.costs = GenerationCost(self)
        self.pg = self.program.variable("pg", n.ng, self.pmin, self.pmax)
        self._build()

    # ---- what extensions call -------------------------------------------------------------

    def parameter(self, name: str, source: Callable[[Network], Any]) -> SX:
        """Add numbers that a function of the network gives, evaluated anew at every solve."""
        with self.network.unwatched():
            return self.program.parameter(name, source(self.network), source)

    def inject_p(self, buses: Sequence[int] | int, expression: Any) -> None:
        """Inject active power, per unit; one bus may be named several times."""
        self.injection_p += incidence(np.atleast_1d(buses), self.network.nb) @ SX(expression)

    def inject_q(self, buses: Sequence[int] | int, expression: Any) -> None:
        """Inject reactive power, per unit."""
        self.injection_q += incidence(np.atleast_1d(buses), self.network.nb) @ SX(expression)

    def use_capacity(self, expression: Any) -> None:
        """Keep room above the output of the generators, per unit."""
        self.up += expression

    def use_capacity_down(self, expression: Any) -> None:
        """Keep room below the output of the generators, per unit."""
        self.down += expression

    def commit(self, on: SX) -> None:
        """Make the capacity and the fixed cost of every unit depend on a binary.

        Raises
        ------
        ValueError
            If units are committed already.
        """
        if self.commitment is not None:
            raise ValueError("two extensions commit units")
        self.commitment = on

    def cost_of(self, pg: Any) -> SX:
        """Return the polynomial cost of another dispatch, $/h."""
        return self.costs.polynomial(pg)

    def dual(self, raw: Raw, family: str) -> np.ndarray:
        """Return the prices of a family of this period."""
        return raw.dual(self.program.prefix + family)

    # ---- finish ---------------------------------------------------------------------------

    def finish(self) -> None:
        """Add capacities, limits, balances and the cost of generation; after the extensions."""
        self._capacity()
        self._limits()
        self._balance()
        if self.generation:
            self.costs.add()

    def _build(self) -> None:
        """Add the variables and flows of the formulation."""

    def _limits(self) -> None:
        """Add limits of voltages, flows and angles."""

    def _balance(self) -> None:
        raise NotImplementedError

    def _capacity(self) -> None:
        on, low, high = self.commitment, self.pmin, self.pmax
        if on is None:
            self.program.rebound("pg", low, high)
        else:
            self.program.rebound("pg", ca.fmin(low, 0), ca.fmax(high, 0))
            low, high = low * on, high * on
        if on is not None or not self.up.is_zero():
            self._below("capacity_up", self.pg + self.up, high)
        if on is not None or not self.down.is_zero():
            self._below("capacity_down", low, self.pg - self.down)

    def _below(self, family: str, low: SX, high: SX) -> None:
        """Add ``low <= high`` where one of the two is a limit, perhaps infinite."""
        x = self.program.root.x
        if not ca.depends_on(high, x):
            self.program.constrain(family, low, upper=high)
        elif not ca.depends_on(low, x):
            self.program.constrain(family, high, lower=low)
        else:
            self.program.constrain(family, high - low, lower=0.0)

    # ---- parts that several formulations use ----------------------------------------------

    def ends(self, values: SX) -> tuple[SX, SX]:
        """Return what stands at the from and at the to bus of every branch."""
        return take(values, self.network.f), take(values, self.network.t)

    def room(self) -> SX:
        """Return the flow limit of the rated branches, per unit."""
        return take(self.rate - self.rate_margin + self.rate_slack, self.network.rated)

    def limit_is_fixed(self) -> bool:
        """Return whether the flow limits depend on no variable."""
        return not ca.depends_on(ca.vertcat(self.rate_margin, self.rate_slack), self.program.root.x)

    def reference_angle(self) -> None:
        """Fix the angle of the reference bus of every island, by bounds."""
        n = self.network
        low, high = SX(ca.DM(np.full(n.nb, -INF))), SX(ca.DM(np.full(n.nb, INF)))
        low[n.reference.tolist()] = high[n.reference.tolist()] = self.data["va_ref"]
        self.program.rebound("va", low, high)

    def reference_start(self) -> SX:
        """Return the reference angle of its island for every bus."""
        return take(SX(self.data["va_ref"]), self.network.island)

    def angle_limits(self, difference: SX) -> None:
        """Limit the angle difference of branches."""
        chosen = self.network.angle_limited.tolist()
        if not chosen:
            return
        difference, slack = difference[chosen], self.angle_slack[chosen]
        if slack.is_zero():
            self.program.constrain("angle", difference, self.data["angmin"], self.data["angmax"])
        else:
            self.program.constrain("angle", difference + slack, lower=self.data["angmin"])
            self.program.constrain("angle", difference - slack, upper=self.data["angmax"])

    def constant_power_factor(self) -> None:
        """Tie reactive to real power of dispatchable loads (MATPOWER User's Manual, 6.4.2)."""
        loads = self.network.dispatchable.tolist()
        if self.loads != "constant_pf" or not loads:
            return
        limit = self.qmin[loads] + self.qmax[loads]
        row = self.pg[loads] * limit - self.qg[loads] * self.pmin[loads]
        self.program.constrain("power_factor", row, 0.0, 0.0)

    def power_balance(self, squared: Any) -> None:
        """Add the balances of a formulation with flows; `squared` is v^2 (1 in DC)."""
        n, d = self.network, self.data
        at, f, t = (incidence(k, n.nb) for k in (n.at, n.f, n.t))
        left = at @ self.pg + self.injection_p - d["gs"] * squared
        left -= f @ self.pf + t @ self.pt
        _equal(self, "balance_p", left, self.pd)
        if self.qg is not None:
            left = at @ self.qg + self.injection_q + d["bs"] * squared
            left -= f @ self.qf + t @ self.qt
            _equal(self, "balance_q", left, self.qd)


def _equal(model: Model, family: str, left: SX, right: SX) -> None:
    if ca.depends_on(right, model.program.root.x):
        model.program.constrain(family, left - right, 0.0, 0.0)
    else:
        model.program.constrain(family, left, right, right)
