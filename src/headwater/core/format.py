"""Values as a reader wants to see them: four digits, no value as a dash, a key to sort by."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_THIN = "\u202f"  # a narrow space that does not break


@dataclass(frozen=True)
class Cell:
    """A table cell whose text, order or look is not that of its bare value.

    Attributes
    ----------
    text : str
        What is shown.
    sort : float or str
        What the column is sorted by.
    small : str
        A second, smaller piece after the text, such as an interval.
    mark : str
        A word shown as a badge (``best``, ``baseline``, ``null``).
    """

    text: str
    sort: float | str = ""
    small: str = ""
    mark: str = ""


def format_value(value: Any) -> str:
    """Return a number or text for a table: about four digits, and a dash for no value."""
    if isinstance(value, Cell):
        return value.text
    if isinstance(value, str):
        return value
    if is_missing(value):
        return "–"
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return _signed(_grouped(f"{abs(value)}"), value < 0)
    if isinstance(value, float):
        return _signed(_format_size(abs(value)), value < 0)
    return str(value)


def format_interval(low: Any, high: Any) -> str:
    """Return ``low to high``, or nothing where either is missing."""
    if is_missing(low) or is_missing(high):
        return ""
    return f"{format_value(low)} to {format_value(high)}"


def is_missing(value: Any) -> bool:
    """Return whether `value` is None, NaN, NaT or pandas' NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return bool(value != value) if hasattr(value, "__float__") else False


def sort_key(value: Any) -> str:
    """Return what a table column is sorted by: a bare number or lower-case text."""
    if isinstance(value, Cell):
        value = value.text if value.sort == "" else value.sort
    if is_missing(value):
        return ""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, int | float):
        return f"{value:.9g}"
    return str(value).lower()


def slug(text: str) -> str:
    """Return `text` as an id: small letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "part"


def _signed(text: str, negative: bool) -> str:
    return "−" + text if negative else text


def _format_size(value: float) -> str:
    if math.isinf(value):
        return "∞"
    if value == 0:
        return "0"
    if value >= 1e7 or value < 1e-4:
        mantissa, _, exponent = f"{value:.3e}".partition("e")
        mantissa = mantissa.rstrip("0").rstrip(".")
        return f"{mantissa}×10{str(int(exponent)).translate(_SUPERSCRIPT)}"
    digits = max(0, 3 - math.floor(math.log10(value)))
    whole, point, rest = f"{value:.{digits}f}".partition(".")
    rest = rest.rstrip("0")
    return _grouped(whole) + (point + rest if rest else "")


def _grouped(digits: str) -> str:
    """Return digits in groups of three from 10 000 on; years and steps stay whole."""
    return f"{int(digits):,}".replace(",", _THIN) if len(digits) > 4 else digits
