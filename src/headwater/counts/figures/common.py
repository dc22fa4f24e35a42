"""What several figures of counts share: the time axis, event lines, count scales, words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from headwater.core import style
from headwater.core.format import format_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

MAX_NAME = 28


@dataclass(frozen=True)
class TimeAxis:
    """Where the steps stand: their values (step), a label with the unit, and the kind."""

    values: np.ndarray
    label: str
    in_time: bool


def time_axis(cube: xr.Dataset | None, n_steps: int) -> TimeAxis:
    """Return the times of the steps where all series share them, else the step numbers.

    Parameters
    ----------
    cube : Dataset or None
        With ``time`` (series, step) and its units, NaN where a step was not visited.
    n_steps : int
        Number of steps, T.
    """
    steps = TimeAxis(np.arange(n_steps, dtype=float), "step", in_time=False)
    if cube is None or "time" not in cube:
        return steps
    times = np.asarray(cube["time"].values, dtype=float)
    known = np.isfinite(times)
    if not known.any(axis=0).all():
        return steps
    low = np.where(known, times, np.inf).min(axis=0)
    high = np.where(known, times, -np.inf).max(axis=0)
    if not np.allclose(low, high, rtol=0, atol=1e-9 * (1 + np.abs(low))):
        return steps
    units = str(cube["time"].attrs.get("units") or cube.attrs.get("time_units") or "").strip()
    return TimeAxis(low, f"time ({units})" if units else "time", in_time=True)


def observed_counts_of(cube: xr.Dataset) -> np.ndarray:
    """Return counts (series, step, feature) as float, NaN where nothing was observed."""
    counts = cube["counts"].values.astype(float)
    counts[counts < 0] = np.nan
    if "observed" in cube:
        counts[cube["observed"].values == 0] = np.nan
    return counts


def events_within(
    events: Sequence[Mapping[str, Any]], cube: xr.Dataset
) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """Return the events that lie within the times of a cube, and the others.

    Drawn, those would leave no room for the data; their unit is probably another.
    """
    axis = time_axis(cube, cube.sizes["step"])
    low, high = float(axis.values.min()), float(axis.values.max())
    inside = [e for e in events if low <= _place(e, axis) <= high]
    return inside, [e for e in events if e not in inside]


def _place(event: Mapping[str, Any], axis: TimeAxis) -> float:
    return float(event["time"] if axis.in_time else event.get("step", event["time"]))


def draw_events(
    axes: Axes, events: Sequence[Mapping[str, Any]], axis: TimeAxis, labels: bool
) -> None:
    """Mark interventions ``{time, label}`` by thin lines; on a step axis by their step.

    Labels that would stand on each other become one.
    """
    places = [_place(e, axis) for e in events]
    words: list[tuple[float, str]] = []
    reach = 0.15 * float(np.ptp(axis.values))
    for place, event in sorted(zip(places, events, strict=True), key=lambda pair: pair[0]):
        axes.axvline(place, color=style.MUTED, linewidth=0.9, linestyle=(0, (3, 2)), zorder=0)
        label = str(event.get("label", ""))
        if words and place - words[-1][0] < reach:
            words[-1] = (words[-1][0], f"{words[-1][1]}, {label}")
        else:
            words.append((place, label))
    if labels:
        for place, label in words:
            axes.annotate(
                short(label, 40),
                (place, 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(3, 2),
                textcoords="offset points",
                fontsize=7.5,
                color=style.MUTED,
                va="bottom",
            )


def step_ticks(axes: Axes, axis: TimeAxis, count: int = 6) -> None:
    """Label the columns of a heat map, which are steps, by their times."""
    total = len(axis.values)
    places = np.unique(np.linspace(0, total - 1, min(count, total)).round().astype(int))
    axes.set_xticks(places, [format_value(float(axis.values[i])) for i in places])


def count_heat(axes: Axes, counts: np.ndarray, top: float) -> AxesImage:
    """Draw counts (row, column) on the scale log(1 + count) up to `top` counts."""
    return style.heat(axes, np.log1p(counts), vmin=0.0, vmax=np.log1p(max(top, 1.0)))


def count_ticks(top: float) -> dict[float, str]:
    """Return places on the scale log(1 + count) and the counts to write there."""
    values = [0, *([1] if top < 100 else []), *(10**k for k in range(1, 12))]
    return {float(np.log1p(v)): format_value(v) for v in values if v <= max(top, 1.0)}


def short(name: str, limit: int = MAX_NAME) -> str:
    """Return a name that fits beside an axis: its middle is left out if it is long."""
    if len(name) <= limit:
        return name
    end = (limit - 1) // 3
    return f"{name[: limit - 1 - end]}…{name[-end:]}"


def names(dataset: xr.Dataset, dim: str) -> list[str]:
    """Return the labels along `dim`; numbers from 0 where there are none."""
    if dim in dataset.coords:
        return [str(v) for v in dataset[dim].values]
    return [str(i) for i in range(dataset.sizes[dim])]


def component(index: int) -> str:
    """Return the name of source `index`, counted from 1."""
    return f"component {index + 1}"


def plural(number: int, noun: str) -> str:
    """Return ``1 series`` or ``3 components``."""
    if number == 1 or noun.endswith("s"):
        return f"{format_value(number)} {noun}"
    return f"{format_value(number)} {noun}s"


def grid_of(number: int, columns: int) -> tuple[int, int]:
    """Return rows and columns of a grid for `number` panels."""
    columns = max(1, min(columns, number))
    return -(-number // columns), columns


def hide_rest(axes: np.ndarray, used: int) -> None:
    """Hide the panels of a grid beyond the first `used`."""
    for ax in axes.ravel()[used:]:
        ax.set_visible(False)
