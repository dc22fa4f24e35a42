"""Reward for reactive room below the upper limit of every generator."""

from __future__ import annotations

from ._schema import each, positive

NAME = "reactive_reserve"
GROUP = "objective"
APPLIES_TO = ("ACOPF", "SOCP")
PARAMETERS = {
    "weight": each(positive("Reward of the room QMAX - q", "$/MVAr per hour")),
}
REQUIRED = ("weight",)
