"""Pool grid cells into regions: sums of event days and of valid cell-days (counts.md §9.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from headwater.core.errors import InputError

LATITUDE = ("lat", "latitude")
LONGITUDE = ("lon", "longitude")


def axis_names(data: xr.Dataset) -> tuple[str, str] | None:
    """Return the names of latitude and longitude where both are dimensions."""
    lat = next((n for n in LATITUDE if n in data.dims), None)
    lon = next((n for n in LONGITUDE if n in data.dims), None)
    return (lat, lon) if lat and lon else None


def box_mask(lat: np.ndarray, lon: np.ndarray, box: Sequence[float]) -> np.ndarray:
    """Return which cells (lat, lon) lie in [south, north, west, east], degrees.

    Longitudes are compared modulo 360; a box may cross the date line or Greenwich.
    """
    south, north, west, east = (float(v) for v in box)
    rows = (lat >= south) & (lat <= north)
    width = (east - west) % 360 or (360.0 if east != west else 0.0)
    columns = ((lon - west) % 360) <= width
    return rows[:, None] & columns[None, :]


def pool(
    data: xr.Dataset, regions: Mapping[str, Any], names: tuple[str, str], file: str
) -> xr.Dataset:
    """Return the data with one ``place`` per region in place of latitude and longitude.

    Counts, valid days and days are summed over the cells of each region; a mean weighted by
    cell area belongs to exposure, which is why sums are kept.

    Raises
    ------
    InputError
        If a region is no box of four numbers or holds no cell.
    """
    lat, lon = (data[n].values for n in names)
    parts = []
    for name, box in regions.items():
        if not isinstance(box, (list, tuple)) or len(box) != 4:
            raise InputError(
                None,
                f"counts.prepare.regions.{name}",
                repr(box),
                "four numbers: south, north, west, east",
            )
        mask = xr.DataArray(box_mask(lat, lon, box), dims=names)
        if not bool(mask.any()):
            raise InputError(
                file,
                f"region {name!r}",
                "no cell inside",
                f"latitudes {lat.min():g}..{lat.max():g}, longitudes {lon.min():g}..{lon.max():g}",
                "Correct the box.",
            )
        parts.append(data.where(mask, 0).sum(names).expand_dims(place=[name]))
    return xr.concat(parts, "place")


def stack_cells(data: xr.Dataset, names: tuple[str, str]) -> xr.Dataset:
    """Return the data with one ``place`` per cell, named by its centre."""
    stacked = data.stack(place=names)
    labels = [f"{lat:.2f}N {lon:.2f}E" for lat, lon in stacked["place"].values]
    return stacked.drop_vars(["place", *names]).assign_coords(place=labels)
