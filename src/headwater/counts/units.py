"""Daily values in the units of the event catalogue: mm day-1 and degC, or a clear refusal.

A flux (kg m-2 s-1, mm s-1) becomes a depth per day (x 86400); a depth in m becomes mm; K become
degC. The unit of a file is believed, never guessed from its values.
"""

from __future__ import annotations

import xarray as xr

from headwater.core.errors import InputError

SECONDS = 86400.0
# normalised unit -> (family, factor, shift) to the unit of the family
KNOWN = {
    "mm day-1": ("mm day-1", 1.0, 0.0),
    "kg m-2 s-1": ("mm day-1", SECONDS, 0.0),
    "mm s-1": ("mm day-1", SECONDS, 0.0),
    "kg m-2 day-1": ("mm day-1", 1.0, 0.0),
    "m": ("mm day-1", 1000.0, 0.0),
    "m day-1": ("mm day-1", 1000.0, 0.0),
    "cm day-1": ("mm day-1", 10.0, 0.0),
    "mm": ("mm day-1", 1.0, 0.0),
    "degC": ("degC", 1.0, 0.0),
    "K": ("degC", 1.0, -273.15),
    "m s-1": ("m s-1", 1.0, 0.0),
    "km h-1": ("m s-1", 1 / 3.6, 0.0),
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


def convert(values: xr.DataArray, wanted: str, name: str, file: str) -> xr.DataArray:
    """Return values in the unit `wanted`.

    Raises
    ------
    InputError
        If the variable has no unit or one that does not lead to `wanted`.
    """
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
    _, factor, shift = KNOWN[unit]
    if factor == 1.0 and shift == 0.0:
        return values
    # in float64: a threshold such as 1.0 mm must not be met or missed by rounding
    return values.astype("float64") * factor + shift
