"""CPU to plan 10,000 fit jobs of ours against as many of others, in one run.

Others are rules with nothing but a shell command, which the limit is about, and empty rules
that carry the directives which every rule of ours must have: what Snakemake itself takes for
those.

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
    ours, bare, directed = [], [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "Snakefile").write_text(BARE)
        (folder / "Directed").write_text(DIRECTED.replace("{{", "{").replace("}}", "}"))
        (folder / "part.py").write_text("")
        (folder / "env.yaml").write_text("dependencies: [python]\n")
        (folder / "plan.yaml").write_text(OURS)
        (folder / "plan.tsv").write_text(TABLE)
        target = "results/plan/counts/plan/selected.yaml"
        for _ in range(3):
            bare.append(cpu([*snakemake, "--scheduler", "greedy"], folder))
            other = ["--scheduler", "greedy", "--snakefile", "Directed"]
            directed.append(cpu([*snakemake, *other], folder))
            mine = ["--snakefile", str(ROOT / "Snakefile"), "--configfile", "plan.yaml"]
            ours.append(cpu([*snakemake, *mine, "--", target], folder))
    ratio = sorted(ours)[1] / sorted(bare)[1]
    result = {
        "jobs": JOBS,
        "ours_cpu_s": ours,
        "bare_cpu_s": bare,
        "same_directives_cpu_s": directed,
        "ratio_to_same_directives": sorted(ours)[1] / sorted(directed)[1],
        "ratio": ratio,
        "limit": LIMIT,
        "ok": ratio <= LIMIT,
    }
    out.mkdir(parents=True, exist_ok=True)
    (out / "plan.json").write_text(json.dumps(result, indent=2) + "\n")
    seconds = {k: sorted(v)[1] for k, v in (("ours", ours), ("bare", bare), ("directed", directed))}
    print(
        f"planning {JOBS} jobs, CPU s: ours {seconds['ours']:.1f}, bare {seconds['bare']:.1f},"
        f" empty rules with our directives {seconds['directed']:.1f}"
    )
    print(f"ratio to bare {ratio:.2f}, limit {LIMIT}: {'ok' if result['ok'] else 'MISSED'}")
    return 0 if result["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
