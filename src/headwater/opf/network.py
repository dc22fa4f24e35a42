"""The part of a case that is in service, as arrays with internal numbers.

Everything is in per unit of the base power, angles in radians; `rows` lead back to the case.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from .case import PIECEWISE, Case
from .findings import Finding

REFERENCE, ISOLATED = 3, 4
UNLIMITED = 1e9  # MW, MVAr or MVA: a limit of this size stands for none


@dataclass(frozen=True)
class Network:
    """In-service buses, generators and branches.

    Attributes
    ----------
    source : Case
        The case; extensions read it as ``case``, which is noticed (see `watch`).
    base : float
        Base power, MVA.
    numbers : int array (nb)
        The file's bus numbers, in internal order.
    bus_rows, gen_rows, branch_rows : int arrays (nb), (ng), (nl)
        Rows of the case's tables.
    f, t, at : int arrays (nl), (nl), (ng)
        From and to bus of every branch, bus of every generator; internal numbers.
    island : int array (nb)
        Number of the island of every bus.
    reference : int array
        One bus of every island.
    rated, angle_limited : int arrays
        Branches with a flow limit, and with a limit of the angle difference.
    dispatchable : int array
        Dispatchable loads: generators with PMIN < 0 = PMAX.
    sloped : int array
        Generators whose reactive limits change with their output.
    findings : list of Finding
    """

    source: Case
    base: float
    numbers: np.ndarray
    bus_rows: np.ndarray
    gen_rows: np.ndarray
    branch_rows: np.ndarray
    f: np.ndarray
    t: np.ndarray
    at: np.ndarray
    island: np.ndarray
    reference: np.ndarray
    rated: np.ndarray
    angle_limited: np.ndarray
    dispatchable: np.ndarray
    sloped: np.ndarray
    findings: list[Finding] = field(default_factory=list)
    watch: dict[str, bool] = field(default_factory=lambda: {"read": False}, repr=False)

    @property
    def case(self) -> Case:
        """The case; reading it is noted, as a program built on its numbers holds for them only."""
        self.watch["read"] = True
        return self.source

    @contextmanager
    def unwatched(self) -> Iterator[None]:
        """Read the case without a note: the reader follows it from solve to solve."""
        before = self.watch["read"]
        yield
        self.watch["read"] = before

    @property
    def nb(self) -> int:
        """Number of buses."""
        return len(self.bus_rows)

    @property
    def ng(self) -> int:
        """Number of generators."""
        return len(self.gen_rows)

    @property
    def nl(self) -> int:
        """Number of branches."""
        return len(self.branch_rows)

    def bus_index(self, number: int) -> int:
        """Return the internal number of a bus by its number in the file.

        Raises
        ------
        KeyError
            If no such bus is in service.
        """
        found = np.flatnonzero(self.numbers == int(number))
        if not len(found):
            raise KeyError(number)
        return int(found[0])

    def values(self) -> dict[str, np.ndarray]:
        """Return the numbers of the model, per unit and radians, by parameter name."""
        return parameters(self.case, self)


def network_of(case: Case) -> Network:
    """Return what of a case is in service.

    Dropped are isolated buses (type 4), generators and branches that are out of service or at
    a dropped bus. Every island keeps the reference bus of the file, or gets the bus of its
    largest generator.
    """
    bus_rows = np.flatnonzero(case.column("bus", "BUS_TYPE") != ISOLATED)
    numbers = case.column("bus", "BUS_I")[bus_rows].astype(int)
    place = _Place(numbers)
    at_all = place(case.column("gen", "GEN_BUS"))
    f_all, t_all = place(case.column("branch", "F_BUS")), place(case.column("branch", "T_BUS"))
    gen_rows = np.flatnonzero((case.column("gen", "GEN_STATUS") > 0) & (at_all >= 0))
    on = (case.column("branch", "BR_STATUS") > 0) & (f_all >= 0) & (t_all >= 0)
    branch_rows = np.flatnonzero(on)
    f, t, at = f_all[branch_rows], t_all[branch_rows], at_all[gen_rows]
    nb = len(bus_rows)
    joined = coo_matrix((np.ones(len(f)), (f, t)), shape=(nb, nb))
    count, island = connected_components(joined, directed=False)
    capacity = np.zeros(nb)
    np.add.at(capacity, at, case.column("gen", "PMAX")[gen_rows])
    kinds = case.column("bus", "BUS_TYPE")[bus_rows]
    reference, findings = _references(case, count, island, kinds, capacity, bus_rows)
    rate, low, high = (
        case.column("branch", name)[branch_rows] for name in ("RATE_A", "ANGMIN", "ANGMAX")
    )
    pmin, pmax, p1, p2 = (
        case.column("gen", name)[gen_rows] for name in ("PMIN", "PMAX", "PC1", "PC2")
    )
    return Network(
        source=case,
        base=float(case.base_mva),
        numbers=numbers,
        bus_rows=bus_rows,
        gen_rows=gen_rows,
        branch_rows=branch_rows,
        f=f,
        t=t,
        at=at,
        island=island,
        reference=reference,
        rated=np.flatnonzero((rate > 0) & (rate < UNLIMITED)),
        angle_limited=np.flatnonzero(_limited(low, -1) | _limited(high, 1)),
        dispatchable=np.flatnonzero((pmin < 0) & (pmax == 0)),
        sloped=np.flatnonzero(p1 < p2),
        findings=findings,
    )


class _Place:
    """Internal numbers of buses by their numbers in the file, -1 for those not in service."""

    def __init__(self, numbers: np.ndarray) -> None:
        self.order = np.argsort(numbers, kind="stable")
        self.sorted = numbers[self.order]

    def __call__(self, wanted: np.ndarray) -> np.ndarray:
        if not len(self.sorted):
            return np.full(len(wanted), -1)
        found = np.searchsorted(self.sorted, wanted).clip(max=len(self.sorted) - 1)
        return np.where(self.sorted[found] == wanted, self.order[found], -1)


def _limited(angle: np.ndarray, side: int) -> np.ndarray:
    """Return where an angle limit (degrees) is one: 0 and 360 mean that there is none."""
    return (angle != 0) & (side * angle < 360)


def _references(
    case: Case,
    count: int,
    island: np.ndarray,
    kinds: np.ndarray,
    capacity: np.ndarray,
    bus_rows: np.ndarray,
) -> tuple[np.ndarray, list[Finding]]:
    numbers = case.column("bus", "BUS_I")[bus_rows].astype(int)
    demand = case.column("bus", "PD")[bus_rows]
    chosen, findings = [], []
    for k in range(count):
        members = np.flatnonzero(island == k)
        marked = members[kinds[members] == REFERENCE]
        chosen.append(int(marked[0]) if len(marked) else int(members[capacity[members].argmax()]))
        if len(marked) or len(members) == 0:
            continue
        if count == 1:
            findings.append(
                Finding(
                    "warning",
                    "no_reference_bus",
                    f"{case.name}, column BUS_TYPE",
                    "no bus of type 3",
                    "one",
                    f"Bus {numbers[chosen[-1]]} is taken; its angle is the reference.",
                )
            )
        else:
            shown = ", ".join(map(str, numbers[members][:10])) + (
                ", …" if len(members) > 10 else ""
            )
            supply, load = capacity[members].sum(), demand[members].sum()
            findings.append(
                Finding(
                    "warning",
                    "island_created",
                    case.name,
                    f"bus {shown} cut off from the rest",
                    "one connected network",
                    f"The island has {supply:g} MW of capacity for {load:g} MW of demand; it"
                    " balances itself and gets its own angle reference.",
                )
            )
    return np.array(chosen, dtype=int), findings


def signature(network: Network) -> tuple:
    """Return what a built program depends on: cases that agree in it share one program."""
    cost, ng = network.source.gencost, len(network.source.gen)
    orders, pieces = [], []
    for block in range(len(cost) // max(ng, 1)):
        lines = cost[network.gen_rows + block * ng]
        orders.append(_order(lines))
        curves = lines[:, 0] == PIECEWISE
        pieces.append((curves.tobytes(), lines[curves, 3].tobytes()))
    arrays = (
        network.bus_rows,
        network.gen_rows,
        network.branch_rows,
        network.reference,
        network.rated,
        network.angle_limited,
        network.dispatchable,
        network.sloped,
    )
    return (network.base, tuple(orders), tuple(pieces), *(a.tobytes() for a in arrays))


def parameters(case: Case, network: Network) -> dict[str, np.ndarray]:
    """Return the numbers of a case in the order of `network`: per unit, radians, $/h.

    ``cost`` and ``cost_q`` are (ng, K+1): coefficient k multiplies p^k with p per unit, so a
    cost of c2 $/MW^2 becomes c2 S_b^2. Piecewise linear rows are zero there.
    """
    base = case.base_mva

    def bus(name: str) -> np.ndarray:
        return case.column("bus", name)[network.bus_rows]

    def gen(name: str) -> np.ndarray:
        return case.column("gen", name)[network.gen_rows]

    def branch(name: str) -> np.ndarray:
        return case.column("branch", name)[network.branch_rows]

    found = {name.lower(): bus(name) / base for name in ("PD", "QD", "GS", "BS")}
    found |= {name.lower(): bus(name) for name in ("VMAX", "VMIN")}
    found["va_ref"] = np.deg2rad(bus("VA")[network.reference])
    for name in ("PMIN", "PMAX", "QMIN", "QMAX"):
        found[name.lower()] = _open(gen(name)) / base
    for name in ("BR_R", "BR_X", "BR_B"):
        found[name.lower()] = branch(name)
    tap = branch("TAP")
    found["tap"] = np.where(tap == 0, 1.0, tap)
    found["shift"] = np.deg2rad(branch("SHIFT"))
    found["rate"] = branch("RATE_A")[network.rated] / base
    low, high = (branch(name)[network.angle_limited] for name in ("ANGMIN", "ANGMAX"))
    found["angmin"] = np.where(_limited(low, -1), np.deg2rad(low), -np.inf)
    found["angmax"] = np.where(_limited(high, 1), np.deg2rad(high), np.inf)
    found["cost"] = _costs(case, network.gen_rows)
    if len(case.gencost) == 2 * len(case.gen):
        found["cost_q"] = _costs(case, network.gen_rows + len(case.gen))
    return found


def _open(limit: np.ndarray) -> np.ndarray:
    """Return limits of generators with infinity for the large numbers that stand for it."""
    return np.where(np.abs(limit) >= UNLIMITED, np.copysign(np.inf, limit), limit)


def _costs(case: Case, rows: np.ndarray) -> np.ndarray:
    lines = case.gencost[rows]
    count, polynomial = lines[:, 3].astype(int), lines[:, 0] != PIECEWISE
    width = _order(lines) + 1
    wide = np.zeros((len(rows), width))
    for k in range(width):
        # the coefficient of P^k stands at NCOST - 1 - k, highest power first
        these = np.flatnonzero(polynomial & (count > k))
        wide[these, k] = lines[these, 4 + count[these] - 1 - k]
    return wide * case.base_mva ** np.arange(width)


def _order(lines: np.ndarray) -> int:
    """Return the highest power that any polynomial row has, 2 at least."""
    order = 2
    for line in lines[(lines[:, 0] != PIECEWISE) & (lines[:, 3] > 3)]:
        count = int(line[3])
        used = np.flatnonzero(line[4 : 4 + count])
        order = max(order, count - 1 - int(used.min(initial=count - 1)))
    return order
