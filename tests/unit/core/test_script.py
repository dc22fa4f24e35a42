"""Logs hold what a job printed, C libraries included; a user's fault is one line."""

import subprocess
import sys

SCRIPT = """
import os, sys, types, warnings
from headwater.core.script import run
from headwater.core.errors import InputError

def main(inputs, outputs, params, threads, log):
    import ctypes
    print("from python")
    libc = ctypes.CDLL(None); libc.puts(b"from C"); libc.fflush(None)
    os.system("echo from a child")
    warnings.warn("from warnings")
    log.info("threads %s", os.environ["OMP_NUM_THREADS"])
    {body}

run(main, types.SimpleNamespace(input=None, output=None, params=None, threads=3, log=[sys.argv[1]]))
print("after")
"""


def call(tmp_path, body="pass"):
    log = tmp_path / "logs/deep/job.log"
    job = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(body=body), str(log)],
        capture_output=True,
        text=True,
        check=False,
    )
    return job, log.read_text()


def test_everything_goes_to_the_log_and_the_terminal_comes_back(tmp_path):
    job, log = call(tmp_path)
    assert (job.returncode, job.stdout, job.stderr) == (0, "after\n", "")
    for text in ("from python", "from C", "from a child", "from warnings", "threads 3"):
        assert text in log


def test_an_input_error_is_one_line_without_a_traceback(tmp_path):
    job, log = call(tmp_path, "raise InputError('a.tsv', 'row 3', 'x', 'a number', 'Correct it.')")
    line = "Error: a.tsv, row 3: found x; expected a number. Correct it.\n"
    assert (job.returncode, job.stderr) == (1, line)
    assert line in log
    assert "Traceback" not in log


def test_a_bug_leaves_its_traceback_in_the_log_and_one_line_outside(tmp_path):
    job, log = call(tmp_path, "1 / 0")
    assert job.returncode == 1
    assert job.stderr.startswith("Error: ZeroDivisionError: division by zero")
    assert job.stderr.count("\n") == 1
    assert "Traceback" in log


def test_without_snakemake_nothing_runs():
    from headwater.core.script import run

    run(lambda *a: 1 / 0, None)
