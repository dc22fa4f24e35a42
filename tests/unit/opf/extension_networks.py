"""Networks of one, two and three buses whose optimum can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd

from headwater.opf.case import BRANCH, BUS, GEN, Case
from headwater.opf.engine import Options, Solution, solve


def network(loads, units, lines=(), base=100.0, v=(0.9, 1.1), name="small"):
    """Return a case.

    loads: PD or (PD, QD) of each bus, MW; bus 1 is the reference.
    units: dicts with bus, pmax, c1 and perhaps pmin, c2, c0, qmax, qmin, status.
    lines: dicts with f, t and perhaps x, r, rate, tap, shift, status.
    """
    bus = pd.DataFrame(0.0, index=range(len(loads)), columns=list(BUS))
    bus["BUS_I"] = np.arange(1.0, len(loads) + 1)
    bus["BUS_TYPE"] = [3.0] + [1.0] * (len(loads) - 1)
    demand = np.array([load if np.ndim(load) else (load, 0.0) for load in loads], dtype=float)
    bus["PD"], bus["QD"] = demand[:, 0], demand[:, 1]
    bus["VM"], bus["BASE_KV"], bus["VMIN"], bus["VMAX"] = 1.0, 110.0, v[0], v[1]
    gen = pd.DataFrame(0.0, index=range(len(units)), columns=list(GEN))
    cost = np.zeros((len(units), 7))
    cost[:, 0], cost[:, 3] = 2, 3
    for k, unit in enumerate(units):
        known = {"bus": "GEN_BUS", "pmax": "PMAX", "pmin": "PMIN", "pg": "PG", "mbase": "MBASE"}
        known |= {"qmax": "QMAX", "qmin": "QMIN", "status": "GEN_STATUS"}
        for key, value in ({"qmax": 999.0, "qmin": -999.0, "status": 1} | unit).items():
            if key in known:
                gen.loc[k, known[key]] = float(value)
        cost[k, 4:] = unit.get("c2", 0.0), unit["c1"], unit.get("c0", 0.0)
        cost[k, 1:3] = unit.get("startup", 0.0), unit.get("shutdown", 0.0)
    branch = pd.DataFrame(0.0, index=range(len(lines)), columns=list(BRANCH))
    for k, line in enumerate(lines):
        line = {"x": 0.1, "r": 0.0, "rate": 0.0, "tap": 0.0, "shift": 0.0, "status": 1} | line
        known = {"f": "F_BUS", "t": "T_BUS", "x": "BR_X", "r": "BR_R", "rate": "RATE_A"}
        known |= {"tap": "TAP", "shift": "SHIFT", "status": "BR_STATUS"}
        for key, value in line.items():
            branch.loc[k, known[key]] = float(value)
    branch["ANGMIN"], branch["ANGMAX"] = -360.0, 360.0
    return Case(name, base, bus, gen, branch, cost)


def two_buses(load=150.0, rate=100.0, **line):
    """Return a cheap unit (10 $/MWh) at bus 1, a dear one (30) at bus 2, the load at bus 2.

    With the default numbers 100 MW come over the line: 100 * 10 + 50 * 30 = 2500 $/h.
    """
    units = [{"bus": 1, "pmax": 300, "c1": 10}, {"bus": 2, "pmax": 300, "c1": 30}]
    return network([0, load], units, [{"f": 1, "t": 2, "rate": rate} | line])


def one_bus(load, *units):
    """Return units and a load at bus 1; a lossless line to an empty bus 2 carries nothing."""
    empty = 0.0 if np.ndim(load) == 0 else (0.0, 0.0)
    return network([load, empty], [{"bus": 1} | u for u in units], [{"f": 1, "t": 2}])


def answer(case, *items, formulation="DCOPF", options=None) -> Solution:
    """Return the optimal solution with the extensions given as dicts."""
    found = attempt(case, *items, formulation=formulation, options=options)
    assert found.status == "optimal", [found.status, *(f.message for f in found.findings)]
    return found


def attempt(case, *items, formulation="DCOPF", options=None) -> Solution:
    """Return what the engine makes of a case with extensions."""
    return solve(case, with_items(formulation, *items), options or Options())


def with_items(formulation, *items):
    """Return a structure with every item in its group."""
    from headwater.opf.extensions import REGISTRY
    from headwater.opf.structure import allowed_operations

    structure = {"formulation": formulation, "objective": [], "constraints": [], "variables": []}
    for item in items:
        module = REGISTRY[item["name"]]
        structure[module.GROUP].append({"op": allowed_operations(module)[0]} | item)
    return structure
