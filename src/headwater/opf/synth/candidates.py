"""Objects and fields that a change of a request may be about: they exist, and they are used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..case import POLYNOMIAL
from ..fields import FIELDS, is_used
from .system import System

COSTS = {f"COST_C{k}": k for k in range(4)}
FAR = 1e9


@dataclass(frozen=True)
class Candidate:
    """A field of an object.

    Attributes
    ----------
    component, field : str
    key : tuple of (str, int)
        ``bus``, or ``fbus`` and ``tbus`` and perhaps ``circuit``.
    rows : tuple of int
        Rows of the table that the key names.
    values : tuple of float
        Values of the rows in the case.
    """

    component: str
    field: str
    key: tuple[tuple[str, int], ...]
    rows: tuple[int, ...]
    values: tuple[float, ...]

    @property
    def default(self) -> float:
        """Value in the case; NaN where the rows differ."""
        return self.values[0] if len(set(self.values)) == 1 else float("nan")

    @property
    def item(self) -> dict[str, Any]:
        """The change without its value, as records write it."""
        return {"component": self.component, **dict(self.key), "field": self.field}

    @property
    def parallel(self) -> bool:
        """Whether the object is one of several circuits."""
        return len(self.key) == 3


def candidates(
    system: System, formulation: str, dc_convention: str = "matpower"
) -> dict[str, list[Candidate]]:
    """Return the candidates of a formulation by field, without fields that have none.

    A field whose default is zero is left out where a multiple of it or a direction would mean
    nothing, as is what is out of service and a cost that is no polynomial.
    """
    key = ("candidates", formulation, dc_convention)
    if key in system.memory:
        return system.memory[key]
    found: dict[str, list[Candidate]] = {}
    for one in (*_bus(system), *_gen(system), *_branch(system)):
        if is_used(FIELDS[one.component, one.field], formulation, dc_convention):
            found.setdefault(one.field, []).append(one)
    system.memory[key] = found
    return found


def _bus(system: System) -> Iterator[Candidate]:
    bus = system.case.bus
    for row in np.flatnonzero(system.alive):
        key = (("bus", int(bus["BUS_I"].iat[row])),)
        for field in ("PD", "QD", "GS", "BS", "VMAX", "VMIN"):
            value = float(bus[field].iat[row])
            if value != 0 and not (field == "PD" and value < 0):
                yield Candidate("bus", field, key, (int(row),), (value,))


def _gen(system: System) -> Iterator[Candidate]:
    gen = system.case.gen
    number = gen["GEN_BUS"].to_numpy()
    for bus in sorted({int(b) for b in number[system.gen_on]}):
        rows = np.flatnonzero(number == bus)
        if not system.gen_on[rows].all():
            continue
        where = ("gen", (("bus", bus),), tuple(map(int, rows)))
        table = {f: gen[f].to_numpy()[rows] for f in ("PMAX", "PMIN", "QMAX", "QMIN")}
        yield from _limits(where, table)
        if (table["PMAX"] > 0).all():
            yield _one(where, "GEN_STATUS", np.ones(len(rows)))
            yield from _costs(system, where, rows)


def _limits(where: tuple, table: dict[str, np.ndarray]) -> Iterator[Candidate]:
    for field, values in table.items():
        if not (np.abs(values) < FAR).all():
            continue
        real = field in ("PMAX", "PMIN")
        room = table["PMAX"] - table["PMIN"] if real else table["QMAX"] - table["QMIN"]
        if (room > 0).all() and (not real or (table["PMAX"] > 0).all()):
            yield _one(where, field, values)


def _costs(system: System, where: tuple, rows: np.ndarray) -> Iterator[Candidate]:
    cost = system.case.gencost[rows]
    if not (cost[:, 0] == POLYNOMIAL).all():
        return
    for field, power in COSTS.items():
        count = cost[:, 3].astype(int)
        if (count > power).all():
            values = np.array([c[3 + n - power] for c, n in zip(cost, count, strict=True)])
            if (values > 0).all():
                yield _one(where, field, values)


def _one(where: tuple, field: str, values: np.ndarray) -> Candidate:
    component, key, rows = where
    return Candidate(component, field, key, rows, tuple(map(float, values)))


def _branch(system: System) -> Iterator[Candidate]:
    branch = system.case.branch
    names = branch[["F_BUS", "T_BUS"]].to_numpy(dtype=int)
    for row in np.flatnonzero(system.branch_on):
        row = int(row)
        key = (("fbus", int(names[row, 0])), ("tbus", int(names[row, 1])))
        twins = system.circuits[row]
        if len(twins) > 1:
            key = (*key, ("circuit", twins.index(row) + 1))
        value = {f: float(branch[f].iat[row]) for f in branch.columns}
        for field in _branch_fields(system, row, value):
            yield Candidate("branch", field, key, (row,), (value[field],))


def _branch_fields(system: System, row: int, value: dict[str, float]) -> Iterator[str]:
    yield from (f for f in ("BR_R", "BR_X", "BR_B", "RATE_A") if 0 < value[f] < FAR)
    if value["TAP"] != 0:
        yield from ("TAP", "SHIFT")
    yield from ("ANGMIN", "ANGMAX")
    if not system.bridges[row]:
        yield "BR_STATUS"
