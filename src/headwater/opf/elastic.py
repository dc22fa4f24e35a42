"""The point that comes closest to feasibility: power may be missing or left over at every bus.

min sum_i (missing_i + over_i) real and reactive, all other constraints as they are
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

if TYPE_CHECKING:
    from .build import Built
    from .engine import Options
    from .model import Model

FEASIBLE = 1e-6
NAMES = ("missing_p", "over_p", "missing_q", "over_q")


@dataclass(frozen=True)
class Point:
    """Where the elastic program ended.

    Attributes
    ----------
    start : dict
        Values of the variables of the original program.
    missing : dict of str to ndarray (nb)
        By `NAMES`, per unit, the sum over periods.
    """

    start: dict[str, np.ndarray]
    missing: dict[str, np.ndarray]

    @property
    def feasible(self) -> bool:
        """Whether nothing is missing."""
        return all(v.max(initial=0.0) <= FEASIBLE for v in self.missing.values())


def nearest_point(
    built: Built, p: np.ndarray, options: Options, structure: Mapping[str, Any]
) -> Point | None:
    """Return the point, None where even the elastic program has none."""
    from dataclasses import replace

    from .build import build
    from .solve_nlp import Nlp

    network = built.network
    soft = build(network.source, structure, options, network, _soften)
    program = soft.program
    program.parts = {}
    symbols = [s for m in soft.models for s in m.elastic.values()]  # type: ignore[attr-defined]
    program.cost("elastic", ca.sum1(ca.vertcat(*symbols)))
    values = program.values(_by_name(built, p))  # rows added by `refine` are not there
    solver = soft.solver(replace(options, violation=1e-8))
    raw = solver.solve(values)
    if raw.status != "optimal" and isinstance(solver, Nlp):
        raw = solver.solve(values, rule="careful")
    if raw.status != "optimal":
        return None
    found = program.split(raw.x)
    missing = {
        name: sum(
            found[m.program.prefix + name]
            for m in soft.models
            if name in m.elastic  # type: ignore[attr-defined]
        )
        for name in soft.models[0].elastic  # type: ignore[attr-defined]
    }
    start = {k: v for k, v in found.items() if k in built.program.names}
    return Point(start, missing)


def _by_name(built: Built, p: np.ndarray) -> dict[str, np.ndarray]:
    """Return the parameters of a program by name."""
    defaults = built.program.default
    ends = np.cumsum([v.size for v in defaults.values()])
    parts = np.split(p, ends[:-1])
    return {
        name: part.reshape(v.shape, order="F")
        for (name, v), part in zip(defaults.items(), parts, strict=True)
    }


def _soften(models: list[Model]) -> None:
    for model in models:
        n = model.network
        names = NAMES if model.qg is not None else NAMES[:2]
        added = {k: model.program.variable(k, n.nb, 0.0, start=0.0) for k in names}
        model.inject_p(range(n.nb), added["missing_p"] - added["over_p"])
        if model.qg is not None:
            model.inject_q(range(n.nb), added["missing_q"] - added["over_q"])
        model.elastic = added  # type: ignore[attr-defined]
