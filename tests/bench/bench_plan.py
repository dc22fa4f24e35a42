"""CPU to plan 10,000 fit jobs of ours against as many bare rules, in one run.

python tests/bench/bench_plan.py --out DIR
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
JOBS = 10_000
LIMIT = 1.3

BARE = f"""
rule all:
    input: [f"out/{{k}}.txt" for k in range({JOBS})]
rule first:
    output: "start.txt"
    shell: "touch {{output}}"
rule part:
    input: "start.txt"
    output: "out/{{k}}.txt"
    shell: "touch {{output}}"
"""

OURS = """
run: plan
counts:
  datasets: [tiny]
  split: {folds: 5}
  select: {d: [1, 2], C: [1, 2], seeds: 500}
"""


def cpu(command, directory):
    """Return the CPU seconds (user and system) of a command and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=directory, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    """Measure both three times in turn and write the ratio of the medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, type=Path)
    out = parser.parse_args().out
    os.environ["HEADWATER_OFFLINE"] = "1"
    snakemake = [sys.executable, "-m", "snakemake", "-n", "-q", "all", "--cores", "1"]
    ours, bare = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "Snakefile").write_text(BARE)
        (folder / "plan.yaml").write_text(OURS)
        target = "results/plan/counts/tiny/selected.yaml"
        for _ in range(3):
            bare.append(cpu([*snakemake, "--scheduler", "greedy"], folder))
            mine = ["--snakefile", str(ROOT / "Snakefile"), "--configfile", "plan.yaml"]
            ours.append(cpu([*snakemake, *mine, "--", target], folder))
    ratio = sorted(ours)[1] / sorted(bare)[1]
    result = {
        "jobs": JOBS,
        "ours_cpu_s": ours,
        "bare_cpu_s": bare,
        "ratio": ratio,
        "limit": LIMIT,
        "ok": ratio <= LIMIT,
    }
    out.mkdir(parents=True, exist_ok=True)
    (out / "plan.json").write_text(json.dumps(result, indent=2) + "\n")
    print(
        f"planning {JOBS} jobs: ours {sorted(ours)[1]:.1f} s, bare {sorted(bare)[1]:.1f} s CPU; "
        f"ratio {ratio:.2f}, limit {LIMIT}: {'ok' if result['ok'] else 'MISSED'}"
    )
    return 0 if result["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
