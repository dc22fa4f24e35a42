"""What every rule script does around its one call: log, threads, errors.

A script ends with ``run(main, globals().get("snakemake"))``; without Snakemake that is
nothing, so tests and debuggers import the script and call its `main`.
"""

from __future__ import annotations

import logging
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .errors import InputError

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


def run(main: Callable[..., None], snakemake: Any) -> None:
    """Call ``main(inputs, outputs, params, threads, log)`` with what the rule gave.

    Everything that is printed, also by C libraries, goes to the rule's log. An `InputError`
    ends the job with exit code 1 and its one line on stderr and in the log; any other
    exception is a bug and leaves its traceback in the log.
    """
    if snakemake is None:
        return
    limit_threads(snakemake.threads)
    log_file = snakemake.log[0] if snakemake.log else None
    with redirected(log_file) as terminal:
        log = start_logging()
        try:
            main(
                snakemake.input,
                snakemake.output,
                snakemake.params,
                snakemake.threads,
                log,
            )
        except InputError as error:
            fail(f"Error: {error.line()}", terminal)
        except MemoryError:
            traceback.print_exc()
            fail("Error: out of memory; the next attempt asks for more (see mem_mb)", terminal)
        except Exception as error:
            traceback.print_exc()
            text = f"Error: {type(error).__name__}: {error}"
            fail(f"{' '.join(text.split())} (a bug; the log has the traceback)", terminal)


def fail(line: str, terminal: int) -> None:
    """Print one line to the log and to the terminal and end with exit code 1."""
    print(line, file=sys.stderr, flush=True)
    os.write(terminal, (line + "\n").encode())
    sys.exit(1)


def limit_threads(threads: int) -> None:
    """Keep numerical libraries to `threads`; call it before they are imported."""
    for name in THREAD_VARIABLES:
        os.environ[name] = str(threads)
    os.environ["MPLBACKEND"] = "Agg"
    if "torch" in sys.modules:  # an interactive session
        sys.modules["torch"].set_num_threads(threads)


@contextmanager
def redirected(path: str | None) -> Iterator[int]:
    """Send file descriptors 1 and 2 to `path`; yield one that still leads to the old stderr."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    try:
        if path is not None:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            target = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            os.dup2(target, 1)
            os.dup2(target, 2)
            os.close(target)
        yield kept[1]
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for old, number in zip(kept, (1, 2), strict=True):
            os.dup2(old, number)
            os.close(old)


def start_logging() -> logging.Logger:
    """Return the job's logger; warnings go the same way."""
    logging.basicConfig(
        level=logging.INFO,
        stream=sys.stderr,
        format="%(asctime)s %(levelname)s %(message)s",
        datefmt="%H:%M:%S",
        force=True,
    )
    logging.captureWarnings(True)
    warnings.simplefilter("default")
    return logging.getLogger("headwater")
