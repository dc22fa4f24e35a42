"""MATPOWER in GNU Octave as a second opinion, where it is at hand."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from headwater.core.errors import InputError

from .case import Case

ABSENT = (
    "GNU Octave is not installed, so MATPOWER gives no second opinion"
    " (apt-get install octave, or conda install -c conda-forge octave)"
)


def at_hand(mode: str, log: logging.Logger) -> bool:
    """Return whether MATPOWER is to be asked.

    Parameters
    ----------
    mode : str
        ``required``, ``when_present`` or ``never``.

    Raises
    ------
    InputError
        If it is required and GNU Octave is not installed.
    """
    from .octave import available

    if mode == "never":
        log.info("MATPOWER is not asked (opf.matpower: never)")
        return False
    if available():
        return True
    if mode == "required":
        raise InputError(
            None, "config: opf.matpower", "required, and no octave program", "GNU Octave", ABSENT
        )
    log.warning(ABSENT)
    return False


def solve_with_matpower(case: Case, mode: str, log: logging.Logger) -> dict[str, Any]:
    """Return MATPOWER's AC and DC optimum; empty where it is not asked.

    Returns
    -------
    dict
        ``version``, and ``ac``, ``dc`` ($/h) of the problems that converged.
    """
    if not at_hand(mode, log):
        return {}
    from .octave import available, matpower_solve

    found: dict[str, Any] = {"version": available()}
    for name, model in (("ac", "AC"), ("dc", "DC")):
        objective, success, _ = matpower_solve(case, model)
        log.info("%s: %s, success %s", model, objective, success)
        found[name] = objective if success else None
        found[f"{name}_converged"] = bool(success)
    return found


def run_references(
    records: Sequence[Mapping[str, Any]],
    cases: Mapping[str, Case],
    mode: str,
    limits: Mapping[str, Any],
    workers: int,
    log: logging.Logger,
) -> list[dict[str, Any]]:
    """Run the reference programs of records in MATPOWER, every strategy.

    Returns
    -------
    list of dict
        ``id, strategy, objective, converged, error``; empty where MATPOWER is not asked.
    """
    if not at_hand(mode, log):
        return []
    from .execute import execute_reference

    jobs = [r for r in records if r.get("reference_matpower_code")]
    rows = []
    for k, record in enumerate(jobs, start=1):
        rows += execute_reference(record, cases, limits)
        log.info("%d of %d: %s", k, len(jobs), record["id"])
    return rows
