"""Words in which the extensions declare their parameters: JSON schema with a unit each.

Two keywords of ours ride along, ignored by validators: ``x-each`` (a list has one entry for
each generator or bus of the case, in file order) and ``x-key`` (the value names a bus or a
branch of the case).
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]


def number(text: str, unit: str = "", **limits: Any) -> Schema:
    """A number; `limits` are JSON schema words and ``default``."""
    return {"type": "number", "description": f"{text} ({unit})" if unit else text, **limits}


def positive(text: str, unit: str = "", **limits: Any) -> Schema:
    """A number that is not negative."""
    return number(text, unit, **{"minimum": 0, **limits})


def each(item: Schema, of: str = "gen") -> Schema:
    """The same number for all, or one for each generator (``gen``) or bus of the case."""
    kind = {"gen": "generator", "bus": "bus"}[of]
    inner = {k: v for k, v in item.items() if k not in ("default", "description")}
    text = f"{item['description']}; one number, or one for each {kind} in file order"
    one_or_list = {
        "oneOf": [inner, {"type": "array", "items": inner, "minItems": 1}],
        "description": text,
        "x-each": of,
    }
    return one_or_list | {k: v for k, v in item.items() if k == "default"}


def listed(item: Schema, of: str = "gen") -> Schema:
    """One number for each generator or bus of the case."""
    inner = {k: v for k, v in item.items() if k != "description"}
    return {
        "type": "array",
        "items": inner,
        "minItems": 1,
        "description": f"{item['description']}, in file order",
        "x-each": of,
    }


def bus(text: str) -> Schema:
    """The number of a bus, as in the case."""
    return {"type": "integer", "minimum": 1, "description": text, "x-key": "bus"}


def buses(text: str) -> Schema:
    """Numbers of buses."""
    item = {"type": "integer", "minimum": 1, "x-key": "bus"}
    return {"type": "array", "items": item, "minItems": 1, "description": text}


def branch() -> Schema:
    """A branch by its two ends; `circuit` (from 1) picks one of several in parallel."""
    end = {"type": "integer", "minimum": 1}
    return {
        "type": "object",
        "properties": {"fbus": end, "tbus": end, "circuit": end},
        "required": ["fbus", "tbus"],
        "additionalProperties": False,
        "x-key": "branch",
    }


def branches(text: str, *words: str) -> Schema:
    """Branches by their ends, or one of some words."""
    many = {"type": "array", "items": branch(), "minItems": 1}
    if not words:
        return many | {"description": text}
    return {"oneOf": [{"enum": list(words)}, many], "description": text, "default": words[0]}


def choice(text: str, *words: str, default: str | None = None) -> Schema:
    """One of some words, the first by default."""
    return {"enum": list(words), "description": text, "default": default or words[0]}


def one_or_more(item: Schema) -> Schema:
    """A value or a list of them."""
    inner = {k: v for k, v in item.items() if k not in ("default", "description")}
    return {
        "oneOf": [inner, {"type": "array", "items": inner, "minItems": 1}],
        "description": item["description"],
    }


def objects(
    text: str, properties: dict[str, Schema], required: tuple[str, ...], key: str | None = None
) -> Schema:
    """A list of plain objects; `key` is ``branch`` where ``fbus`` and ``tbus`` name one."""
    item = {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
    if key:
        item["x-key"] = key
    return {"type": "array", "items": item, "minItems": 1, "description": text}
