"""Tick labels that are plain text: the style writes no mathematics."""

from __future__ import annotations

from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter


def plain_log(axis: Axis) -> None:
    """Make an axis logarithmic, its labels powers such as 1e-5."""
    getattr(axis.axes, f"set_{axis.axis_name}scale")("log")
    axis.set_major_locator(LogLocator(numticks=9))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _power(value)))
    axis.set_minor_formatter(NullFormatter())


def whole(axis: Axis) -> None:
    """Put ticks at whole numbers only."""
    axis.set_major_locator(MaxNLocator(integer=True, nbins=6))


def _power(value: float) -> str:
    if 0.001 <= value < 1000:
        return f"{value:g}"
    mantissa, power = f"{value:.0e}".split("e")
    return f"{mantissa}e{int(power)}"
