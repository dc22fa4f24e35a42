"""What several extensions do: entries of vectors, values per generator, buses and branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from headwater.core.errors import InputError

if TYPE_CHECKING:
    from ..model import Model
    from ..network import Network
    from ..program import Raw


def take(vector: Any, index: Sequence[int] | np.ndarray) -> ca.SX:
    """Return entries of a column, an empty column for no entry."""
    index = [int(k) for k in index]
    return ca.SX(vector)[index] if index else ca.SX(0, 1)


def column(values: Any) -> ca.DM:
    """Return numbers as a column of CasADi."""
    return ca.DM(np.asarray(values, dtype=float).ravel())


def dot(weights: Any, vector: ca.SX) -> ca.SX:
    """Return the sum of weighted entries."""
    return ca.dot(column(weights), vector)


def places(index: Sequence[int] | np.ndarray, rows: int) -> ca.DM:
    """Return the sparse (rows, k) matrix that puts entry k of a column at row index[k]."""
    count = len(index)
    pattern = ca.Sparsity.triplet(rows, count, [int(k) for k in index], list(range(count)))
    return ca.DM(pattern, np.ones(count))


def per_row(network: Network, value: Any, of: str = "gen") -> np.ndarray:
    """Return one number for each generator or bus in service.

    Parameters
    ----------
    network : Network
    value : float or list
        One for all, or one for each row of the case.
    of : str
        ``gen`` or ``bus``.

    Raises
    ------
    InputError
        If a list does not have one entry for each row.
    """
    rows = network.gen_rows if of == "gen" else network.bus_rows
    if np.ndim(value) == 0:
        return np.full(len(rows), float(value))
    count = len(getattr(network.source, of))
    if len(value) != count:
        raise InputError(
            None,
            f"structure, {network.source.name}",
            f"{len(value)} entries",
            f"{count}, one for each {of} row",
        )
    return np.asarray(value, dtype=float)[rows]


def spread(value: Any, count: int) -> np.ndarray:
    """Return `count` numbers from one for all, or from as many."""
    return np.broadcast_to(np.asarray(value, dtype=float), (count,)).copy()


def lengths(values: Mapping[str, Any], of: str, *names: str) -> Iterator[tuple[str, str, str]]:
    """Yield parameters that are lists of another length than the parameter `of`."""
    count = len(np.atleast_1d(values[of]))
    for name in names:
        if isinstance(values[name], list) and len(values[name]) != count:
            expected = f"one number, or {count} as for {of}"
            yield name, f"{len(values[name])} entries", expected


def keep(model: Model, owner: str, name: str, expression: Any, total: bool = False) -> None:
    """Have an expression evaluated at the solution, for the extras of an extension.

    A column becomes a list there, a `total` one number.
    """
    model.__dict__.setdefault("kept", {})[owner, name] = (ca.SX(expression), total)


def kept(model: Model, owner: str, name: str) -> ca.SX | None:
    """Return what another extension keeps; None where it is absent."""
    return model.__dict__.get("kept", {}).get((owner, name), (None, False))[0]


def reporter(owner: str) -> Callable[[Model, Raw], dict[str, Any]]:
    """Return the ``report`` of an extension: what it keeps, as numbers or lists."""

    def report(model: Model, raw: Raw) -> dict[str, Any]:
        """Return the numbers of this extension at a solution."""
        found = {}
        for (whose, name), (expression, total) in model.__dict__.get("kept", {}).items():
            if whose == owner:
                values = np.asarray(raw.value(expression)).ravel()
                found[name] = float(values[0]) if total else values.tolist()
        return found

    return report


def bus_index(network: Network, number: int, where: str) -> int:
    """Return the internal number of a bus.

    Raises
    ------
    InputError
        If the case has no such bus, or it is isolated.
    """
    try:
        return network.bus_index(number)
    except KeyError:
        raise InputError(
            None,
            f"unknown_bus, {where}",
            f"bus {number}",
            f"a bus in service of {network.source.name}",
        ) from None


def branch_indices(
    network: Network, wanted: str | Sequence[Mapping[str, int]], where: str
) -> np.ndarray:
    """Return the internal numbers of branches given by their ends; of all for a word.

    A branch that is out of service is left out: it can neither fail nor be opened.

    Raises
    ------
    InputError
        If the case has no such branch.
    """
    if isinstance(wanted, str):
        return np.arange(network.nl)
    ends = network.source.branch[["F_BUS", "T_BUS"]].to_numpy(int)
    inside = {int(row): k for k, row in enumerate(network.branch_rows)}
    found: list[int] = []
    for one in wanted:
        pair = {one["fbus"], one["tbus"]}
        rows = [k for k, (f, t) in enumerate(ends) if {int(f), int(t)} == pair]
        if "circuit" in one:
            rows = rows[one["circuit"] - 1 : one["circuit"]]
        if not rows:
            name = f"branch {one['fbus']}-{one['tbus']}"
            raise InputError(
                None, f"unknown_branch, {where}", name, f"a branch of {network.source.name}"
            )
        found += [inside[k] for k in rows if k in inside]
    return np.asarray(sorted(set(found)), dtype=int)


def branch_names(network: Network, index: Sequence[int] | np.ndarray) -> list[str]:
    """Return branches as ``from-to`` in the file's bus numbers, ``(row)`` where parallel."""
    ends = network.source.branch[["F_BUS", "T_BUS"]].to_numpy(int)
    pairs = [frozenset(map(int, e)) for e in ends]
    names = []
    for k in network.branch_rows[np.asarray(index, dtype=int)]:
        twin = f" (row {k + 1})" if pairs.count(pairs[k]) > 1 else ""
        names.append(f"{ends[k][0]}-{ends[k][1]}{twin}")
    return names
