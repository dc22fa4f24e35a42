"""Exact percentiles of fields larger than memory: the file is read a few times, not per place.

A percentile above the median lies among the largest values, so only those of each place are
kept while the days pass by: (1 - q) of all days. Below the median, signs are turned.
"""

from __future__ import annotations

import numpy as np
import xarray as xr


def quantile(days: xr.DataArray, q: float, block_bytes: int) -> xr.DataArray:
    """Return the quantile along time of the valid values at each place.

    Linear between order statistics at rank q (n - 1), numpy's default (definition 7 of Hyndman
    and Fan 1996); NaN at places without a valid value.

    Parameters
    ----------
    days : DataArray (time, ...)
        May be lazy; read a block of days at a time.
    q : float
        0..1.
    block_bytes : int
        Size of what is kept of the places of one pass and of a block of days, together.
    """
    if q < 0.5:
        return -quantile(-days, 1 - q, block_bytes)
    days = days.transpose("time", ...)
    shape = days.shape[1:]
    # largest values that may be asked for, and one for rounding of the rank
    keep = int((1 - q) * (days.sizes["time"] - 1)) + 3
    row = int(np.prod(shape[1:], dtype=np.int64)) * 8
    rows = max(1, block_bytes // 2 // (keep * row)) if shape else 1
    parts = []
    for first in range(0, shape[0] if shape else 1, rows):
        here = days.isel({days.dims[1]: slice(first, first + rows)}) if shape else days
        size = max(1, int(np.prod(here.shape[1:], dtype=np.int64)) * 8)
        step = max(1, block_bytes // 2 // size)
        parts.append(_of_largest(*_largest(here, keep, step), q))
    values = np.concatenate(parts) if shape else parts[0]
    coords = {n: c for n, c in days.coords.items() if "time" not in c.dims}
    return xr.DataArray(values, coords, days.dims[1:])


def _largest(days: xr.DataArray, keep: int, step: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest values of each place, ascending, and how many valid ones it has."""
    largest = np.full((keep, *days.shape[1:]), -np.inf)
    valid = np.zeros(days.shape[1:], dtype=np.int64)
    for first in range(0, days.sizes["time"], step):
        block = days.isel(time=slice(first, first + step)).values
        both = np.empty((keep + len(block), *block.shape[1:]))
        both[:keep], both[keep:] = largest, block
        del block
        missing = np.isnan(both[keep:])
        valid += (~missing).sum(0)
        both[keep:][missing] = -np.inf
        both.partition(len(both) - keep, axis=0)
        largest[:] = both[-keep:]
        del both
    largest.sort(axis=0)
    return largest, valid


def _of_largest(largest: np.ndarray, valid: np.ndarray, q: float) -> np.ndarray:
    """Return the quantile, given the largest of `valid` values in ascending order."""
    rank = q * np.maximum(valid - 1, 0)
    below = np.floor(rank).astype(np.int64)
    above = np.minimum(below + 1, np.maximum(valid - 1, 0))
    shift = len(largest) - valid  # from the rank among all to the place among the largest
    low, high = (
        np.take_along_axis(largest, np.clip(i + shift, 0, len(largest) - 1)[None], 0)[0]
        for i in (below, above)
    )
    with np.errstate(invalid="ignore"):  # places without a value
        value = low + (rank - below) * (high - low)
    return np.where(valid > 0, value, np.nan)
