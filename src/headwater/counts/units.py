"""Thresholds in the unit of the file: mm day-1, degC or m s-1 are led there, or refused.

Not the values are converted but the threshold, and it is rounded to the precision that the
values are stored in. So a value that is exactly the threshold is that in every unit: 273.15 K
as a 32-bit number is 0 degC, not a frost day, and 1/86400 kg m-2 s-1 is 1 mm day-1.
The unit of a file is believed, never guessed from its values.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from headwater.core.errors import InputError

SECONDS = 86400
# unit of a file -> (wanted unit, times, divided by, plus): from the wanted unit to this one
KNOWN = {
    "mm day-1": ("mm day-1", 1, 1, 0.0),
    "kg m-2 s-1": ("mm day-1", 1, SECONDS, 0.0),
    "mm s-1": ("mm day-1", 1, SECONDS, 0.0),
    "kg m-2 day-1": ("mm day-1", 1, 1, 0.0),
    "m": ("mm day-1", 1, 1000, 0.0),
    "m day-1": ("mm day-1", 1, 1000, 0.0),
    "cm day-1": ("mm day-1", 1, 10, 0.0),
    "mm": ("mm day-1", 1, 1, 0.0),
    "degC": ("degC", 1, 1, 0.0),
    "K": ("degC", 1, 1, 273.15),
    "m s-1": ("m s-1", 1, 1, 0.0),
    "km h-1": ("m s-1", 3.6, 1, 0.0),
}
SPELLINGS = {
    "mm/day": "mm day-1",
    "mm/d": "mm day-1",
    "mm d-1": "mm day-1",
    "mm day**-1": "mm day-1",
    "kg/m2/s": "kg m-2 s-1",
    "kg m**-2 s**-1": "kg m-2 s-1",
    "kg/m^2/s": "kg m-2 s-1",
    "kg m-2 d-1": "kg m-2 day-1",
    "mm/s": "mm s-1",
    "meters": "m",
    "metre": "m",
    "C": "degC",
    "°C": "degC",
    "celsius": "degC",
    "Celsius": "degC",
    "degrees_celsius": "degC",
    "deg_C": "degC",
    "kelvin": "K",
    "Kelvin": "K",
    "m/s": "m s-1",
    "km/h": "km h-1",
}


def in_file_units(
    threshold: float, wanted: str, values: xr.DataArray, name: str, file: str
) -> np.floating:
    """Return a threshold given in the unit `wanted` in the unit and precision of `values`.

    Raises
    ------
    InputError
        If the variable has no unit or one that does not lead to `wanted`.
    """
    _, times, by, plus = KNOWN[_unit(wanted, values, name, file)]
    number = threshold * times / by
    if plus:
        number = float(f"{number + plus:.12g}")  # 0.1 + 273.15 is 273.25
    kind = values.dtype if values.dtype.kind == "f" else np.dtype(np.float64)
    return kind.type(number)


def _unit(wanted: str, values: xr.DataArray, name: str, file: str) -> str:
    found = str(values.attrs.get("units", "")).strip()
    ways = ", ".join(u for u, (family, *_) in KNOWN.items() if family == wanted)
    if not found:
        raise InputError(
            file,
            f"variable {name}",
            "no attribute units",
            f"one of {ways}",
            "Write the unit into the file.",
        )
    unit = SPELLINGS.get(found, found)
    if unit not in KNOWN or KNOWN[unit][0] != wanted:
        raise InputError(
            file,
            f"variable {name}, attribute units",
            repr(found),
            f"{wanted}, or one of {ways}, which are converted to it",
            "Convert the file, or correct its unit.",
        )
    return unit
