"""Several fits of one grid point in one job: folds and seeds of the same d and C.

Start-up (imports, reading the cube) is paid once, and a large grid has few jobs to plan. Every
fit has its own seed, checkpoint and folder of work, so neither the size of a batch nor a kill in
the middle of one changes any of them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import xarray as xr

from headwater.core.errors import InputError
from headwater.core.io import read_torch, write_torch

from .config import FitConfig
from .data import cube_tensors
from .fit import Store, fit_plnica
from .split import training_part


def fit_batch(
    cube: xr.Dataset,
    folds: Mapping[str, Any],
    config: FitConfig,
    fits: Sequence[Mapping[str, Any]],
    work: Path,
    code: str = "",
    log: logging.Logger | None = None,
) -> dict[str, dict[str, Any]]:
    """Fit the model to the series outside each of several folds.

    Parameters
    ----------
    cube : Dataset
    folds : mapping
        Of `split.make_folds`.
    config : FitConfig
    fits : sequence of mappings
        Each with fold, start (the number of the seed in the configuration) and seed.
    work : path
        Folder for checkpoints, and for the fits that are done before all are.
    code : str
        What a finished fit must have been made by to be used again.
    log : Logger, optional

    Returns
    -------
    dict
        fold/seed<start> -> `Model.state` of that fit, in the order of `fits`.
    """
    log = log or logging.getLogger("headwater")
    states = {}
    for number, fit in enumerate(fits, start=1):
        name = f"{fit['fold']}/seed{fit['start']}"
        log.info("fit %d of %d: %s", number, len(fits), name)
        part = training_part(cube, folds, fit["fold"])
        place = Path(work) / f"{fit['fold']}-seed{fit['start']}"
        done = _done(place, part, config, fit["seed"], code)
        state = _kept(done, log)
        if state is None:
            made = fit_plnica(part, config, fit["seed"], work=place, log=log).model.state()
            write_torch(done, made)
            # as a later attempt would find it: the bytes of a batch tell no kill
            state = read_torch(done)
        states[name] = state
    return states


def clear_work(fits: Iterable[Mapping[str, Any]], work: Path) -> None:
    """Remove what `fit_batch` kept, once its result is written."""
    for fit in fits:
        place = Path(work) / f"{fit['fold']}-seed{fit['start']}"
        for path in place.glob("*done-*.pt"):  # also what a kill left half-written
            path.unlink()
        if place.is_dir() and not any(place.iterdir()):
            place.rmdir()


def read_fits(files: Iterable[str | Path]) -> Iterator[tuple[dict[str, Any], str, int]]:
    """Yield state, fold and start of every fit of the batches in `files`."""
    for file in files:
        for name, state in read_torch(file).items():
            fold, _, start = name.partition("/seed")
            if not start.isdigit():
                raise InputError(
                    file, "", f"an entry {name!r}", "a batch of fits", "Remove it and run again."
                )
            yield state, fold, int(start)


def _done(place: Path, part: xr.Dataset, config: FitConfig, seed: int, code: str) -> Path:
    """Return where a finished fit waits: its name says all that it depends on."""
    digest = Store(place, cube_tensors(part, config.intercept), config, seed).digest
    return place / f"done-{digest}-{code}.pt"


def _kept(done: Path, log: logging.Logger) -> dict[str, Any] | None:
    if not done.is_file():
        return None
    try:
        state = read_torch(done)
    except Exception as error:  # a damaged file must not stop the fit that replaces it
        log.warning("finished fit not readable, fitted anew: %s", error)
        return None
    log.info("taken from an earlier attempt")
    return state
