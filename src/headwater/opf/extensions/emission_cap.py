"""Cap on the emissions of all generators."""

from __future__ import annotations

from ._schema import listed, positive

NAME = "emission_cap"
GROUP = "constraints"
APPLIES_TO = ("ACOPF", "DCOPF", "ED", "SOCP")
PARAMETERS = {
    "rates_t_per_mwh": listed(positive("Emission of a generator", "t/MWh")),
    "cap_t_per_h": positive("Most that all may emit", "t/h"),
}
REQUIRED = ("rates_t_per_mwh", "cap_t_per_h")
