"""A base system and its unmodified optima, which tell where a change can be felt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

from ..case import Case

if TYPE_CHECKING:
    from ..solution import Solution

DIGITS = 6
# Smallest price of a limit that counts as one, $/MWh or $/h per p.u.
PRICED = 1e-4
# Formulation whose optimum tells where changes of another are felt.
LIKE = {"ACOPF": "ACOPF", "SOCP": "ACOPF", "DCOPF": "DCOPF", "ED": "DCOPF"}


@dataclass(frozen=True)
class Point:
    """The optimum of the unmodified network, one entry per row of the case.

    Numbers are rounded to `DIGITS` significant digits, so that what is drawn from them does not
    depend on the last bits of a solver.

    Attributes
    ----------
    cost : float
        Objective, $/h.
    pg, qg : ndarray
        MW, MVAr; zero out of service.
    vm, va : ndarray
        p.u., degrees; NaN out of service.
    price, price_q : ndarray
        LMP, $/MWh and $/MVArh.
    signed : ndarray
        PF, MW.
    flow, loss, mu : ndarray
        Larger apparent power of the two ends (MVA, MW in DC), PF + PT (MW), price of the
        limit ($/MVAh).
    limit : dict of str to ndarray
        Prices of VMAX, VMIN ($/h per p.u.), PMAX, PMIN ($/MWh), QMAX, QMIN ($/MVArh), not
        negative.
    """

    cost: float
    pg: np.ndarray
    qg: np.ndarray
    vm: np.ndarray
    va: np.ndarray
    price: np.ndarray
    price_q: np.ndarray
    signed: np.ndarray
    flow: np.ndarray
    loss: np.ndarray
    mu: np.ndarray
    limit: dict[str, np.ndarray]


def rounded(values: np.ndarray, digits: int = DIGITS) -> np.ndarray:
    """Return numbers with so many significant digits."""
    values = np.asarray(values, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        power = np.floor(np.log10(np.abs(values)))
    power = np.where(np.isfinite(power), power, 0.0)
    step = 10.0 ** (digits - 1 - power)
    return np.round(values * step) / step


def point_of(solution: Solution) -> Point:
    """Return the optimum of a solution as plain rounded arrays."""
    bus, gen, branch = solution.bus, solution.gen, solution.branch

    def column(table: object, name: str, empty: float = 0.0) -> np.ndarray:
        return rounded(np.nan_to_num(table[name].to_numpy(dtype=float), nan=empty))

    prices = {k: column(bus, f"MU_{k}") for k in ("VMAX", "VMIN")}
    prices |= {k: column(gen, f"MU_{k}") for k in ("PMAX", "PMIN", "QMAX", "QMIN")}
    return Point(
        cost=float(rounded(np.array([solution.objective]))[0]),
        pg=column(gen, "PG"),
        qg=column(gen, "QG"),
        vm=column(bus, "VM", 1.0),
        va=column(bus, "VA"),
        price=column(bus, "LMP"),
        price_q=column(bus, "LMP_Q"),
        signed=column(branch, "PF"),
        flow=np.maximum(column(branch, "SF"), column(branch, "ST")),
        loss=rounded(column(branch, "PF") + column(branch, "PT")),
        mu=_priced(column(branch, "MU_SF") + column(branch, "MU_ST")),
        limit={k: _priced(v) for k, v in prices.items()},
    )


def _priced(values: np.ndarray) -> np.ndarray:
    """Return prices without what an interior-point method leaves at limits that do not bind."""
    return np.where(np.abs(values) > PRICED, np.abs(values), 0.0)


@dataclass
class System:
    """A base system.

    Parameters
    ----------
    name : str
    case : Case
    solve : callable
        formulation -> Solution of the unmodified network; called once for each.
    """

    name: str
    case: Case
    solve: Callable[[str], Solution]
    _points: dict[str, Point | None] = field(default_factory=dict)
    memory: dict[Any, Any] = field(default_factory=dict)

    def point(self, formulation: str) -> Point | None:
        """Return the optimum of the unmodified network; None where there is none."""
        like = LIKE[formulation]
        if like not in self._points:
            solution = self.solve(like)
            self._points[like] = point_of(solution) if solution.optimal else None
        return self._points[like]

    @cached_property
    def index(self) -> dict[int, int]:
        """Row of every bus by its number."""
        return {int(n): k for k, n in enumerate(self.case.bus["BUS_I"])}

    @cached_property
    def gen_bus(self) -> np.ndarray:
        """Row of the bus of every generator."""
        return np.array([self.index[int(b)] for b in self.case.gen["GEN_BUS"]], dtype=int)

    @cached_property
    def ends(self) -> np.ndarray:
        """Rows of the from and to bus of every branch, (nl, 2)."""
        pairs = self.case.branch[["F_BUS", "T_BUS"]].to_numpy(dtype=int)
        return np.array([[self.index[f], self.index[t]] for f, t in pairs], dtype=int)

    @cached_property
    def alive(self) -> np.ndarray:
        """Whether a bus is not isolated."""
        return self.case.bus["BUS_TYPE"].to_numpy() != 4

    @cached_property
    def branch_on(self) -> np.ndarray:
        """Whether a branch is in service between live buses."""
        return (self.case.branch["BR_STATUS"].to_numpy() > 0) & self.alive[self.ends].all(axis=1)

    @cached_property
    def transformer(self) -> np.ndarray:
        """Whether a branch is a transformer: the case gives it a tap ratio."""
        return self.case.branch["TAP"].to_numpy() != 0

    @cached_property
    def gen_on(self) -> np.ndarray:
        """Whether a generator is in service at a live bus."""
        return (self.case.gen["GEN_STATUS"].to_numpy() > 0) & self.alive[self.gen_bus]

    @cached_property
    def bridges(self) -> np.ndarray:
        """Whether the outage of a branch would split the network."""
        graph = nx.MultiGraph()
        graph.add_nodes_from(np.flatnonzero(self.alive).tolist())
        for k in np.flatnonzero(self.branch_on):
            graph.add_edge(*self.ends[k].tolist(), key=int(k))
        simple = nx.Graph(graph)
        cut = {frozenset(pair) for pair in nx.bridges(simple)}
        found = np.ones(len(self.ends), dtype=bool)
        for k in np.flatnonzero(self.branch_on):
            f, t = self.ends[k].tolist()
            found[k] = frozenset((f, t)) in cut and graph.number_of_edges(f, t) == 1
        return found

    @cached_property
    def circuits(self) -> list[list[int]]:
        """Rows of all branches between the two buses of every branch, in file order."""
        pairs = [frozenset(map(int, e)) for e in self.ends]
        rows: dict[frozenset[int], list[int]] = {}
        for k, pair in enumerate(pairs):
            rows.setdefault(pair, []).append(k)
        return [rows[pair] for pair in pairs]

    @property
    def demand(self) -> float:
        """Total real demand, MW."""
        return float(self.case.bus["PD"].to_numpy()[self.alive].sum())

    @property
    def capacity(self) -> float:
        """Total real capacity in service, MW."""
        return float(self.case.gen["PMAX"].to_numpy()[self.gen_on].sum())
