"""Daily fields and station records -> event days per period (counts.md §9.2).

Days are counted in the calendar of the file (standard, noleap, 360_day), never converted. The
full grid of periods is built first, so a period without rows is unobserved, not zero. Data are
read a block at a time, so a grid larger than memory works.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from headwater.core.config import nearest
from headwater.core.errors import InputError
from headwater.core.io import sha256

from .daily import BLOCK_BYTES, open_daily
from .regions import axis_names, pool, stack_cells
from .settings import PrepareSettings
from .units import convert

OPERATORS = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}
FEW_STATIONS = 5
LOOSE = 0.3  # mean share of event days above which Poisson is a loose law
WET = 1.0  # mm day-1, of percentiles over wet days


def read_events(
    files: Sequence[str], settings: Mapping[str, Any], events: Sequence[Mapping[str, Any]]
) -> xr.Dataset:
    """Return the sample table of event days: one sample per series and period.

    Raises
    ------
    InputError
        Naming file, variable, unit or time of the first fault.
    """
    options = PrepareSettings.from_mapping(settings)
    shown = ", ".join(files)
    with open_daily(files) as daily:
        counted = event_days(daily, options, chosen_events(events, options, daily, shown), shown)
        origin = {
            "source": str(daily.attrs.get("source") or ", ".join(Path(f).name for f in files)),
            "licence": str(daily.attrs.get("licence") or daily.attrs.get("license") or ""),
        }
    table = sample_table(counted, options, shown)
    hashes = [sha256(f) for f in files if Path(f).is_file()]
    return table.assign_attrs(origin, headwater_sha256=" ".join(hashes))


def chosen_events(
    events: Sequence[Mapping[str, Any]], options: PrepareSettings, daily: xr.Dataset, file: str
) -> list[dict[str, Any]]:
    """Return the events to count: those named, or all whose variable the file has."""
    known = {e["name"]: dict(e) for e in events}
    for name in options.events:
        if name not in known:
            raise InputError(
                None,
                "counts.prepare.events",
                repr(name),
                "an event of counts.events",
                nearest(name, sorted(known)),
            )
    there = set(map(str, daily.data_vars))
    names = options.events or [
        n for n, e in known.items() if options.variables.get(e["var"], e["var"]) in there
    ]
    if not names:
        raise InputError(
            file,
            "",
            "variables " + ", ".join(sorted(there)),
            "a variable of the event catalogue: " + ", ".join(sorted({e["var"] for e in events})),
            "Set prepare variables.NAME=NAME_IN_FILE, or add events to counts.events.",
        )
    for name in names:
        variable = options.variables.get(known[name]["var"], known[name]["var"])
        if variable not in there:
            raise InputError(
                file,
                f"event {name}",
                f"no variable {variable!r}",
                "one of " + ", ".join(sorted(there)),
                nearest(variable, sorted(there)),
            )
    return [known[n] for n in names]


def event_days(
    daily: xr.Dataset, options: PrepareSettings, events: Sequence[Mapping[str, Any]], file: str
) -> xr.Dataset:
    """Count days per event, place and period.

    Returns
    -------
    Dataset
        count, valid_days (event, period, place; int) and days (period): the days that the
        calendar says there are; coordinates year and month of each period. For regions all
        three are cell-days.
    """
    index, lengths, periods = period_grid(daily["time"], options.freq, file)
    counts, valid = [], []
    for event in events:
        name = options.variables.get(event["var"], event["var"])
        values = convert(daily[name], event["units"], name, file)
        threshold = _threshold(values, event, options, file)
        hits, there = _count_days(values, event, threshold, index, len(periods))
        counts.append(hits)
        valid.append(there)
    result = xr.Dataset(
        {
            "count": xr.concat(
                counts, "event", join="override", coords="minimal", compat="override"
            ),
            "valid_days": xr.concat(
                valid, "event", join="override", coords="minimal", compat="override"
            ),
        }
    )
    result["days"] = ("period", lengths)
    result = result.assign_coords(
        event=[e["name"] for e in events],
        year=("period", [p.year for p in periods]),
        month=("period", [p.month for p in periods]),
    )
    static = [n for n in daily.data_vars if "time" not in daily[n].dims]
    return _places(result, options, daily[static], file)


def period_grid(
    time: xr.DataArray, freq: str, file: str
) -> tuple[np.ndarray, np.ndarray, Sequence[Any]]:
    """Return the period of each day, the days of each period, and the first day of each.

    The grid runs from the first to the last period without a hole, in the file's calendar.

    Raises
    ------
    InputError
        If times repeat or are not daily.
    """
    _check_freq(freq)
    calendar = time.dt.calendar
    values = time.dt.floor("D")
    if values.to_index().has_duplicates:
        again = values.to_index()[values.to_index().duplicated()][0]
        raise InputError(
            file,
            f"time {again}",
            "a second value on this day",
            "daily values",
            "Give daily means or sums.",
        )
    first, last = values[0].item(), values[-1].item()
    if not hasattr(first, "year"):  # datetime64 scalars come as integers
        first, last = values.to_index()[0], values.to_index()[-1]
    begin = _floor(first, freq, calendar)
    starts = xr.date_range(begin, last, freq=freq, calendar=calendar, use_cftime=_cftime(time))
    after = xr.date_range(
        starts[-1], periods=2, freq=freq, calendar=calendar, use_cftime=_cftime(time)
    )[1]
    ends = [*starts[1:], after]
    lengths = np.array([(e - s).days for s, e in zip(starts, ends, strict=True)])
    index = np.searchsorted(np.asarray(starts), np.asarray(values.to_index()), side="right") - 1
    return index, lengths, list(starts)


def _check_freq(freq: str) -> None:
    try:
        xr.date_range("2000-01-01", periods=2, freq=freq, calendar="noleap", use_cftime=True)
    except ValueError as error:
        raise InputError(
            None,
            "counts.prepare.freq",
            repr(freq),
            f"a pandas frequency such as MS or QS ({error})",
        ) from None


def _cftime(time: xr.DataArray) -> bool:
    return time.dtype == object


def _floor(day: Any, freq: str, calendar: str) -> Any:
    """Return the first day of the period that holds `day`; runs of n days start at it."""
    if freq.lstrip("0123456789") == "D":
        return day
    # counted from the year before: xarray finds nothing backwards from a day between anchors
    begin = day.replace(year=day.year - 1, month=1, day=1)
    cftime = not hasattr(day, "asm8")
    return xr.date_range(begin, day, freq=freq, calendar=calendar, use_cftime=cftime)[-1]


def _count_days(
    values: xr.DataArray,
    event: Mapping[str, Any],
    threshold: xr.DataArray | float,
    index: np.ndarray,
    periods: int,
) -> tuple[xr.DataArray, xr.DataArray]:
    """Return event days and valid days (period, ...), one block of whole periods at a time.

    Only a block is in memory, so the field may be larger than that.
    """
    starts = np.searchsorted(index, np.arange(periods + 1))  # first day of each period
    shape = [values.sizes[d] for d in values.dims if d != "time"]
    values = values.transpose("time", ...)
    counts = np.zeros((periods, *shape), dtype=np.int32)
    valid = np.zeros((periods, *shape), dtype=np.int32)
    for first, last in _blocks(starts, int(np.prod(shape, dtype=np.int64)) * 8):
        block = values.isel(time=slice(starts[first], starts[last])).compute()
        there = block.notnull()
        hit = (OPERATORS[event["op"]](block, threshold) & there).transpose(*values.dims).values
        for p in range(first, last):
            days = slice(starts[p] - starts[first], starts[p + 1] - starts[first])
            counts[p] = hit[days].sum(0)
            valid[p] = there.values[days].sum(0)
    dims = ("period", *values.dims[1:])
    coords = {n: c for n, c in values.coords.items() if "time" not in c.dims}
    return xr.DataArray(counts, coords, dims), xr.DataArray(valid, coords, dims)


def _blocks(starts: np.ndarray, day_bytes: int) -> list[tuple[int, int]]:
    """Return ranges of periods whose days fit into BLOCK_BYTES (one period at least)."""
    ranges, first = [], 0
    for p in range(1, len(starts)):
        full = (starts[p] - starts[first]) * day_bytes > BLOCK_BYTES
        if full and p - 1 > first:
            ranges.append((first, p - 1))
            first = p - 1
    return [*ranges, (first, len(starts) - 1)]


def _threshold(
    values: xr.DataArray, event: Mapping[str, Any], options: PrepareSettings, file: str
) -> xr.DataArray | float:
    """Return the threshold: a number, or the percentile of the base period at each place.

    The percentile is over all valid days of the base period (over wet days, >= 1 mm, with
    ``wet_only``), linear between order statistics.
    """
    if "threshold" in event:
        return float(event["threshold"])
    low, high = options.base
    year = values["time"].dt.year
    base = values.sel(time=(year >= low) & (year <= high))
    if base.sizes["time"] == 0:
        span = f"{int(year.min())}..{int(year.max())}"
        raise InputError(
            file,
            f"event {event['name']}",
            f"no day of the base period {low}..{high}",
            f"years within {span}",
            "Set prepare base=FIRST,LAST.",
        )
    if event.get("wet_only"):
        base = base.where(base >= WET)
    return _quantile(base, event["percentile"] / 100)


def _quantile(base: xr.DataArray, q: float) -> xr.DataArray:
    """Return the quantile along time, some places at a time so that memory is bounded."""
    places = [d for d in base.dims if d != "time"]
    if not places:
        return base.quantile(q, "time", skipna=True).drop_vars("quantile")
    size = base.sizes[places[0]]
    step = max(1, BLOCK_BYTES * size // max(1, base.size * 8))
    parts = [
        base.isel({places[0]: slice(i, i + step)}).compute().quantile(q, "time", skipna=True)
        for i in range(0, size, step)
    ]
    return xr.concat(parts, places[0]).drop_vars("quantile")


def _places(data: xr.Dataset, options: PrepareSettings, masks: xr.Dataset, file: str) -> xr.Dataset:
    """Return the data with one dimension ``place``: regions, cells, stations or a single one."""
    names = axis_names(data)
    if names and options.regions:
        days = data["days"]
        pooled = pool(data.drop_vars("days"), options.regions, names, masks, file)
        ones = xr.ones_like(data[["count"]].isel(event=0, period=0))
        cells = pool(ones, options.regions, names, masks, file)["count"]
        return pooled.assign(days=days * cells)
    if names:
        return stack_cells(data, names)
    other = [d for d in data["count"].dims if d not in {"event", "period"}]
    if not other:
        return data.expand_dims(place=["all"])
    if len(other) > 1:
        raise InputError(
            file, "", f"dimensions {', '.join(other)}", "one of stations, or lat and lon"
        )
    data = data.rename({other[0]: "place"})
    extra = [c for c in data.coords if data[c].dims == ("place",) and c != "place"]
    return data.drop_vars(extra)


def sample_table(counted: xr.Dataset, options: PrepareSettings, file: str) -> xr.Dataset:
    """Return event days as samples x features.

    ``series_by=year``: a sample is a month of a year, features are event x place, all places
    must be observed. ``location``: a sample is a period of a place, features are events.
    Exposure is the mean of valid days over features (valid cell-days for regions); a period is
    observed when valid / days >= min_valid for every feature. Counts are never rescaled.
    """
    by = options.series_by
    if by == "auto":
        by = "year" if counted.sizes["place"] <= FEW_STATIONS else "location"
    days = counted["days"]
    share = counted["valid_days"] / days
    valid = counted["valid_days"].astype(float)
    data = xr.Dataset({"count": counted["count"], "valid": valid, "share": share, "days": days})
    return _by_year(data, options) if by == "year" else _by_location(data, options)


def _by_year(data: xr.Dataset, options: PrepareSettings) -> xr.Dataset:
    flat = data.stack(feature=("event", "place")).transpose("period", "feature")
    one = data.sizes["place"] == 1
    names = [e if one else f"{e} {p}" for e, p in flat["feature"].values]
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
    return _samples(
        flat["count"].values,
        flat["valid"].values,
        flat["share"].values,
        [str(y) for y in years],
        months.astype(float),
        names,
        options,
        "month of the year",
    )


def _by_location(data: xr.Dataset, options: PrepareSettings) -> xr.Dataset:
    flat = data.stack(sample=("place", "period")).transpose("sample", "event")
    places = [str(p) for p, _ in flat["sample"].values]
    index = np.array([t for _, t in flat["sample"].values], dtype=float)
    return _samples(
        flat["count"].values,
        flat["valid"].values,
        flat["share"].values,
        places,
        index,
        [str(e) for e in data["event"].values],
        options,
        "periods since the first",
    )


def _samples(
    counts: np.ndarray,
    valid: np.ndarray,
    share: np.ndarray,
    series: Sequence[str],
    time: np.ndarray,
    features: Sequence[str],
    options: PrepareSettings,
    unit: str,
) -> xr.Dataset:
    observed = (share >= options.min_valid).all(1)
    exposure = valid.mean(1)
    return xr.Dataset(
        {
            "counts": (("sample", "feature"), counts.astype(np.int64)),
            "exposure": ("sample", exposure),
            "observed": ("sample", observed.astype(np.int8)),
        },
        coords={
            "sample": [f"{s}@{t:g}" for s, t in zip(series, time, strict=True)],
            "feature": list(features),
            "series": ("sample", list(series)),
            "time": ("sample", time),
        },
        attrs={
            "kind": "events",
            "exposure_kind": "valid_days",
            "time_units": options.time_units or unit,
        },
    )
