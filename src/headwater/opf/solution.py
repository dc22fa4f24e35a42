"""What a solve gives: status, objective, tables in physical units, prices, violations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from .findings import Finding

if TYPE_CHECKING:
    import xarray as xr

STATUSES = (
    "optimal",
    "infeasible",
    "unbounded",
    "iteration_limit",
    "time_limit",
    "numerical_error",
)

KEYS = {"bus": ["BUS_I"], "gen": ["GEN_BUS"], "branch": ["F_BUS", "T_BUS"]}


@dataclass
class Solution:
    """A solved (or unsolved) optimal power flow.

    Attributes
    ----------
    status : str
        One of `STATUSES`.
    objective : float or None
        $/h, with a horizon $ over all of it; None unless optimal and verified.
    parts : dict of str to float
        The terms of the objective.
    bus : DataFrame (property)
        BUS_I, VM (p.u.), VA (degrees), P_LOAD, Q_LOAD (MW, MVAr), P_EXTRA, Q_EXTRA (injected by
        extensions), LMP ($/MWh), LMP_Q ($/MVArh), MU_VMAX, MU_VMIN ($/h per p.u.), VMAX, VMIN,
        IN_SERVICE; with a horizon also PERIOD. Every row of the case, NaN where out of service.
    gen : DataFrame (property)
        GEN_BUS, PG (MW), QG (MVAr), MU_PMAX, MU_PMIN ($/MWh), MU_QMAX, MU_QMIN, PMAX, PMIN,
        QMAX, QMIN, ON, IN_SERVICE.
    branch : DataFrame (property)
        F_BUS, T_BUS, PF, PT (MW), QF, QT (MVAr), SF, ST (MVA), RATE (limit, MVA), LOADING
        (percent of RATE_A), MU_SF, MU_ST ($/h per MVA), TAP, SHIFT, CLOSED, IN_SERVICE.
    extras : dict
        By extension.
    violations : dict of str to float
        Largest by family, physical units, from `headwater.opf.verify`.
    solver, iterations, times
        Who solved it, in how many iterations, in how many seconds (build_s, solve_s).
    """

    status: str
    objective: float | None = None
    parts: dict[str, float] = field(default_factory=dict)
    make_tables: Callable[[], dict[str, pd.DataFrame]] | None = field(default=None, repr=False)
    extras: dict[str, Any] = field(default_factory=dict)
    violations: dict[str, float] = field(default_factory=dict)
    solver: str = ""
    iterations: int = 0
    findings: list[Finding] = field(default_factory=list)
    times: dict[str, float] = field(default_factory=dict)

    @property
    def optimal(self) -> bool:
        """Whether there is an objective to be trusted."""
        return self.status == "optimal" and self.objective is not None

    @property
    def bus(self) -> pd.DataFrame:
        """Results of buses."""
        return self.tables()["bus"]

    @property
    def gen(self) -> pd.DataFrame:
        """Results of generators."""
        return self.tables()["gen"]

    @property
    def branch(self) -> pd.DataFrame:
        """Results of branches."""
        return self.tables()["branch"]

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables by name; made when they are asked for, empty without a solution."""
        kept = self.__dict__.get("_tables")
        if kept is None:
            empty = {name: pd.DataFrame() for name in KEYS}
            kept = self.__dict__["_tables"] = self.make_tables() if self.make_tables else empty
        return dict(kept)

    def __getstate__(self) -> dict[str, Any]:
        """Go to another process with the tables, not with what makes them."""
        return self.__dict__ | {"_tables": self.tables(), "make_tables": None}

    def to_json(self) -> dict[str, Any]:
        """Return all but the tables as plain data, without times."""
        return {
            "status": self.status,
            "objective": self.objective,
            "parts": self.parts,
            "solver": self.solver,
            "iterations": self.iterations,
            "violations": self.violations,
            "findings": [f.as_dict() | {"message": f.message} for f in self.findings],
            "extras": _plain(self.extras),
        }


def _plain(value: Any) -> Any:
    """Return tables and arrays as lists; numbers that are none become null."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, pd.DataFrame):
        return [_plain(row) for row in value.to_dict("records")]
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def dataset(solutions: Sequence[Solution], ids: Sequence[str]) -> xr.Dataset:
    """Return single-period solutions of one network as a Dataset.

    Returns
    -------
    Dataset
        Dimensions instance, bus, gen, branch; one variable per column, NaN where a solution
        does not have it; ``objective`` and ``status`` by instance.

    Raises
    ------
    ValueError
        If the solutions are of networks with different rows.
    """
    import xarray as xr

    variables: dict[str, Any] = {
        "objective": (
            "instance",
            np.array([np.nan if s.objective is None else s.objective for s in solutions]),
        ),
        "status": ("instance", np.array([s.status for s in solutions], dtype="U16")),
    }
    for name, keys in KEYS.items():
        tables = [getattr(s, name) for s in solutions]
        filled = [t for t in tables if len(t)]
        if len({len(t) for t in filled}) > 1:
            raise ValueError(f"solutions with different numbers of {name} rows")
        first = filled[0] if filled else pd.DataFrame(columns=keys)
        for key in keys:
            variables[f"{name}_{key}"] = (name, first[key].to_numpy(dtype=float).astype(int))
        columns = dict.fromkeys(c for t in filled for c in t.columns if c not in keys)
        for column in columns:
            empty = np.full(len(first), np.nan)
            values = [
                t[column].to_numpy(dtype=float) if column in t.columns else empty for t in tables
            ]
            variables[f"{name}_{column}"] = (("instance", name), np.array(values))
    return xr.Dataset(variables, coords={"instance": np.array(list(ids), dtype=str)})
