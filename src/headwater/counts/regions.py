"""Pool grid cells into regions: sums of event days and of valid cell-days."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from headwater.core.config import nearest
from headwater.core.errors import InputError

from .settings import PrepareSettings

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
    options: PrepareSettings,
    names: tuple[str, str],
    masks: xr.Dataset,
    file: str,
) -> xr.Dataset:
    """Return the data with one ``place`` per region in place of latitude and longitude.

    A region is a box, or the name of a variable in `masks` that is not 0 inside. Counts and
    valid days are summed over its cells; a cell without any valid day (ocean in a field of
    land) is no part of it. ``days`` are the cell-days of the calendar.

    With ``cell_weights=area`` the exposure weights valid cell-days by the cosine of latitude,
    scaled to a mean of 1 over the region: a full record has the same exposure either way.

    Parameters
    ----------
    data : Dataset
        count, valid_days (event, period, lat, lon) and days (period).

    Raises
    ------
    InputError
        If a region is neither, or holds no cell.
    """
    ever = (data["valid_days"] > 0).any("period")
    cosine = np.cos(np.deg2rad(data[names[0]]))
    parts = []
    for name, region in options.regions.items():
        cells = _inside(data, str(name), region, names, masks, file) & ever
        part = (data[["count", "valid_days"]] * cells).sum(names)
        part["days"] = data["days"] * cells.sum(names)
        part["exposure"] = part["valid_days"].astype(float)
        if options.cell_weights == "area":
            weight = cosine * cells / cosine.where(cells).mean(names)
            part["exposure"] = (data["valid_days"] * weight).sum(names)
        parts.append(part.expand_dims(place=[str(name)]))
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
            nearest(region, [str(m) for m in masks])
            if isinstance(region, str) and len(masks)
            else f"Set prepare regions.{name}=SOUTH,NORTH,WEST,EAST.",
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
