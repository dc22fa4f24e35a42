"""Folds of series: one file, read by every method.

Series are independent given the parameters, steps of one series are not: a fold
is a set of whole series.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from headwater.core.errors import InputError

LEAVE_ONE_OUT = "leave_one_series_out"


def make_folds(
    cube: xr.Dataset, scheme: str = "kfold", k: int | None = None, seed: int = 0
) -> dict[str, Any]:
    """Deal the series of a cube into folds.

    Parameters
    ----------
    cube : Dataset
        With the coordinate ``series``.
    scheme : leave_one_series_out | kfold
        `kfold` with as many folds as series is leave-one-out, too.
    k : int
        Folds of `kfold`; their sizes differ by one series at most.
    seed : int
        Of the shuffle before dealing; leave-one-out takes the series in their order.

    Returns
    -------
    dict
        ``scheme, k, seed, folds``; a fold is ``{"name": "fold00", "train": ids, "test": ids}``
        with ids in the order of the cube.

    Raises
    ------
    InputError
        If there are fewer series than folds, fewer than two of either, or a name stands twice.
    """
    names = series_names(cube)
    n = len(names)
    if scheme not in (LEAVE_ONE_OUT, "kfold"):
        raise InputError(None, "scheme of folds", repr(scheme), f"{LEAVE_ONE_OUT} or kfold")
    folds = n if scheme == LEAVE_ONE_OUT else int(k or 0)
    if n < 2:
        raise InputError(
            None,
            "dimension series",
            f"{n} series",
            "at least 2: every fold holds out whole series",
            "Cut a long series into several (column series of the metadata), or bring more.",
        )
    if folds < 2 or folds > n:
        raise InputError(
            None,
            "counts.split.folds",
            f"{folds} folds of {n} series",
            f"2 to {n}",
            "Every fold holds out whole series.",
        )
    order = np.arange(n)
    if folds < n:
        order = np.random.default_rng(seed).permutation(n)
    parts = [np.sort(part) for part in np.array_split(order, folds)]
    dealt = [
        {
            "name": f"fold{number:02d}",
            "train": [names[i] for i in np.setdiff1d(np.arange(n), part)],
            "test": [names[i] for i in part],
        }
        for number, part in enumerate(parts)
    ]
    scheme = LEAVE_ONE_OUT if folds == n else scheme
    return {"scheme": scheme, "k": folds, "seed": int(seed), "folds": dealt}


def series_names(cube: xr.Dataset) -> list[str]:
    """Return the names of the series.

    Raises
    ------
    InputError
        If a name stands twice.
    """
    names = [str(v) for v in cube["series"].values]
    twice = sorted({v for v in names if names.count(v) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise InputError(
            None, "coordinate series", f"{twice[0]!r} more than once", "every name once"
        )
    return names


def check_folds(cube: xr.Dataset, folds: Mapping[str, Any]) -> None:
    """Refuse folds that leak or do not belong to the cube.

    Raises
    ------
    InputError
        If a series is trained on and tested in one fold, is tested in none or in two folds,
        or is unknown.
    """
    names = set(series_names(cube))
    tested: list[str] = []
    for fold in folds["folds"]:
        train, test = set(fold["train"]), set(fold["test"])
        where = f"folds, {fold['name']}"
        hint = "Make the folds again from this cube."
        if train & test:
            found = f"{sorted(train & test)[0]!r} in training and test"
            raise InputError(None, where, found, "no series in both", hint)
        if (train | test) != names:
            found = f"{sorted((train | test) ^ names)[0]!r} in only one of folds and cube"
            raise InputError(None, where, found, "the series of the cube", hint)
        tested += fold["test"]
    if sorted(tested) != sorted(names):
        raise InputError(None, "folds", "a series tested never or twice", "every series once")


def subset(cube: xr.Dataset, ids: Sequence[str]) -> xr.Dataset:
    """Return the series named, in the order given.

    Raises
    ------
    InputError
        If one is not there.
    """
    names = {name: i for i, name in enumerate(series_names(cube))}
    missing = [i for i in ids if i not in names]
    if missing:
        raise InputError(
            None,
            "coordinate series",
            f"no series {missing[0]!r}",
            f"one of {len(names)} series",
            "Make the folds again from this cube.",
        )
    return cube.isel(series=[names[i] for i in ids])


def fold_of(folds: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return one fold by name.

    Raises
    ------
    InputError
        If there is none of that name.
    """
    for fold in folds["folds"]:
        if fold["name"] == name:
            return fold
    raise InputError(None, "folds", f"no fold {name!r}", f"fold00 to {folds['folds'][-1]['name']}")


def training_part(cube: xr.Dataset, folds: Mapping[str, Any], name: str) -> xr.Dataset:
    """Return the series that a fold trains on, after `check_folds`."""
    check_folds(cube, folds)
    return subset(cube, fold_of(folds, name)["train"])


def held_out_part(cube: xr.Dataset, folds: Mapping[str, Any], name: str) -> xr.Dataset:
    """Return the series that a fold holds out, after `check_folds`."""
    check_folds(cube, folds)
    return subset(cube, fold_of(folds, name)["test"])
