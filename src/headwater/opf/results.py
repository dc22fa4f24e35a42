"""Tables of a solution in physical units: one row for each row of the case, in its order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
import pandas as pd

from .case import Case
from .network import Network

if TYPE_CHECKING:
    from .build import Built
    from .model import Model
    from .program import Raw

BUS_SYMBOLS = ("vm", "va", "w", "pd", "qd", "injection_p", "injection_q", "vmin", "vmax")
GEN_SYMBOLS = ("pg", "qg", "pmin", "pmax", "qmin", "qmax", "commitment")
BRANCH_SYMBOLS = ("re", "im", "pf", "pt", "qf", "qt", "closed", "tap", "shift", "limit")
Numbers = dict[str, np.ndarray | None]


def _symbols(model: Model) -> dict[str, Any]:
    names = (*BUS_SYMBOLS, *GEN_SYMBOLS, *BRANCH_SYMBOLS)
    found = {n: getattr(model, n, None) for n in names if n != "limit"}
    found["limit"] = model.rate - model.rate_margin + model.rate_slack
    return found


def evaluate(built: Built, raw: Raw) -> tuple[dict[str, float], list[Numbers]]:
    """Return the parts of the objective, and the numbers of every period, p.u. and radians."""
    program = built.program
    parts = list(program.parts)
    names = [{k: v for k, v in _symbols(m).items() if v is not None} for m in built.models]

    def make() -> ca.Function:
        columns = [ca.vertcat(*[ca.SX(program.parts[k]) for k in parts])] if parts else []
        columns += [ca.densify(ca.SX(v)) for found in names for v in found.values()]
        return ca.Function("outputs", [program.x, program.z, program.p], columns)

    if "outputs" not in built.cache:
        built.cache["outputs"] = make()
    z = program.lifted(raw.x, raw.p)
    values = [np.array(v).ravel() for v in built.cache["outputs"].call([raw.x, z, raw.p])]
    costs = dict(zip(parts, map(float, values[0]), strict=True)) if parts else {}
    rest, periods = iter(values[1 if parts else 0 :]), []
    for found in names:
        periods.append({k: next(rest) for k in found})
    return costs, periods


def _spread(n: int, rows: np.ndarray, values: Any, otherwise: float = np.nan) -> np.ndarray:
    wide = np.full(n, otherwise)
    if values is not None:
        wide[rows] = values
    return wide


def tables(
    built: Built, case: Case, network: Network, raw: Raw, periods: list[Numbers]
) -> dict[str, pd.DataFrame]:
    """Return the bus, gen and branch tables of a solution, periods below each other."""
    found: dict[str, list[pd.DataFrame]] = {"bus": [], "gen": [], "branch": []}
    duals = built.program.by_family(raw.row_duals)
    for model, numbers in zip(built.models, periods, strict=True):
        prices = _Prices(built, model, raw, duals, numbers)
        found["bus"].append(_bus(case, network, numbers, prices))
        found["gen"].append(_gen(case, network, numbers, prices))
        found["branch"].append(_branch(case, network, numbers, prices))
    if len(built.models) == 1:
        return {name: parts[0] for name, parts in found.items()}
    return {
        name: pd.concat([t.assign(PERIOD=float(k)) for k, t in enumerate(parts)], ignore_index=True)
        for name, parts in found.items()
    }


class _Prices:
    """Duals of one period, per MW, MVAr, MVA or p.u. and per hour."""

    def __init__(
        self, built: Built, model: Model, raw: Raw, duals: dict[str, np.ndarray], numbers: Numbers
    ) -> None:
        self.built, self.model, self.raw, self.numbers = built, model, raw, numbers
        self.duals, self.prefix = duals, model.program.prefix
        self.per_mw = 1.0 / (model.hours * built.network.base)

    def rows(self, family: str, scale: float = 1.0) -> np.ndarray | None:
        values = self.duals.get(self.prefix + family)
        return None if values is None or not len(values) else values * self.per_mw * scale

    def bounds(self, name: str) -> np.ndarray | None:
        """Return the duals of the bounds of a variable, $/h per p.u."""
        where = self.built.program.names.get(self.prefix + name)
        return None if where is None else self.raw.bound_duals[where] / self.model.hours

    def capacity(self, name: str) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Return what one MW more at the upper and at the lower limit of units is worth."""
        found = self.bounds(name)
        if found is None:
            return None, None
        upper, lower = np.maximum(-found, 0), np.maximum(found, 0)
        upper, lower = upper / self.built.network.base, lower / self.built.network.base
        if name == "pg":
            for family in ("capacity_up", "capacity_down"):
                rows = self.rows(family)
                if rows is not None and family == "capacity_up":
                    upper = upper + abs(rows)
                elif rows is not None:
                    lower = lower + abs(rows)
        return upper, lower

    def flows(self) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Return what one MVA more of limit is worth at both ends of the rated branches."""
        if self.model.formulation == "DCOPF":
            both = self.rows("flow")
            if both is not None:
                return np.maximum(-both, 0), np.maximum(both, 0)
            ends = self.rows("flow_from"), self.rows("flow_to")
            return tuple(None if e is None else abs(e) for e in ends)  # type: ignore[return-value]
        limit = self.numbers["limit"]
        if limit is None:
            return None, None
        # the rows limit the square: d/d(rate) = 2 rate d/d(rate^2)
        twice = 2 * limit[self.built.network.rated]
        ends = self.rows("flow_from"), self.rows("flow_to")
        return tuple(None if e is None else abs(e) * twice for e in ends)  # type: ignore[return-value]


def _bus(case: Case, network: Network, found: Numbers, prices: _Prices) -> pd.DataFrame:
    n, rows, base = len(case.bus), network.bus_rows, case.base_mva
    vm = found.get("vm")
    if vm is None and found.get("w") is not None:
        vm = np.sqrt(np.maximum(found["w"], 0))
    ac = found.get("qg") is not None
    lmp, lmp_q = prices.rows("balance_p"), prices.rows("balance_q")
    if lmp is not None and len(lmp) == 1:
        lmp = np.full(network.nb, lmp[0])
    mu_v = prices.bounds("vm")
    angle = None if found.get("va") is None else np.rad2deg(found["va"])
    table = {
        "BUS_I": case.column("bus", "BUS_I"),
        "VM": _spread(n, rows, vm if vm is not None else (1.0 if angle is not None else None)),
        "VA": _spread(n, rows, angle),
        "P_LOAD": _spread(n, rows, base * found["pd"]),
        "Q_LOAD": _spread(n, rows, base * found["qd"] if ac else None),
        "P_EXTRA": _spread(n, rows, base * found["injection_p"]),
        "Q_EXTRA": _spread(n, rows, base * found["injection_q"] if ac else None),
        "LMP": _spread(n, rows, lmp),
        "LMP_Q": _spread(n, rows, lmp_q),
        "MU_VMAX": _spread(n, rows, None if mu_v is None else np.maximum(-mu_v, 0)),
        "MU_VMIN": _spread(n, rows, None if mu_v is None else np.maximum(mu_v, 0)),
        "VMAX": _spread(n, rows, found.get("vmax") if ac else None),
        "VMIN": _spread(n, rows, found.get("vmin") if ac else None),
        "IN_SERVICE": _spread(n, rows, 1.0, 0.0),
    }
    return pd.DataFrame(table)


def _gen(case: Case, network: Network, found: Numbers, prices: _Prices) -> pd.DataFrame:
    n, rows, base = len(case.gen), network.gen_rows, case.base_mva
    ac = found.get("qg") is not None
    up, down = prices.capacity("pg")
    q_up, q_down = prices.capacity("qg") if ac else (None, None)
    on = found.get("commitment")
    table = {
        "GEN_BUS": case.column("gen", "GEN_BUS"),
        "PG": _spread(n, rows, base * found["pg"]),
        "QG": _spread(n, rows, base * found["qg"] if ac else None),
        "MU_PMAX": _spread(n, rows, up),
        "MU_PMIN": _spread(n, rows, down),
        "MU_QMAX": _spread(n, rows, q_up),
        "MU_QMIN": _spread(n, rows, q_down),
    }
    for name in ("pmax", "pmin", "qmax", "qmin"):
        used = name[0] == "p" or ac
        table[name.upper()] = _spread(n, rows, base * found[name] if used else None)
    table["ON"] = _spread(n, rows, 1.0 if on is None else np.round(on), 0.0)
    table["IN_SERVICE"] = _spread(n, rows, 1.0, 0.0)
    return pd.DataFrame(table)


def _branch(case: Case, network: Network, found: Numbers, prices: _Prices) -> pd.DataFrame:
    n, rows, base = len(case.branch), network.branch_rows, case.base_mva
    ends = case.branch[["F_BUS", "T_BUS"]].to_numpy()
    table: dict[str, Any] = {"F_BUS": ends[:, 0], "T_BUS": ends[:, 1]}
    for name in ("pf", "qf", "pt", "qt"):
        values = found.get(name)
        table[name.upper()] = _spread(n, rows, None if values is None else base * values)
    p, q = table["PF"], np.nan_to_num(table["QF"])
    table["SF"], table["ST"] = np.hypot(p, q), np.hypot(table["PT"], np.nan_to_num(table["QT"]))
    limit = found["limit"]
    limit = np.where(np.isfinite(limit), limit, np.nan)
    table["RATE"] = _spread(n, rows, base * limit)
    rate = case.column("branch", "RATE_A")
    rated = _spread(n, rows[network.rated], rate[rows[network.rated]])
    table["LOADING"] = 100 * np.fmax(table["SF"], table["ST"]) / rated
    mu_f, mu_t = prices.flows()
    chosen = rows[network.rated]
    flows = found.get("pf") is not None
    table["MU_SF"] = _spread(n, chosen, mu_f) if flows else _spread(n, rows, None)
    table["MU_ST"] = _spread(n, chosen, mu_t) if flows else _spread(n, rows, None)
    if flows and mu_f is not None:
        for name in ("MU_SF", "MU_ST"):
            unrated = np.setdiff1d(rows, chosen)
            table[name][unrated] = 0.0
    table["TAP"] = _spread(n, rows, found["tap"])
    table["SHIFT"] = _spread(n, rows, np.rad2deg(found["shift"]))
    table["CLOSED"] = _spread(n, rows, np.round(found["closed"]), 0.0)
    table["IN_SERVICE"] = _spread(n, rows, 1.0, 0.0)
    return pd.DataFrame(table)
