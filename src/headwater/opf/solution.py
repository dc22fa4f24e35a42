"""What a solve gives: status, objective, tables in physical units, prices, violations."""

from __future__ import annotations

from collections.abc import Sequence
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


@dataclass
class Solution:
    """A solved (or unsolved) optimal power flow.

    Attributes
    ----------
    status : str
        One of `STATUSES`.
    objective : float or None
        $/h, summed over the periods; None unless optimal and verified.
    parts : dict of str to float
        The terms of the objective.
    bus : DataFrame
        BUS_I, VM (p.u.), VA (degrees), P_LOAD, Q_LOAD, P_EXTRA, Q_EXTRA (MW, MVAr), LMP
        ($/MWh), LMP_Q ($/MVArh), VMIN, VMAX, IN_SERVICE; with a horizon also PERIOD.
    gen : DataFrame
        GEN_BUS, PG, QG, PMIN, PMAX, QMIN, QMAX, IN_SERVICE.
    branch : DataFrame
        F_BUS, T_BUS, PF, QF, PT, QT, RATE (MVA), LOADING (percent), MU ($/MVA of its limit),
        CLOSED, IN_SERVICE.
    extras : dict
        By extension.
    violations : dict of str to float
        Largest by family, physical units, from `headwater.opf.verify`.
    solver, iterations, times
        Who solved it, in how many iterations, in how many seconds.
    """

    status: str
    objective: float | None = None
    parts: dict[str, float] = field(default_factory=dict)
    bus: pd.DataFrame = field(default_factory=pd.DataFrame)
    gen: pd.DataFrame = field(default_factory=pd.DataFrame)
    branch: pd.DataFrame = field(default_factory=pd.DataFrame)
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

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables by name."""
        return {"bus": self.bus, "gen": self.gen, "branch": self.branch}

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
            "extras": self.extras,
        }


def dataset(solutions: Sequence[Solution], ids: Sequence[str]) -> xr.Dataset:
    """Return single-period solutions of one network as a Dataset.

    Returns
    -------
    Dataset
        Dimensions instance, bus, gen, branch; one variable per column, NaN where a solution
        has no table; ``objective`` and ``status`` by instance.
    """
    import xarray as xr

    first = next((s for s in solutions if len(s.bus)), None)
    variables: dict[str, Any] = {
        "objective": (
            "instance",
            [np.nan if s.objective is None else s.objective for s in solutions],
        ),
        "status": ("instance", np.array([s.status for s in solutions], dtype="U16")),
    }
    for name, keys in (("bus", ["BUS_I"]), ("gen", ["GEN_BUS"]), ("branch", ["F_BUS", "T_BUS"])):
        model = getattr(first, name) if first else pd.DataFrame(columns=keys)
        for key in keys:
            variables[f"{name}_{key}"] = (name, model[key].to_numpy(dtype=float).astype(int))
        for column in model.columns.difference(keys, sort=False):
            empty = np.full(len(model), np.nan)
            values = [
                getattr(s, name)[column].to_numpy(dtype=float) if len(getattr(s, name)) else empty
                for s in solutions
            ]
            variables[f"{name}_{column}"] = (("instance", name), np.array(values))
    return xr.Dataset(variables, coords={"instance": np.array(list(ids), dtype=str)})
