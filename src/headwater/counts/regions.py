"""Pool grid cells into regions: sums of event days and of valid cell-days (counts.md §9.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from headwater.core.config import nearest
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
    data: xr.Dataset,
    regions: Mapping[str, Any],
    names: tuple[str, str],
    masks: xr.Dataset,
    file: str,
) -> xr.Dataset:
    """Return the data with one ``place`` per region in place of latitude and longitude.

    A region is a box, or the name of a variable in `masks` that is not 0 inside. Counts and
    valid days are summed over the cells of each region: the exposure is valid cell-days.

    Raises
    ------
    InputError
        If a region is neither, or holds no cell.
    """
    parts = []
    for name, region in regions.items():
        inside = _inside(data, str(name), region, names, masks, file)
        parts.append(data.where(inside, 0).sum(names).expand_dims(place=[str(name)]))
    return xr.concat(parts, "place")


def _inside(
    data: xr.Dataset,
    name: str,
    region: Any,
    names: tuple[str, str],
    masks: xr.Dataset,
    file: str,
) -> xr.DataArray:
    """Return which cells belong to a region (lat, lon)."""
    lat, lon = (data[n].values for n in names)
    if isinstance(region, str) and region in masks and set(masks[region].dims) == set(names):
        mask = masks[region].transpose(*names).load()
        inside = xr.DataArray((mask.values != 0) & mask.notnull().values, dims=names)
    elif _is_box(region):
        inside = xr.DataArray(box_mask(lat, lon, region), dims=names)
    else:
        raise InputError(
            None,
            f"counts.prepare.regions.{name}",
            repr(region),
            f"south,north,west,east in degrees, or a variable ({', '.join(names)}) of the files",
            nearest(region, [str(m) for m in masks]) if isinstance(region, str) else "",
        )
    if not bool(inside.any()):
        raise InputError(
            file,
            f"region {name!r}",
            "no cell inside",
            f"latitudes {lat.min():g}..{lat.max():g}, longitudes {lon.min():g}..{lon.max():g}",
            "Correct the box or the mask.",
        )
    return inside


def _is_box(region: Any) -> bool:
    return (
        isinstance(region, (list, tuple))
        and len(region) == 4
        and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in region)
        and region[0] <= region[1]
    )


def stack_cells(data: xr.Dataset, names: tuple[str, str]) -> xr.Dataset:
    """Return the data with one ``place`` per cell, named by its centre."""
    stacked = data.stack(place=names)
    centres = stacked["place"].values
    for digits in (2, 4, 8):  # as few as tell the cells apart
        labels = [f"{lat:.{digits}f}N {lon:.{digits}f}E" for lat, lon in centres]
        if len(set(labels)) == len(labels):
            break
    return stacked.drop_vars(["place", *names]).assign_coords(place=labels)
