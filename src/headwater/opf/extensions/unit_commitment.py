"""Units are switched on and off, with minimum times and start costs."""

from __future__ import annotations

from ._schema import each, positive

NAME = "unit_commitment"
GROUP = "variables"
APPLIES_TO = ("DCOPF", "ED")
PARAMETERS = {
    "startup_cost": each(positive("Cost of a start; STARTUP of the case by default", "$")),
    "shutdown_cost": each(positive("Cost of a stop; SHUTDOWN of the case by default", "$")),
    "min_up_h": each(positive("Least time on after a start", "h", default=0.0)),
    "min_down_h": each(positive("Least time off after a stop", "h", default=0.0)),
    "initial_on": {
        "type": "array",
        "items": {"enum": [0, 1]},
        "minItems": 1,
        "description": "State before the first period, in file order; free by default",
        "x-each": "gen",
    },
}
REQUIRED = ()
DEFINES = ("commitment",)
