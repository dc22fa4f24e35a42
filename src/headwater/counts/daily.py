"""Open daily NetCDF or Zarr files lazily: several variables, several years, masks beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from headwater.core.errors import InputError

BLOCK_BYTES = 64 * 2**20  # of one variable in memory at a time


def open_daily(files: Sequence[str]) -> xr.Dataset:
    """Return all variables of the files, unread, sorted by time; to be closed by the caller.

    Files of one variable are joined along time; files of different variables stand side by
    side; variables without time (masks of regions) are taken as they are.

    Raises
    ------
    InputError
        For an unreadable file, a time that is no date, or files that do not fit together.
    """
    parts: list[xr.Dataset] = []

    def close() -> None:
        for part in parts:
            part.close()

    try:
        for name in files:
            parts.append(_open(Path(name)))
        data = _joined(parts, ", ".join(map(str, files)))
    except BaseException:
        close()
        raise
    for part in parts:
        data.attrs = {**part.attrs, **data.attrs}
    data.set_close(close)
    return data


def _joined(parts: Sequence[xr.Dataset], shown: str) -> xr.Dataset:
    pieces: dict[str, list[xr.DataArray]] = {}
    for part in parts:
        for name, values in part.data_vars.items():
            if "time" in values.dims or str(name) not in pieces:
                pieces.setdefault(str(name), []).append(values)
    try:
        joined = [
            v[0] if len(v) == 1 else xr.concat(v, "time", join="exact", combine_attrs="override")
            for v in pieces.values()
        ]
        data = xr.merge(
            [v.sortby("time") if "time" in v.dims else v for v in joined],
            join="outer",
            compat="no_conflicts",
            combine_attrs="drop_conflicts",
        )
    except (ValueError, TypeError, xr.MergeError) as error:
        raise InputError(
            shown,
            "",
            f"files that do not fit together ({error})",
            "one grid and one calendar, each day once per variable",
            "Give files that do not fit as data sets of their own.",
        ) from None
    if "time" not in data.dims:
        hint = "Rename the dimension of days to time."
        raise InputError(shown, "", "no dimension time", "daily data along time", hint)
    _check_grid(parts, data, shown)
    return data


def _check_grid(parts: Sequence[xr.Dataset], data: xr.Dataset, shown: str) -> None:
    """Refuse grids that an outer join has made larger: they differ between the files."""
    for dim in (d for d in data.dims if d != "time"):
        for part in parts:
            if dim in part.dims and part.sizes[dim] != data.sizes[dim]:
                raise InputError(
                    shown,
                    f"dimension {dim}",
                    f"{part.sizes[dim]} of {data.sizes[dim]} places in one of the files",
                    "the same places in all files",
                    "Regrid the files first.",
                )


def _open(path: Path) -> xr.Dataset:
    coder = xr.coders.CFDatetimeCoder(use_cftime=None)
    if not path.exists():
        hint = "Correct the path in the data set's row."
        raise InputError(path, "", "no such file", "NetCDF or Zarr", hint)
    try:
        if path.suffix == ".zarr":
            data = xr.open_zarr(path, decode_times=coder)
        else:
            opened = xr.open_dataset(path, decode_times=coder)
            data = opened.chunk(_chunks(opened))
            data.set_close(opened.close)
    except Exception as error:  # each engine raises whatever its parsers do
        text = str(error).partition("\n")[0][:120]
        hint = "Fetch or write the file again."
        raise InputError(path, "", f"not readable ({text})", "NetCDF or Zarr", hint) from None
    try:
        if "time" in data.dims:
            _check_time(data, path)
        _check_fill(data, path)
    except InputError:
        data.close()
        raise
    trimmed = data.drop_vars([n for n in data.data_vars if _is_bounds(str(n), data)])
    trimmed.set_close(data.close)
    return trimmed


def _chunks(data: xr.Dataset) -> dict[str, int]:
    """Return a chunk length along time such that a chunk of each variable is a block."""
    if "time" not in data.dims:
        return {}
    days = [
        BLOCK_BYTES // max(1, v.size // max(1, v.sizes["time"]) * 8)
        for v in data.data_vars.values()
        if "time" in v.dims
    ]
    return {"time": int(max(1, min(days, default=1)))}


def _check_time(data: xr.Dataset, path: Path) -> None:
    time = data["time"] if "time" in data.coords else None
    if time is None or not (
        np.issubdtype(time.dtype, np.datetime64) or (time.dtype == object and time.size)
    ):
        raise InputError(
            path,
            "variable time",
            "no dates" if time is None else f"{time.dtype} without units",
            "a time with units such as 'days since 1950-01-01' and a calendar",
            "Write the attributes units and calendar of time into the file.",
        )
    if time.size == 0:
        raise InputError(path, "variable time", "no day", "at least one", "Look at the file.")
    if bool(time.isnull().any()):
        hint = "Remove the values without a date."
        raise InputError(path, "variable time", "an empty time", "a date for every value", hint)


def _check_fill(data: xr.Dataset, path: Path) -> None:
    """Refuse the fill value 0, common in Zarr: all days of 0 would be missing."""
    for name, values in data.data_vars.items():
        if "time" in values.dims and values.encoding.get("_FillValue") == 0:
            raise InputError(
                path,
                f"variable {name}",
                "the fill value 0",
                "one that is no measurement",
                "Write the file again with NaN as fill value.",
            )


def _is_bounds(name: str, data: xr.Dataset) -> bool:
    return name in {data[c].attrs.get("bounds") for c in data.coords} or name.endswith(
        ("_bnds", "_bounds")
    )
