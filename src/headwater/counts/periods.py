"""The full grid of periods of a daily record, in the calendar of its file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import xarray as xr

from headwater.core.errors import InputError

# A period is named by its first day: month ends and the like would shift days by one.
FREQUENCY = re.compile(r"[1-9]?\d*(D|MS|(QS|YS)(-[A-Z]{3})?)")


def period_grid(
    time: xr.DataArray, freq: str, file: str
) -> tuple[np.ndarray, np.ndarray, Sequence[Any]]:
    """Return the period of each day, the days of each period, and the first day of each.

    The grid runs from the first to the last period without a hole, in the file's calendar.

    Raises
    ------
    InputError
        If times repeat or are not daily, or the frequency is not one of starts.
    """
    _check_freq(freq)
    days = time.dt.floor("D").to_index()
    _check_daily(days, file)
    cftime = time.dtype == object
    options = {"freq": freq, "calendar": time.dt.calendar, "use_cftime": cftime}
    starts = xr.date_range(_floor(days[0], options), days[-1], **options)
    after = xr.date_range(starts[-1], periods=2, **options)[1]
    ends = [*starts[1:], after]
    lengths = np.array([(e - s).days for s, e in zip(starts, ends, strict=True)])
    index = np.searchsorted(np.asarray(starts), np.asarray(days), side="right") - 1
    return index, lengths, list(starts)


def _check_daily(days: Any, file: str) -> None:
    if days.has_duplicates:
        raise InputError(
            file,
            f"time {days[days.duplicated()][0]}",
            "a second value on this day",
            "daily values",
            "Give daily means or sums.",
        )
    gaps = [(b - a).days for a, b in pairwise(days)]
    if gaps and np.median(gaps) > 1:
        raise InputError(
            file,
            "variable time",
            f"values {np.median(gaps):g} days apart",
            "daily values",
            "Event days cannot be told from means of longer periods: give daily data.",
        )


def _check_freq(freq: str) -> None:
    try:
        if not FREQUENCY.fullmatch(freq):
            raise ValueError("D, MS, QS, QS-DEC or YS, with a number before it or without")
        xr.date_range("2000-01-01", periods=2, freq=freq, calendar="noleap", use_cftime=True)
    except ValueError as error:
        raise InputError(
            None,
            "counts.prepare.freq",
            repr(freq),
            f"a frequency of first days such as MS ({error})",
            "Set prepare freq=MS for months.",
        ) from None


def _floor(day: Any, options: dict[str, Any]) -> Any:
    """Return the first day of the period that holds `day`; runs of n days start at it."""
    if options["freq"].endswith("D") and "-" not in options["freq"]:
        return day
    # counted from the year before: xarray finds nothing backwards from a day between anchors
    begin = day.replace(year=day.year - 1, month=1, day=1)
    return xr.date_range(begin, day, **options)[-1]
