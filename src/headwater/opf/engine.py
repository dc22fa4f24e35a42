"""Optimal power flow: built once for a structure, solved for any numbers, checked every time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import verify
from .build import Built, build, key, refine
from .case import Case, check_case
from .diagnose import UNKNOWN, diagnosis
from .elastic import nearest_point
from .findings import Finding, stop_on_errors
from .ladder import climb
from .network import Network, network_of
from .program import Raw
from .results import Numbers, evaluate, tables
from .solution import Solution
from .solve_nlp import Nlp

CONVENTIONS = ("matpower", "powermodels")
LOADS = ("free", "constant_pf")
KEPT = 16  # programs of other topologies that an engine keeps
REFINEMENTS = 50
COST_AGREES = 1e-6

__all__ = ["Engine", "Options", "Solution", "solve"]


@dataclass(frozen=True)
class Options:
    """How to model and to solve.

    Attributes
    ----------
    violation : float
        Tolerance of the solver, p.u.; a result counts if it violates nothing by ten times more.
    dc_convention : str
        ``matpower`` or ``powermodels``.
    dispatchable_loads : str
        ``free`` or ``constant_pf`` (reactive power follows real power, as in MATPOWER).
    time_limit_s : float or None
        Of one solver run.
    max_iterations : int
    retry : bool
        Whether a nonlinear program that fails is tried from other starts.
    warm_start : bool
        Whether an engine solves its own case first and begins every other one there. The result
        does not depend on what was solved in between.
    """

    violation: float = 1e-8
    dc_convention: str = "matpower"
    dispatchable_loads: str = "free"
    time_limit_s: float | None = 300.0
    max_iterations: int = 500
    retry: bool = True
    warm_start: bool = True

    def __post_init__(self) -> None:
        if self.dc_convention not in CONVENTIONS:
            raise ValueError(f"dc_convention {self.dc_convention!r} is none of {CONVENTIONS}")
        if self.dispatchable_loads not in LOADS:
            raise ValueError(f"dispatchable_loads {self.dispatchable_loads!r} is none of {LOADS}")


class Engine:
    """Solves cases with one structure.

    Parameters
    ----------
    case : Case
        The first case; others need the same rows, but may differ in every number and status.
    structure : mapping, optional
        ``formulation`` and lists ``objective``, ``constraints``, ``variables``; plain ACOPF by
        default.
    options : Options, optional

    Raises
    ------
    InputError
        For an error in the case or in the structure.
    """

    def __init__(
        self,
        case: Case,
        structure: Mapping[str, Any] | None = None,
        options: Options | None = None,
    ) -> None:
        from .structure import check, empty

        self.case = case
        self.structure = empty() if structure is None else {**empty(), **structure}
        self.options = options or Options()
        stop_on_errors(check(self.structure, case))
        self._built: dict[tuple, Built] = {}
        self._reads = False
        self._near: tuple[Built, Raw] | None = None

    def solve(
        self, case: Case | None = None, start: Mapping[str, np.ndarray] | None = None
    ) -> Solution:
        """Solve with the numbers of a case.

        Parameters
        ----------
        case : Case, optional
            With the same rows as the first one, which is the default.
        start : mapping, optional
            Where IPOPT begins, by variable (``va vm pg qg``), p.u. and radians.
        """
        case = self.case if case is None else case
        found = check_case(case)
        stop_on_errors(found)
        began = time.perf_counter()
        network = network_of(case)
        built = self.built(network)
        p = built.values(case, network)
        solver = built.solver(self.options)
        middle = time.perf_counter()
        near = self._optimum(built, solver, case) if start is None else None
        raw, notes = climb(built, solver, p, self.options, self.structure, start, near)
        if case is self.case and start is None:
            self._near = built, raw
        for _ in range(REFINEMENTS):
            if raw.status != "optimal" or not refine(built, raw):
                break
            p = built.values(case, network)
            raw, notes = climb(
                built, built.solver(self.options), p, self.options, self.structure, start
            )
        solution = self._solution(built, case, network, raw)
        solution.findings = [*found, *network.findings, *notes, *solution.findings]
        if raw.status != "optimal":
            solution.findings += self._diagnosis(built, case, network, p, raw)
        solution.times = {"build_s": middle - began, "solve_s": time.perf_counter() - middle}
        return solution

    def _optimum(self, built: Built, solver: Any, case: Case) -> Raw | None:
        """Return the optimum of the engine's own case, where a program can begin there."""
        if not self.options.warm_start or case is self.case or not isinstance(solver, Nlp):
            return None
        if self._near is None:
            own = network_of(self.case)
            first = self.built(own)
            values = first.values(self.case, own)
            raw, _ = climb(first, first.solver(self.options), values, self.options, self.structure)
            self._near = first, raw
        near = self._near[1] if self._near[0] is built else None
        return near if near is not None and near.status == "optimal" and near.fits() else None

    def _diagnosis(
        self, built: Built, case: Case, network: Network, p: np.ndarray, raw: Raw
    ) -> list[Finding]:
        """Return what can be said about a problem without a solution."""
        values = [built.program.evaluate(m.pd, raw.x, p) for m in built.models]
        loads = np.max(values, axis=0) * case.base_mva
        plain = diagnosis(case, network, raw.status, None, loads)
        if raw.status != "infeasible" or plain[0].found != UNKNOWN:
            return plain
        point = nearest_point(built, p, self.options, self.structure)
        return diagnosis(case, network, raw.status, point, loads)

    def built(self, network: Network) -> Built:
        """Return the program for a network, from memory where there is one."""
        place = key(network, self._reads)
        if place in self._built:
            self._built[place] = self._built.pop(place)
            return self._built[place]
        built = build(network.source, self.structure, self.options, network)
        if built.reads and not self._reads:
            self._reads = True
            self._built.clear()
        self._built[key(network, self._reads)] = built
        while len(self._built) > KEPT:
            self._built.pop(next(iter(self._built)))
        return built

    def _solution(self, built: Built, case: Case, network: Network, raw: Raw) -> Solution:
        solution = Solution(raw.status, solver=raw.solver, iterations=raw.iterations)
        if not np.isfinite(raw.x).all():
            return solution
        parts, periods = evaluate(built, raw)
        solution.violations = self._violations(built, case, network, raw, periods, parts)
        if raw.status != "optimal":
            return solution
        worst = verify.worst_pu(solution.violations, case.base_mva)
        cost_off = solution.violations.get("cost_relative", 0.0)
        if worst > 10 * self.options.violation or cost_off > COST_AGREES:
            solution.status = "numerical_error"
            solution.findings.append(_unverified(case, solution.violations))
            return solution
        solution.objective = float(sum(parts.values()))
        solution.parts = parts
        solution.make_tables = lambda: tables(built, case, network, raw, periods)
        solution.extras = _extras(built, raw)
        return solution

    def _violations(
        self,
        built: Built,
        case: Case,
        network: Network,
        raw: Raw,
        periods: list[Numbers],
        parts: Mapping[str, float],
    ) -> dict[str, float]:
        worst: dict[str, float] = {}
        cost = 0.0
        for model, numbers in zip(built.models, periods, strict=True):
            checked = verify.check(case, network, numbers, model.formulation, model.convention)
            for name, value in checked.items():
                worst[name] = max(worst.get(name, 0.0), value)
            cost += model.hours * verify.generation_cost(case, network, numbers)
        worst |= verify.program_violations(raw)
        if all(m.generation for m in built.models):
            ours = parts.get("generation", 0.0) + parts.get("reactive_generation", 0.0)
            worst["cost_relative"] = abs(ours - cost) / max(abs(cost), 1.0)
        return worst


def _unverified(case: Case, violations: Mapping[str, float]) -> Finding:
    worst = ", ".join(f"{k} {v:.3g}" for k, v in violations.items() if v)
    return Finding(
        "status",
        "not_verified",
        case.name,
        f"violations {worst}",
        "less than ten times the tolerance",
        "The solver says optimal; the check of its result does not agree, so none is given.",
    )


def _extras(built: Built, raw: Raw) -> dict[str, Any]:
    """Return what every extension reports; a list over the periods of a horizon."""
    found: dict[str, Any] = {}
    for module, _ in built.items:
        if hasattr(module, "report"):
            reports = [module.report(model, raw) for model in built.models]
            if any(r is not None for r in reports):
                found[module.NAME] = reports[0] if len(reports) == 1 else reports
    return found


def solve(
    case: Case, structure: Mapping[str, Any] | None = None, options: Options | None = None
) -> Solution:
    """Build and solve once; see `Engine`."""
    return Engine(case, structure, options).solve()
