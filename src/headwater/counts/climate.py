"""Daily fields and station records -> event days per period.

Days are counted in the calendar of the file (standard, noleap, 360_day), never converted. The
full grid of periods is built first, so a period without rows is unobserved, not zero. Data are
read a block at a time, so a grid larger than memory works.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from headwater.core.config import nearest
from headwater.core.errors import InputError
from headwater.core.io import sha256

from .daily import BLOCK_BYTES, open_daily
from .event_table import sample_table
from .percentiles import quantile
from .periods import period_grid
from .regions import axis_names, pool, stack_cells
from .settings import PrepareSettings
from .units import in_file_units

OPERATORS = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}
WET = 1.0  # mm day-1, of percentiles over wet days
# What no day on earth leaves; models have rain that is a little below 0.
PLAUSIBLE = {"mm day-1": (-10, 5000), "degC": (-150, 100), "m s-1": (-200, 200)}


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
    shown = ", ".join(map(str, files))
    if not files:
        raise InputError(
            None, "files", "nothing", "daily files", "Name them in the data set's row."
        )
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
        _check_event(known[name])
    return [known[n] for n in names]


def _check_event(event: Mapping[str, Any]) -> None:
    place = f"counts.events, event {event['name']}"
    if event["op"] not in OPERATORS:
        choices = ", ".join(OPERATORS)
        raise InputError(
            None, place, f"op {event['op']!r}", f"one of {choices}", f"Set op to one of {choices}."
        )
    if ("threshold" in event) == ("percentile" in event):
        found = "both threshold and percentile" if "threshold" in event else "no threshold"
        raise InputError(
            None, place, found, "threshold or percentile", "Give the event one of the two."
        )


def event_days(
    daily: xr.Dataset, options: PrepareSettings, events: Sequence[Mapping[str, Any]], file: str
) -> xr.Dataset:
    """Count days per event, place and period.

    Returns
    -------
    Dataset
        count, valid_days, exposure (event, period, place) and days: the days that the calendar
        says there are; coordinates year and month of each period. For regions all are cell-days.
    """
    index, lengths, periods = period_grid(daily["time"], options.freq, file)
    counts, valid = [], []
    for event in events:
        name = options.variables.get(event["var"], event["var"])
        values = daily[name]
        threshold = _threshold(values, event, name, options, file)
        limits = _limits(values, event, name, file)
        hits, there = _count_days(values, event, threshold, limits, index, len(periods))
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


def _count_days(
    values: xr.DataArray,
    event: Mapping[str, Any],
    threshold: xr.DataArray | np.floating,
    limits: Callable[[xr.DataArray], None],
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
        limits(block)
        # where the base period gives no percentile, a day says nothing
        there = block.notnull() & ~np.isnan(threshold)
        hit = (OPERATORS[event["op"]](block, threshold) & there).transpose(*values.dims).values
        for p in range(first, last):
            days = slice(starts[p] - starts[first], starts[p + 1] - starts[first])
            counts[p] = hit[days].sum(0)
            valid[p] = there.values[days].sum(0)
    dims = ("period", *values.dims[1:])
    coords = {n: c for n, c in values.coords.items() if "time" not in c.dims}
    return xr.DataArray(counts, coords, dims), xr.DataArray(valid, coords, dims)


def _limits(
    values: xr.DataArray, event: Mapping[str, Any], name: str, file: str
) -> Callable[[xr.DataArray], None]:
    """Return a check that a block holds nothing that weather cannot be.

    A missing value that the file does not declare (-9999, 1e20) would count as a day without
    or with an event, and so would kelvin that say degC.
    """
    unit = event["units"]
    low, high = (in_file_units(v, unit, values, name, file) for v in PLAUSIBLE[unit])

    def check(block: xr.DataArray) -> None:
        bad = ((block < low) | (block > high)).values
        if bad.any():
            place = tuple(np.argwhere(bad)[0])
            time = block["time"].values[place[block.dims.index("time")]]
            raise InputError(
                file,
                f"variable {name}, time {str(time)[:10]}",
                f"{block.values[place]:g}, where the unit is {values.attrs['units']}",
                f"values of {low:g}..{high:g}",
                "Declare missing values by the attribute _FillValue, or correct the unit.",
            )

    return check


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
    values: xr.DataArray,
    event: Mapping[str, Any],
    name: str,
    options: PrepareSettings,
    file: str,
) -> xr.DataArray | np.floating:
    """Return the threshold in the unit of the file: a number, or a percentile at each place.

    The percentile is over all valid days of the base period (over wet days, >= 1 mm, with
    ``wet_only``), the whole year together, linear between order statistics (numpy's default,
    definition 7 of Hyndman and Fan 1996); NaN where the base period has no such day.
    """
    if "threshold" in event:
        return in_file_units(float(event["threshold"]), event["units"], values, name, file)
    wet = in_file_units(WET, event["units"], values, name, file)  # checks the unit as well
    low, high = options.base
    year = values["time"].dt.year
    first, last = int(year.min()), int(year.max())
    if low < first or high > last:
        raise InputError(
            file,
            f"event {event['name']}",
            f"days of {first}..{last}",
            f"all years of the base period {low}..{high}",
            "Set prepare base=FIRST,LAST to years of the file.",
        )
    base = values.sel(time=(year >= low) & (year <= high))
    if event.get("wet_only"):
        base = base.where(base >= wet)
    return quantile(base, event["percentile"] / 100, BLOCK_BYTES)


def _places(data: xr.Dataset, options: PrepareSettings, masks: xr.Dataset, file: str) -> xr.Dataset:
    """Return the data with one dimension ``place``: regions, cells, stations or a single one."""
    names = axis_names(data)
    other = [d for d in data["count"].dims if d not in {"event", "period", *(names or ())}]
    single = [d for d in other if data.sizes[d] == 1]  # such as a height
    if names or len(other) > 1:
        data = data.squeeze(single, drop=True)
        other = [d for d in other if d not in single]
    if len(other) > (0 if names else 1):
        raise InputError(
            file,
            "",
            f"dimensions {', '.join(map(str, [*(names or ()), *other]))} beside time",
            "stations, or latitude and longitude",
            "Choose one member or level, or put a curvilinear grid on latitudes and longitudes.",
        )
    if names and options.regions:
        return pool(data, options, names, masks, file)
    if options.regions:
        raise InputError(
            file,
            "counts.prepare.regions",
            "data without dimensions of latitude and longitude",
            "a grid",
            "Leave regions out: stations are places already.",
        )
    data["exposure"] = data["valid_days"].astype(float)
    if names:
        return stack_cells(data, names)
    if not other:
        return data.expand_dims(place=["all"])
    data = data.rename({other[0]: "place"})
    extra = [c for c in data.coords if data[c].dims == ("place",) and c != "place"]
    return data.drop_vars(extra)
