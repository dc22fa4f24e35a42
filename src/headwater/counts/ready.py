"""Cubes that others made: read as they stand, completed, put in order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xarray as xr

from headwater.core.errors import InputError

from .checks import check_cube
from .plain import open_plain

DIMS = {
    "counts": ("series", "step", "feature"),
    "observed": ("series", "step"),
    "exposure": ("series", "step"),
    "time": ("series", "step"),
    "covariates": ("series", "covariate"),
}
LAYOUT = "docs: counts, cube layout"


def read_cube(path: str | Path) -> xr.Dataset:
    """Return a ready cube (NetCDF or Zarr) in memory, completed and checked.

    Raises
    ------
    InputError
        For an unreadable file and every fault of a cube.
    """
    with open_plain(path) as data:
        cube = complete(data.load(), Path(path))
    check_cube(cube, str(path))
    return cube


def complete(data: xr.Dataset, path: Path) -> xr.Dataset:
    """Return a ready cube with what it may leave out filled in.

    Absent ``observed``: all steps but those whose counts are all -1 or NaN. Absent ``exposure``:
    exp(attribute log_offset), else 1. Where nothing was observed, counts become -1 and exposures
    NaN.
    """
    _check_dims(data, path)
    data = data.assign(counts=_whole(data["counts"], path))
    n, steps, features = (data.sizes[d] for d in DIMS["counts"])
    labels = {
        "series": [f"series{j}" for j in range(n)],
        "step": np.arange(steps, dtype=np.int32),
        "feature": [f"feature{k}" for k in range(features)],
    }
    data = data.assign_coords({k: v for k, v in labels.items() if k not in data.coords})
    data["observed"] = (DIMS["observed"], _observed(data, path).astype(np.int8))
    seen = data["observed"].values == 1
    if "exposure" not in data:
        rate = float(np.exp(data.attrs.get("log_offset", 0.0)))
        data["exposure"] = (DIMS["exposure"], np.full((n, steps), rate))
        data.attrs["exposure_kind"] = "constant"
    if "time" not in data:
        grid = np.tile(np.arange(steps, dtype=float), (n, 1))
        data["time"] = (DIMS["time"], grid, {"units": "steps"})
    data["counts"] = data["counts"].copy(
        data=np.where(seen[..., None], data["counts"].values, -1).astype(np.int32)
    )
    exposure = data["exposure"].transpose(*DIMS["exposure"]).astype(np.float64)
    data["exposure"] = exposure.copy(data=np.where(seen, exposure.values, np.nan))
    data.attrs.setdefault("time_units", data["time"].attrs.get("units", "steps"))
    data.attrs.setdefault("exposure_kind", "given")
    return data


def _check_dims(data: xr.Dataset, path: Path) -> None:
    for name, dims in DIMS.items():
        if name == "counts" and name not in data:
            found = "variables " + ", ".join(map(str, data.data_vars))
        elif name in data and set(data[name].dims) != set(dims):
            found = "dimensions " + ", ".join(map(str, data[name].dims))
        else:
            continue
        raise InputError(
            path,
            f"variable {name}",
            found,
            f"{name} with dimensions {', '.join(dims)}",
            f"Rename or expand them ({LAYOUT}).",
        )
    for name, dims in (("counts", DIMS["counts"]), ("time", ()), ("exposure", ())):
        if name in data and data[name].dtype.kind not in "iufb":
            raise InputError(
                path,
                f"variable {name}",
                f"type {data[name].dtype}",
                "numbers",
                f"Write {name} as numbers ({LAYOUT}).",
            )
        empty = [d for d in dims if data.sizes[d] == 0]
        if empty:
            raise InputError(
                path, f"dimension {empty[0]}", "size 0", "1 or more", "Look at how it was made."
            )


def _observed(data: xr.Dataset, path: Path) -> np.ndarray:
    if "observed" not in data:
        return (data["counts"].values != -1).any(-1)
    values = data["observed"].transpose(*DIMS["observed"]).values
    bad = (values != 0) & (values != 1)
    if bad.any():
        j, t = np.argwhere(bad)[0]
        raise InputError(
            path,
            f"variable observed, series {j}, step {t}",
            str(values[j, t]),
            "0 or 1",
            "Write 1 where the step was counted, 0 elsewhere.",
        )
    return values


def _whole(counts: xr.DataArray, path: Path) -> xr.DataArray:
    """Return counts as int32 (series, step, feature), NaN as -1 (unobserved)."""
    values = counts.values.astype(float)
    bad = np.isfinite(values) & ((values != np.rint(values)) | (values > np.iinfo(np.int32).max))
    bad |= np.isinf(values)
    if bad.any():
        place = tuple(np.argwhere(bad)[0])
        where = ", ".join(f"{d} {i}" for d, i in zip(counts.dims, place, strict=True))
        raise InputError(
            path,
            f"variable counts, {where}",
            f"{values[place]:.12g}",
            "whole numbers below 2^31",
            "Give raw counts, not transformed ones.",
        )
    # anything below 0 stays an error where observed, also what int32 could not hold
    values = np.maximum(np.where(np.isnan(values), -1, values), np.iinfo(np.int32).min)
    return counts.copy(data=values.astype(np.int32)).transpose(*DIMS["counts"])
