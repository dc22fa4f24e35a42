"""Reserve requirements that bind and can be met."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .system import Point, System
from .values import nice

if TYPE_CHECKING:
    from .structures import Drawn

CAP_STEPS = np.array([0.05, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5])


def spinning(s: System, p: Point, rng: Any, f: str, level: int) -> Drawn | None:
    """Spinning reserve of 5 to 30 percent of demand; priced where it would not bind."""
    return _reserve(s, p, rng, "spinning_reserve_requirement")


def regulation(s: System, p: Point, rng: Any, f: str, level: int) -> Drawn | None:
    """Regulation-up of 5 to 30 percent of demand; priced where it would not bind."""
    return _reserve(s, p, rng, "regulation_up_requirement")


def _reserve(s: System, p: Point, rng: Any, name: str) -> Drawn | None:
    from .structures import Drawn, item

    found = sizes(s, p, rng)
    if found is None:
        return None
    cap, need, binds = found
    drawn = Drawn(constraints=[item(name, unit_cap_mw=cap, requirement_mw=need)])
    if not binds or rng.random() < 0.15:
        price = nice(float(rng.uniform(0.02, 0.15)) * p.cost / need, 2)
        drawn.objective.append(item("real_reserve_cost", price=price))
    return drawn


def sizes(s: System, p: Point, rng: Any) -> tuple[float, float, bool] | None:
    """Return cap of a unit and requirement (MW), and whether the requirement binds.

    The units can hold `most` at any output, ``sum min(cap, PMAX)`` but no more than capacity
    less demand; at the unmodified optimum they have ``sum min(cap, PMAX - p)``. A requirement
    between the two binds.
    """
    high = s.case.gen["PMAX"].to_numpy()[s.gen_on]
    room = np.maximum(high - p.pg[s.gen_on], 0)
    high = np.maximum(high, 0)
    spare = high.sum() - s.demand
    most = min(0.3, 0.85 * spare / s.demand)
    if most <= 0:
        return None
    need = nice(float(rng.uniform(min(0.05, 0.3 * most), most)) * s.demand, 2)
    scale = float(high.max())
    options = []
    for cap in (nice(scale * step, 2) for step in CAP_STEPS):
        if need <= 0.93 * min(float(np.minimum(cap, high).sum()), spare):
            options.append((cap, need > 1.02 * float(np.minimum(cap, room).sum())))
    binding = [o for o in options if o[1]]
    options = binding or options
    if not options:
        return None
    cap, binds = options[int(rng.integers(len(options)))]
    return cap, need, binds
