"""The structure of a record in words: one sentence for every extension."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..extensions import GROUPS
from . import bank
from .bank import pick
from .numbers import listed, plain, together

Values = Mapping[str, Any]
# Read before those that build on them.
FIRST = ("horizon", "spinning_reserve_requirement", "regulation_up_requirement")


def structure_sentences(structure: Values, rng: np.random.Generator) -> list[str]:
    """Return a sentence for every extension of a structure.

    Raises
    ------
    KeyError
        If the bank has no sentence for one.
    """
    items = [item for group in GROUPS for item in structure.get(group) or []]
    items.sort(key=lambda item: item["name"] not in FIRST)
    return [extension(item, structure["formulation"], rng) for item in items]


def extension(item: Values, formulation: str, rng: np.random.Generator) -> str:
    """Return one extension as a sentence."""
    entry = bank.structures()[item["name"]]
    kind = "replace" if item.get("op") == "replace" and "replace" in entry else "frames"
    slots = _slots(item, formulation)
    if "each" in entry:
        parts = next(v for v in item.values() if isinstance(v, list))
        texts = [pick(rng, entry["each"]).format(**_slots(_bid(p), formulation)) for p in parts]
        slots["each"] = " ".join(_start(t) if k else t for k, t in enumerate(texts))
    return pick(rng, entry[kind]).format(**slots)


def _start(text: str) -> str:
    return text[0].upper() + text[1:]


def _bid(part: Values) -> Values:
    """Return an entry with the single block of a bid by name."""
    if "blocks" not in part:
        return part
    (size, price), *more = part["blocks"]
    if more:
        raise ValueError("a bid of several blocks has no sentence")
    return {"bus": part["bus"], "block_mw": size, "block_price": price}


def _slots(item: Values, formulation: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in item.items():
        if isinstance(value, bool | str):
            found[key] = str(value)
        elif isinstance(value, int | float):
            found[key] = plain(value)
        elif isinstance(value, list) and value and not isinstance(value[0], dict | list):
            found[key] = _buses(value) if key == "buses" else listed(value)
    found["flow_unit"] = "MW" if formulation == "DCOPF" else "MVA"
    if "power_factor" in item:
        found["power_factor_words"] = {
            "constant": "constant power factor",
            "unchanged": "unchanged reactive demand",
        }[item["power_factor"]]
    if "epsilon" in item:
        found["epsilon_pct"] = f"{plain(round(100 * item['epsilon'], 9))} percent"
        found["confidence_pct"] = f"{plain(round(100 - 100 * item['epsilon'], 9))} percent"
    if "emergency_factor" in item:
        found["emergency_factor_pct"] = f"{plain(round(100 * item['emergency_factor'], 9))} percent"
    if "max_open" in item:
        count = item["max_open"]
        found["max_open_words"] = "one branch" if count == 1 else f"{count} branches"
    if "load_multipliers" in item:
        found["periods"] = str(len(item["load_multipliers"]))
    return found


def _buses(values: list[int]) -> str:
    return f"{'bus' if len(values) == 1 else 'buses'} {together(values)}"
