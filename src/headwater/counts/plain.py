"""Open NetCDF and Zarr files as they stand: times stay numbers, 0 and -1 stay counts."""

from __future__ import annotations

from pathlib import Path

import xarray as xr

from headwater.core.errors import InputError


def open_plain(path: str | Path) -> xr.Dataset:
    """Return a dataset without decoding of times or fill values; to be closed by the caller.

    A Zarr array may name 0 as its fill value: decoded, every count of 0 would be missing.

    Raises
    ------
    InputError
        If the file is not there or neither NetCDF nor Zarr.
    """
    path = Path(path)
    options = {"decode_times": False, "mask_and_scale": False}
    if not path.exists():
        raise InputError(
            path, "", "no such file", "NetCDF or Zarr", "Correct the path in the data set's row."
        )
    try:
        if path.suffix == ".zarr":
            return xr.open_zarr(path, **options)
        return xr.open_dataset(path, **options)
    except Exception as error:  # each engine raises whatever its parsers do
        text = str(error).partition("\n")[0][:120]
        raise InputError(
            path,
            "",
            f"not readable ({text})",
            "NetCDF or Zarr",
            "Fetch or write the file again.",
        ) from None
