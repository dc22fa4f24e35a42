"""CPU to plan 10,000 fits of ours against as many jobs of others, in one run.

Ours are planned as configured by default (in batches) and, for the cost of a rule of ours, one
fit a job. Others are rules with nothing but a shell command, which the limit is about, and empty
rules that carry the directives which every rule of ours must have: what Snakemake itself takes
for those. Also measured: any start of ours against one on an empty Snakefile.

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
TIMES = 3

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

DIRECTED = f"""
rule all:
    input: [f"out/{{k}}.txt" for k in range({JOBS})]
rule first:
    output: a="start.txt", b="folds.txt"
    shell: "touch {{output}}"
rule part:
    input: a="start.txt", b="folds.txt"
    output: model="out/{{k}}.txt"
    log: "log/{{k}}.log"
    benchmark: "bench/{{k}}.jsonl"
    conda: "env.yaml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime=lambda wildcards, attempt: 60 * attempt,
    params: options=lambda wildcards: {{{{"k": wildcards.k}}}}, code="0123456789abcdef"
    message: "Fitting {{wildcards.k}}"
    script: "part.py"
"""
TABLE = "dataset\treader\tsettings\nplan\tsimulation\tsimulation=tiny\n"
OURS = """
run: plan
counts:
  tables: [plan.tsv]
  datasets: [plan]
  split: {folds: 5}
  select: {d: [1, 2], C: [1, 2], seeds: 500}
"""
SINGLE = "counts: {select: {batch: 1}}\n"
EMPTY = 'rule all:\n    shell: ""\n'


def cpu(command, directory):
    """Return the CPU seconds (user and system) of a command and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=directory, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def median(values):
    """Return the middle one of an odd number of values."""
    return sorted(values)[len(values) // 2]


def commands(folder):
    """Return name -> arguments of Snakemake, after writing the files that they read."""
    texts = {"Snakefile": BARE, "Empty": EMPTY, "part.py": "", "plan.yaml": OURS}
    texts["Directed"] = DIRECTED.replace("{{", "{").replace("}}", "}")
    texts |= {"single.yaml": SINGLE, "env.yaml": "dependencies: [python]\n", "plan.tsv": TABLE}
    for name, text in texts.items():
        (folder / name).write_text(text)
    plan = ["-n", "-q", "all", "--cores", "1", "--scheduler", "greedy"]
    mine = ["--snakefile", str(ROOT / "Snakefile"), "--configfile", "plan.yaml"]
    target = ["--", "results/plan/counts/plan/selected.yaml"]
    return {
        "ours": [*plan, *mine, *target],
        "ours_one_fit_a_job": [*plan, *mine, "single.yaml", *target],
        "bare": plan,
        "same_directives": [*plan, "--snakefile", "Directed"],
        "start_ours": ["--list-target-rules", *mine],
        "start_empty": ["--list-target-rules", "--snakefile", "Empty"],
    }


def main():
    """Measure each in turn and write the ratios of the medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, type=Path)
    out = parser.parse_args().out
    os.environ["HEADWATER_OFFLINE"] = "1"
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # as on a user's machine
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wanted = commands(folder)
        snakemake = [sys.executable, "-m", "snakemake"]
        cpu([*snakemake, *wanted["start_ours"]], folder)  # byte code is there from now on
        seconds = {k: [] for k in wanted}
        for _ in range(TIMES):
            for key, arguments in wanted.items():
                seconds[key].append(cpu([*snakemake, *arguments], folder))
    middle = {k: median(v) for k, v in seconds.items()}
    ratio = middle["ours"] / middle["bare"]
    start = middle["start_ours"] / middle["start_empty"]
    result = {
        "fits": JOBS,
        "cpu_s": seconds,
        "ratio": ratio,
        "ratio_one_fit_a_job": middle["ours_one_fit_a_job"] / middle["bare"],
        "ratio_one_fit_a_job_to_same_directives": middle["ours_one_fit_a_job"]
        / middle["same_directives"],
        "ratio_of_starts": start,
        "limit": LIMIT,
        "ok": ratio <= LIMIT and start <= LIMIT,
    }
    out.mkdir(parents=True, exist_ok=True)
    (out / "plan.json").write_text(json.dumps(result, indent=2) + "\n")
    print(f"CPU s to plan {JOBS} fits: " + ", ".join(f"{k} {v:.1f}" for k, v in middle.items()))
    print(f"ratio to bare {ratio:.2f}, of starts {start:.2f}, limit {LIMIT}: ", end="")
    print("ok" if result["ok"] else "MISSED")
    return 0 if result["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
