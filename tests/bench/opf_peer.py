"""AC optimum of a case by PYPOWER or pandapower, in an environment of their own.

python tests/bench/opf_peer.py {pypower,pandapower} CASE.m  ->  one JSON line
"""

import json
import sys
import time

from matpowercaseframes import CaseFrames

WIDTH = {"bus": 13, "gen": 21, "branch": 13}


def tables(path):
    """Return the case as the dict of arrays that PYPOWER and pandapower take."""
    import numpy as np

    frames = CaseFrames(path)
    case = {"version": "2", "baseMVA": float(frames.baseMVA)}
    for name, width in WIDTH.items():
        values = np.array(getattr(frames, name), dtype=float)
        case[name] = np.pad(values, ((0, 0), (0, max(0, width - values.shape[1]))))
    case["gencost"] = np.nan_to_num(np.array(frames.gencost, dtype=float))
    return case


def pypower(case):
    """Return a function that solves the case by PYPOWER's interior-point method."""
    from pypower.api import ppoption, runopf

    options = ppoption(VERBOSE=0, OUT_ALL=0)

    def solve():
        found = runopf(case, options)
        return float(found["f"]) if found["success"] else None

    return solve


def pandapower(case):
    """Return a function that solves the case by pandapower, after its own import."""
    import pandapower as pp
    from pandapower.converter.pypower import from_ppc

    net = from_ppc(case, f_hz=60, validate_conversion=False)

    def solve():
        pp.runopp(net, verbose=False)
        return float(net.res_cost)

    return solve


def main():
    """Solve once and print objective, CPU seconds of the solve, and what went wrong."""
    solve = {"pypower": pypower, "pandapower": pandapower}[sys.argv[1]](tables(sys.argv[2]))
    begin, objective, error = time.process_time(), None, ""
    try:
        objective = solve()
    except Exception as caught:
        error = f"{type(caught).__name__}: {caught}"
    seconds = time.process_time() - begin
    print(json.dumps({"objective": objective, "cpu_s": seconds, "error": error[:200]}))


if __name__ == "__main__":
    main()
