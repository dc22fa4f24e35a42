"""Other starts for a nonlinear program that fails, in a fixed order.

1. the middle of all bounds; 2. angles and dispatch of the DC problem; 3. all voltages 1 p.u. and
all angles equal; 4. the point that comes closest to feasibility (`headwater.opf.elastic`). A
program that is infeasible from the fourth start, too, is called so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .findings import Finding
from .program import Raw
from .solve_linear import Linear
from .solve_nlp import Nlp

if TYPE_CHECKING:
    from .build import Built
    from .engine import Options

FAILED = ("infeasible", "numerical_error", "iteration_limit", "unbounded")
Start = Mapping[str, np.ndarray]


def climb(
    built: Built,
    solver: Any,
    p: np.ndarray,
    options: Options,
    structure: Mapping[str, Any],
    start: Start | None,
) -> tuple[Raw, list[Finding]]:
    """Solve, from other starts where the first one fails.

    Returns
    -------
    Raw
        The first result that is optimal, otherwise that of the last start.
    list of Finding
        A note where the first start did not do.
    """
    if isinstance(solver, Linear):
        raw = solver.solve(p)
        if raw.status == "numerical_error" and not any(built.program.integer):
            # a cost that is not convex, for example: a local optimum, and said so
            raw = Nlp(built.program, *_settings(options)).solve(p)
            return raw, [_note("local", "neither HiGHS nor Clarabel solved it: IPOPT did")]
        return raw, []
    raw = solver.solve(p, _names(built, start))
    if not isinstance(solver, Nlp) or raw.status not in FAILED or not options.retry:
        return raw, []
    for name, other in _starts(built, p, options, structure):
        again = solver.solve(p, other)
        raw.iterations += again.iterations
        if again.status == "optimal":
            again.iterations = raw.iterations
            return again, [_note("retried", f"solved from another start ({name})")]
        again.iterations = raw.iterations
        raw = again
    return raw, []


def _settings(options: Options) -> tuple[float, int, float | None]:
    return options.violation, options.max_iterations, options.time_limit_s


def _note(code: str, text: str) -> Finding:
    return Finding("status", code, "solver", text)


def _names(built: Built, start: Start | None) -> Start | None:
    """Return a start by the names of all periods."""
    if start is None:
        return None
    known = built.program.names
    prefixes = [m.program.prefix for m in built.models]
    return {x + name: v for name, v in start.items() for x in prefixes if x + name in known}


def _starts(
    built: Built, p: np.ndarray, options: Options, structure: Mapping[str, Any]
) -> Iterator[tuple[str, Start]]:
    n = built.network
    if structure["formulation"] == "ACOPF":
        linear = _linear(built, options)
        if linear is not None:
            yield "dispatch of the DC problem", _names(built, linear) or {}
        flat = {"vm": np.ones(n.nb), "va": np.zeros(n.nb)}
        yield "voltages of 1 p.u.", _names(built, flat) or {}
    from .elastic import nearest_point

    point = nearest_point(built, p, options, structure)
    if point is not None:
        yield "the point nearest to feasibility", point.start


def _linear(built: Built, options: Options) -> dict[str, np.ndarray] | None:
    """Return angles and dispatch of the plain DC problem, None where it has none."""
    from .build import build
    from .structure import empty

    dc = build(built.network.source, empty("DCOPF"), options, built.network)
    raw = dc.solver(options).solve(dc.program.values())
    if raw.status != "optimal":
        return None
    found = dc.program.split(raw.x)
    return {"va": found["va"], "pg": found["pg"], "vm": np.ones(built.network.nb)}
