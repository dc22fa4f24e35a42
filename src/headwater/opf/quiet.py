"""HiGHS without its banner, which the library prints once to the standard output."""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache

import highspy


@cache
def _greet() -> None:
    """Let the first object of the process print where nobody reads: output is for results."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        highspy.Highs()
        ctypes.CDLL(None).fflush(None)  # the banner may still lie in the buffer of the C library
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def highs() -> highspy.Highs:
    """Return a solver that prints nothing."""
    _greet()
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    return solver
