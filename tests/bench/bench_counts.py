"""CPU of one training epoch: ours against a straightforward peer, and growth with the size.

python tests/bench/bench_counts.py --out DIR
"""

# ruff: noqa: E402
from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # before numpy and torch are imported

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from counts_naive import NaivePLNICA

from headwater.core.io import write_json, write_table
from headwater.counts.config import FitConfig
from headwater.counts.data import CubeTensors, cube_tensors
from headwater.counts.distributions import GaussianMarkov, SwitchingAR
from headwater.counts.elbo import bound_terms
from headwater.counts.parameters import Parameters
from headwater.counts.simulate import random_design, random_parameters, simulate_scenario
from headwater.counts.training import Trainer

RATIO_LIMIT = 1 / 15
SLOPE_LIMIT = 1.05
SAME_LIMIT = 1e-9  # relative difference of the two bounds on the same q
SIZES = {
    "n": [(n, 20) for n in (300, 1000, 3000, 10_000)],
    "T": [(100, T) for T in (50, 200, 700, 2000)],
}
ROUNDS = 5
# the sizes of the paper's simulations, the same for both
NETWORK = {"hidden": 4, "layers": 2, "shared": (16, 8)}


def trainer(data: CubeTensors, d: int, C: int, mode: str) -> Trainer:
    """Return our training in the peer's setting: one GRU, proportions, no warm-up."""
    config = FitConfig(
        d=d,
        C=C,
        mode=mode,
        encoder="gru",
        input="proportion",
        linear_start=False,
        epochs=10_000,
        warmup=0,
        lr=1e-3,
        lr_mixing=1e-3,
        **NETWORK,
    )
    p = random_parameters(data.counts.shape[2], d, C, 0)
    p["effects"] = np.zeros((data.counts.shape[2], 1))
    start = Parameters(**{k: torch.as_tensor(v) for k, v in p.items()})
    return Trainer(data, start, config, seed=0)


def peer(data: CubeTensors, d: int, C: int, mode: str) -> NaivePLNICA:
    """Return the peer with random weights."""
    torch.manual_seed(0)
    return NaivePLNICA(data.counts.shape[2], d, C, mode, **NETWORK)


def difference(data: CubeTensors, d: int, C: int) -> float:
    """Return the largest relative difference of our bound and the peer's on the peer's q."""
    with torch.no_grad():
        model = peer(data, d, C, "smooth")
        alpha, beta, p = model.encode(data.counts, data.offset)
        theirs = model.bound(data.counts, data.offset, alpha, beta, p)
        q = GaussianMarkov(*(torch.stack(x, 1) for x in (alpha, beta, p)))
        parameters = Parameters(
            model.mixing(),
            model.intercept[:, None],
            torch.softmax(model.init_logit, -1),
            torch.softmax(model.kernel_logit, -1),
            model.init_mean,
            model.init_log_var.exp(),
            model.ar_coef,
            model.ar_bias,
            model.ar_log_var.exp(),
        )
        n, steps = data.observed.shape
        ours = bound_terms(SwitchingAR(parameters, n, steps), q, parameters, data).elbo
        return float(((ours - theirs) / theirs).abs().max())


def epoch_times(mode: str) -> tuple[list[float], list[float]]:
    """Return CPU seconds per epoch of ours and of the peer, measured in turn."""
    data = cube_tensors(simulate_scenario("paper_moderate_coherence", 1), intercept=True)
    mine, other = trainer(data, 5, 1, mode), peer(data, 5, 1, mode)
    optimiser = torch.optim.AdamW(other.parameters(), lr=1e-3, weight_decay=1e-4)

    def peer_epoch() -> None:
        optimiser.zero_grad()
        loss = -other.elbo(data.counts, data.offset).mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(other.parameters(), 5.0)
        optimiser.step()

    mine.run_epoch()
    peer_epoch()  # both once before the clock runs
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(_cpu(mine.run_epoch, 20))
        theirs.append(_cpu(peer_epoch, 3))
    return ours, theirs


def _cpu(call, times: int) -> float:
    before = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - before) / times


def one_size(n: int, T: int) -> dict[str, float]:
    """Return CPU seconds per epoch and memory above that of a tiny fit; one process each."""
    tiny = cube_tensors(random_design(10, 10, 12, 3, 2, 0), intercept=True)
    trainer(tiny, 3, 2, "smooth").run_epoch()
    before = peak_mb()
    data = cube_tensors(random_design(n, T, 12, 3, 2, 0), intercept=True)
    mine = trainer(data, 3, 2, "smooth")
    mine.run_epoch()
    seconds = min(_cpu(mine.run_epoch, 1) for _ in range(3))
    return {"n": n, "T": T, "seconds": seconds, "mb": peak_mb() - before}


def peak_mb() -> float:
    """Return the peak memory of this process; ru_maxrss would count the parent's at the fork."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return float(line.split()[1]) / 1024
    raise SystemExit("no VmHWM in /proc/self/status: the memory check needs Linux")


def growth(axis: str) -> tuple[list[dict[str, float]], dict[str, float]]:
    """Return the measurements along n or T and the log-log slopes of time and memory."""
    rows = []
    for n, T in SIZES[axis]:
        command = [sys.executable, __file__, "--size", str(n), str(T)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        rows.append(json.loads(done.stdout))
    size = np.log([r[axis] for r in rows])
    slopes = {
        what: float(np.polyfit(size, np.log([r[what] for r in rows]), 1)[0])
        for what in ("seconds", "mb")
    }
    return rows, slopes


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--size", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.size:
        print(json.dumps(one_size(*options.size)))
        return
    if options.out is None:
        parser.error("--out is needed")
    options.out.mkdir(parents=True, exist_ok=True)
    checks, times = [], {}
    for mode in ("smooth", "predictive"):
        ours, theirs = epoch_times(mode)
        times[mode] = {"ours": ours, "peer": theirs}
        ratio = float(np.median(ours) / np.median(theirs))
        checks.append((f"epoch_cpu_ours_over_peer_{mode}", ratio, RATIO_LIMIT))
    one, two = (cube_tensors(simulate_scenario(s, 1), True) for s in ("easy_one_regime", "tiny"))
    unequal = max(difference(one, 3, 1), difference(two, 2, 2))
    checks.append(("bound_relative_difference", unequal, SAME_LIMIT))
    sizes = []
    for axis in SIZES:
        rows, slopes = growth(axis)
        sizes += [{"axis": axis, **r} for r in rows]
        checks += [(f"slope_{what}_by_{axis}", s, SLOPE_LIMIT) for what, s in slopes.items()]
    table = pd.DataFrame(checks, columns=["check", "value", "limit"])
    table["ok"] = table["value"] <= table["limit"]
    write_table(options.out / "bench_counts.tsv", table)
    report = {
        "checks": table.to_dict("records"),
        "epoch_cpu_seconds": times,
        "sizes": sizes,
        "torch": torch.__version__,
    }
    write_json(options.out / "bench_counts.json", report)
    print(table.to_string(index=False))
    print(pd.DataFrame(sizes).to_string(index=False))
    sys.exit(0 if table["ok"].all() else 1)


if __name__ == "__main__":
    main()
