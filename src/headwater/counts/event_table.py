"""Event days per place and period as samples x features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from headwater.core.errors import InputError

from .settings import PrepareSettings

FEW_STATIONS = 5


def sample_table(counted: xr.Dataset, options: PrepareSettings, file: str) -> xr.Dataset:
    """Return event days as samples x features.

    ``series_by=year``: a sample is a month of a year, features are event x place, all places
    must be observed. ``location``: a sample is a period of a place, features are events.
    Exposure is the mean of valid days over features (valid cell-days for regions); a period is
    observed when valid / days >= min_valid for every feature. Counts are never rescaled.
    What has no valid day in the whole record (a cell of ocean in a field of land) is left out.

    Raises
    ------
    InputError
        If nothing has a valid day, or steps are shorter than a month in a series per year.
    """
    by = options.series_by
    if by == "auto":
        by = "year" if counted.sizes["place"] <= FEW_STATIONS else "location"
    data = counted[["count", "exposure"]].assign(share=counted["valid_days"] / counted["days"])
    valid = (counted["valid_days"] > 0).any("period").transpose("event", "place")
    if by == "year":
        return _by_year(data, valid, options, file)
    return _by_location(data, valid, options, file)


def _by_year(
    data: xr.Dataset, valid: xr.DataArray, options: PrepareSettings, file: str
) -> xr.Dataset:
    # steps are the periods of a year, from the first; a year without rows has unobserved ones
    years, months = data["year"].values, data["month"].values
    if len(set(zip(years, months, strict=True))) < len(years):
        raise InputError(
            None,
            "counts.prepare.freq",
            f"{options.freq!r}, several steps in a month, with a series per year",
            "steps of a month or longer",
            "Set prepare series_by=location.",
        )
    events, places = data["event"].values, data["place"].values
    one = len(places) == 1
    names = np.array([str(e) if one else f"{e} {p}" for e in events for p in places])
    keep = valid.values.ravel()
    note = _left_out(keep, names, file)
    flat = {
        n: data[n].transpose("period", "event", "place").values.reshape(len(years), -1)[:, keep]
        for n in ("count", "exposure", "share")
    }
    series = years.astype(str)
    return _samples(
        flat, series, months.astype(float), names[keep], options, "month of the year", note
    )


def _by_location(
    data: xr.Dataset, valid: xr.DataArray, options: PrepareSettings, file: str
) -> xr.Dataset:
    keep = valid.all("event").values
    places = data["place"].values.astype(str)
    note = _left_out(keep, places, file)
    periods = data.sizes["period"]
    flat = {
        n: data[n].transpose("place", "period", "event").values[keep].reshape(-1, len(data.event))
        for n in ("count", "exposure", "share")
    }
    series = np.repeat(places[keep], periods)
    time = np.tile(np.arange(periods, dtype=float), int(keep.sum()))
    names = data["event"].values.astype(str)
    return _samples(flat, series, time, names, options, "periods since the first", note)


def _left_out(keep: np.ndarray, names: Sequence[str], file: str) -> str:
    """Return a note about what has no valid day at all; refuse when that is everything."""
    if not keep.any():
        raise InputError(
            file,
            "",
            "no place with a valid day of every event",
            "daily values",
            "Look at the file, at prepare events and at the base period.",
        )
    gone = [str(n) for n in np.asarray(names)[~keep][:3]]
    if not gone:
        return ""
    more = ", ..." if (~keep).sum() > 3 else ""
    return f"{(~keep).sum()} of {len(keep)} without a valid day left out: {', '.join(gone)}{more}"


def _samples(
    flat: dict[str, np.ndarray],
    series: np.ndarray,
    time: np.ndarray,
    features: np.ndarray,
    options: PrepareSettings,
    unit: str,
    note: str,
) -> xr.Dataset:
    labels = np.char.add(np.char.add(series, "@"), _text(time))
    return xr.Dataset(
        {
            "counts": (("sample", "feature"), flat["count"].astype(np.int64)),
            "exposure": ("sample", flat["exposure"].mean(1)),
            "observed": ("sample", (flat["share"] >= options.min_valid).all(1).astype(np.int8)),
        },
        coords={
            "sample": labels,
            "feature": features.astype(str),
            "series": ("sample", series),
            "time": ("sample", time),
        },
        attrs={
            "kind": "events",
            "exposure_kind": "valid_days",
            "time_units": options.time_units or unit,
            "note": note,
        },
    )


def _text(time: np.ndarray) -> np.ndarray:
    unique, place = np.unique(time, return_inverse=True)
    return np.array([f"{t:g}" for t in unique])[place]
