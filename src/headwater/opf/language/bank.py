"""The bank of sentences: fields, scenarios, structures, frames of a request; checked when read."""

from __future__ import annotations

import string
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
import yaml

FORMS = ("set", "up", "down", "scale", "off")
SLOTS = {"set": {"o", "v"}, "up": {"o", "p"}, "down": {"o", "p"}, "off": {"o"}}


@dataclass(frozen=True)
class Effect:
    """What a scenario does to one field: ``increase``, ``decrease`` or ``set_zero``.

    `only` is ``line`` or ``transformer`` where the sentences fit one of them alone.
    """

    field: str
    direction: str
    text: tuple[str, ...]
    only: str = ""


@dataclass(frozen=True)
class Scenario:
    """One leaf of the scenario tree.

    Attributes
    ----------
    name : str
        ``branch.leaf``, for example ``weather.heat_wave``.
    lead : tuple of str
        Sentences that open it.
    effects : tuple of Effect
    held_out : bool
        Whether only the out-of-distribution test has it.
    """

    name: str
    lead: tuple[str, ...]
    effects: tuple[Effect, ...]
    held_out: bool

    @property
    def branch(self) -> str:
        """Branch of the tree."""
        return self.name.split(".")[0]


def _read(name: str) -> Any:
    text = resources.files(__package__).joinpath(f"{name}.yaml").read_text("utf-8")
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


@cache
def fields() -> dict[str, dict[str, list[str]]]:
    """Return the sentences of every field by form: set, up, down, scale, off."""
    found = _read("fields")
    for name, forms in found.items():
        for form, texts in forms.items():
            for text in texts:
                _check_slots(f"fields, {name}, {form}", text, form)
    return found


def _check_slots(where: str, text: str, form: str) -> None:
    slots = {part[1] for part in string.Formatter().parse(text) if part[1] is not None}
    wanted = SLOTS.get(form)
    right = slots == wanted if wanted else slots in ({"o", "f"}, {"o", "t"})
    if form not in FORMS or not right:
        raise ValueError(f"{where}: slots {sorted(slots)} in {text!r}")


@cache
def scenarios() -> dict[str, Scenario]:
    """Return the leaves of the scenario tree by name."""
    found = {}
    for branch, leaves in _read("scenarios").items():
        for leaf, entry in leaves.items():
            effects = tuple(
                Effect(e["field"], e["direction"], tuple(e["text"]), e.get("only", ""))
                for e in entry["effects"]
            )
            name = f"{branch}.{leaf}"
            held_out = bool(entry.get("held_out"))
            found[name] = Scenario(name, tuple(entry["lead"]), effects, held_out)
    return found


@cache
def structures() -> dict[str, dict[str, list[str]]]:
    """Return the sentences of every extension that requests are made for."""
    return _read("structures")


@cache
def frames() -> dict[str, Any]:
    """Return the sentences around the changes."""
    return _read("requests")


def pick(rng: np.random.Generator, texts: Any, used: set[str] | None = None) -> Any:
    """Return one entry of a sequence, each with the same chance; one not `used` if there is one."""
    if used is not None:
        texts = [t for t in texts if t not in used] or texts
    chosen = texts[int(rng.integers(len(texts)))]
    if used is not None:
        used.add(chosen)
    return chosen


def texts() -> list[str]:
    """Return every sentence of the bank."""
    found = [t for forms in fields().values() for group in forms.values() for t in group]
    for scenario in scenarios().values():
        found += [*scenario.lead, *(t for e in scenario.effects for t in e.text)]
    found += [t for entry in structures().values() for group in entry.values() for t in group]
    return found
