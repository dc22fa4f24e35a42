"""Cap on the emissions of all generators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._common import dot, keep, per_row, reporter
from ._schema import listed, positive

if TYPE_CHECKING:
    from ..model import Model

NAME = "emission_cap"
GROUP = "constraints"
APPLIES_TO = ("ACOPF", "DCOPF", "ED", "SOCP")
PARAMETERS = {
    "rates_t_per_mwh": listed(positive("Emission of a generator", "t/MWh")),
    "cap_t_per_h": positive("Most that all may emit", "t/h"),
}
REQUIRED = ("rates_t_per_mwh", "cap_t_per_h")


def apply(model: Model, values: dict[str, Any]) -> None:
    """Require sum_g e_g p_g <= cap."""
    n = model.network
    emitted = n.base * dot(per_row(n, values["rates_t_per_mwh"]), model.pg)
    model.program.constrain(NAME, emitted / n.base, upper=values["cap_t_per_h"] / n.base)
    keep(model, NAME, "emission_t_per_h", emitted, total=True)


report = reporter(NAME)
