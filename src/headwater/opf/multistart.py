"""The best of several local optima of a nonlinear program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .case import Case
from .engine import Engine, Options, Solution
from .network import network_of

FAR = 10.0  # p.u.: stands for a limit that is none
SPREAD = 0.3  # radians around the reference


def starts(case: Case, count: int, seed: int) -> list[dict[str, np.ndarray]]:
    """Return random points within the limits: ``vm va pg qg``, p.u. and radians."""
    values, network = network_of(case).values(), network_of(case)
    rng = np.random.default_rng(np.random.SeedSequence(seed))

    def between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        return rng.uniform(np.maximum(low, -FAR), np.minimum(high, FAR))

    reference = values["va_ref"][network.island]
    return [
        {
            "vm": between(values["vmin"], values["vmax"]),
            "va": reference + rng.uniform(-SPREAD, SPREAD, network.nb),
            "pg": between(values["pmin"], values["pmax"]),
            "qg": between(values["qmin"], values["qmax"]),
        }
        for _ in range(count)
    ]


def multistart(
    case: Case,
    structure: Mapping[str, Any] | None = None,
    options: Options | None = None,
    count: int = 8,
    seed: int = 0,
) -> tuple[Solution, list[float]]:
    """Solve from the usual start and from random ones.

    Parameters
    ----------
    case, structure, options
        As for `headwater.opf.engine.solve`.
    count : int
        Random starts.
    seed : int

    Returns
    -------
    Solution
        The cheapest optimum, that of the usual start where none is cheaper by more than 1e-7.
    list of float
        Distinct optima found, $/h, ascending; two that differ by less than 1e-6 count as one.
    """
    engine = Engine(case, structure, options)
    best = engine.solve()
    found = [best.objective] if best.objective is not None else []
    for start in starts(case, count, seed):
        other = engine.solve(start=start)
        if other.objective is None:
            continue
        found.append(other.objective)
        if best.objective is None or other.objective < best.objective - 1e-7 * abs(best.objective):
            best = other
    distinct: list[float] = []
    for value in sorted(found):
        if not distinct or value - distinct[-1] > 1e-6 * max(1.0, abs(value)):
            distinct.append(value)
    return best, distinct
