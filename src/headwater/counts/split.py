"""Folds of series: made once, read by every method (architecture: splits are files)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from headwater.core.errors import InputError


def make_folds(cube: xr.Dataset, scheme: str, k: int, seed: int) -> dict[str, Any]:
    """Deal the series into `k` folds of nearly equal size.

    Returns
    -------
    dict
        scheme, seed and folds, each with name, train and test (names of series). With as many
        folds as series each fold leaves one series out, in the order of the cube.

    Raises
    ------
    InputError
        If there are more folds than series.
    """
    names = [str(s) for s in cube["series"].values]
    n = len(names)
    if k > n:
        raise InputError(
            None,
            "counts.split.folds",
            str(k),
            f"at most {n}, the number of series of {cube.attrs.get('title', 'this data set')}",
            f"Set split.folds={n} in the settings of its row to leave one series out.",
        )
    if scheme != "kfold":
        raise InputError(None, "counts.split.scheme", repr(scheme), "kfold")
    order = np.arange(n) if k == n else np.random.default_rng(seed).permutation(n)
    parts = np.array_split(order, k)
    folds = []
    for number, part in enumerate(parts):
        test = set(part.tolist())
        folds.append(
            {
                "name": f"fold{number:02d}",
                "train": [names[j] for j in range(n) if j not in test],
                "test": [names[j] for j in sorted(test)],
            }
        )
    return {"scheme": "leave_one_series_out" if k == n else "kfold", "seed": seed, "folds": folds}


def subset(cube: xr.Dataset, series: Sequence[str]) -> xr.Dataset:
    """Return the named series, in the order of the cube."""
    wanted = set(series)
    keep = [j for j, s in enumerate(cube["series"].values) if str(s) in wanted]
    return cube.isel(series=keep)


def training_part(cube: xr.Dataset, folds: Mapping[str, Any], name: str) -> xr.Dataset:
    """Return the series that a fold trains on."""
    return subset(cube, _fold(folds, name)["train"])


def held_out_part(cube: xr.Dataset, folds: Mapping[str, Any], name: str) -> xr.Dataset:
    """Return the series that a fold holds out."""
    return subset(cube, _fold(folds, name)["test"])


def _fold(folds: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return next(f for f in folds["folds"] if f["name"] == name)
