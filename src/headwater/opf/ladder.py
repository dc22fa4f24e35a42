"""Other starts for a nonlinear program that fails, in a fixed order.

1. the middle of all bounds (before it the optimum of other numbers, where one is given); 2. the
same with a monotone barrier; 3. angles and dispatch of the DC problem; 4. all voltages 1 p.u. and
all angles equal; 5. the point that comes closest to feasibility (`headwater.opf.elastic`). What
the last start gives is the result.
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
    start: Start | None = None,
    near: Raw | None = None,
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
            text = "neither HiGHS nor Clarabel solved it, as for a cost that is not convex"
            return raw, [_note("local_optimum", text + ": IPOPT did, from one start")]
        return raw, []
    if not isinstance(solver, Nlp):
        return solver.solve(p), []
    raw = None
    for name, settings in _tries(built, p, options, structure, start, near):
        again = solver.solve(p, **settings)
        if raw is not None:
            again.iterations += raw.iterations
        raw = again
        if raw.status not in FAILED:
            notes = [] if name in ("", "warm") else [_note("retried", f"solved with {name}")]
            return raw, notes
        if not options.retry and name != "warm":
            break
    return raw, []  # type: ignore[return-value]


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


def _tries(
    built: Built,
    p: np.ndarray,
    options: Options,
    structure: Mapping[str, Any],
    start: Start | None,
    near: Raw | None,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what to try, one after another."""
    n = built.network
    if near is not None:
        yield "warm", {"near": near}
    yield "", {"start": _names(built, start)}
    yield "a monotone barrier", {"rule": "careful"}
    if structure["formulation"] == "ACOPF":
        linear = _linear(built, options)
        if linear is not None:
            yield "the dispatch of the DC problem", {"start": _names(built, linear)}
        flat = {"vm": np.ones(n.nb), "va": np.zeros(n.nb)}
        yield "voltages of 1 p.u.", {"start": _names(built, flat), "rule": "careful"}
    from .elastic import nearest_point

    point = nearest_point(built, p, options, structure)
    if point is not None and point.feasible:
        yield "the point nearest to feasibility", {"start": point.start, "rule": "careful"}


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
