"""Daily weather that comes with the installation: Seattle 2012-2015, of `vega_datasets`."""

from __future__ import annotations

import numpy as np
import xarray as xr


def embedded_weather() -> xr.Dataset:
    """Return daily precipitation (mm day-1), tasmax, tasmin (degC) and wind (m s-1)."""
    from vega_datasets import local_data

    table = local_data.seattle_weather()
    columns = {
        "pr": ("precipitation", "mm day-1"),
        "tasmax": ("temp_max", "degC"),
        "tasmin": ("temp_min", "degC"),
        "wind": ("wind", "m s-1"),
    }
    start = np.datetime64("2012-01-01")
    days = (table["date"].to_numpy().astype("datetime64[D]") - start).astype(np.int64)
    return xr.Dataset(
        {
            name: ("time", table[column].to_numpy(dtype=float), {"units": unit})
            for name, (column, unit) in columns.items()
        },
        coords={"time": ("time", days, {"units": "days since 2012-01-01", "calendar": "standard"})},
        attrs={
            "title": "Daily weather of Seattle, 2012-2015",
            "source": "NOAA, as shipped by the Python package vega_datasets",
            "licence": "public domain (NOAA); package MIT",
        },
    )
