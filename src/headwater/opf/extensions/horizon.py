"""Several periods one after another, with profiles of demand.

The program holds one copy of the model for each period; the costs of a period count its hours.
A multiplier acts on every demand; a profile replaces the real demand of its bus, whose reactive
demand keeps its ratio to the real one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ._schema import bus, objects, one_or_more, positive

if TYPE_CHECKING:
    from ..model import Model

NAME = "horizon"
GROUP = "variables"
APPLIES_TO = ("ACOPF", "DCOPF", "ED", "SOCP")
PARAMETERS = {
    "load_multipliers": {
        "type": "array",
        "items": {"type": "number", "minimum": 0},
        "minItems": 1,
        "description": "Factor on every demand, one for each period (1)",
    },
    "hours": one_or_more(positive("Length of the periods", "h", exclusiveMinimum=0))
    | {"default": 1.0},
    "profiles": objects(
        "Demand of single buses, one value for each period",
        {
            "bus": bus("Bus"),
            "pd_mw": {
                "type": "array",
                "items": {"type": "number"},
                "minItems": 1,
                "description": "Real demand (MW); the reactive demand keeps the power factor",
            },
        },
        ("bus", "pd_mw"),
    ),
}
REQUIRED = ("load_multipliers",)
DEFINES = ("period",)


def check(values: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield lists that do not have one value for each period."""
    count = len(values["load_multipliers"])
    expected = f"{count}, one for each load multiplier"
    if isinstance(values["hours"], list) and len(values["hours"]) != count:
        yield "hours", f"{len(values['hours'])} entries", expected
    for k, profile in enumerate(values.get("profiles", ())):
        if len(profile["pd_mw"]) != count:
            yield f"profiles[{k}].pd_mw", f"{len(profile['pd_mw'])} entries", expected


def apply(model: Model, values: dict[str, Any]) -> None:
    """Do nothing: the periods are there before the extensions are applied to each."""
