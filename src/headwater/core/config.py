"""Configuration checked against its schema: one line per problem, each with what to write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

# the parser of libyaml where PyYAML has it: every start of Snakemake reads all schemas
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MOST_KNOWN = 20  # names in a hint
KINDS = {  # what JSON schema calls by other names
    "object": "a block of keys",
    "array": "a list",
    "integer": "a whole number",
    "number": "a number",
    "string": "a text",
    "boolean": "true or false",
    "null": "nothing",
}


def load_schema(path: str | Path) -> dict[str, Any]:
    """Read a YAML schema and put the files that it refers to (``$ref: x.yaml``) in place."""
    path = Path(path)
    return _resolved(yaml.load(path.read_text(encoding="utf-8"), LOADER), path.parent)


def _resolved(node: Any, folder: Path) -> Any:
    if isinstance(node, dict):
        reference = node.get("$ref")
        if isinstance(reference, str) and reference.endswith(".yaml"):
            return load_schema(folder / reference) | {k: v for k, v in node.items() if k != "$ref"}
        return {key: _resolved(value, folder) for key, value in node.items()}
    if isinstance(node, list):
        return [_resolved(value, folder) for value in node]
    return node


def repeated_keys(text: str) -> list[str]:
    """Return one line per key that stands twice in one block: YAML takes the last, silently."""
    lines: list[str] = []

    def walk(node: yaml.Node | None, path: tuple[str, ...]) -> None:
        if isinstance(node, yaml.SequenceNode):
            for number, item in enumerate(node.value):
                walk(item, (*path, str(number)))
        if not isinstance(node, yaml.MappingNode):
            return
        seen: dict[str, int] = {}
        for key, value in node.value:
            name, line = str(key.value), key.start_mark.line + 1
            if name in seen:
                where = ".".join((*path, name))
                lines.append(f"config: {where}: stands twice, in lines {seen[name]} and {line}")
            seen.setdefault(name, line)
            walk(value, (*path, name))

    walk(yaml.compose(text, LOADER), ())
    return lines


def problems(
    config: Mapping[str, Any],
    schema: Mapping[str, Any],
    files: Sequence[tuple[str, Mapping[str, Any]]] = (),
) -> list[str]:
    """Return one line per problem of `config`; empty when it fits `schema`.

    `files` are the names and contents of the configuration files in the order in which they
    override each other; each problem names the last one that sets the key.
    """
    from jsonschema import Draft202012Validator

    found = Draft202012Validator(schema).iter_errors(config)
    lines = []
    for error in sorted(found, key=lambda e: [str(p) for p in e.absolute_path]):
        for path, text in _explained(error):
            key = ".".join(str(p) for p in path) or "(top level)"
            lines.append(f"config: {key}: {text} ({_file_of(path, files)})")
    return list(dict.fromkeys(lines))


def _explained(error: Any) -> Iterator[tuple[list[Any], str]]:
    path = list(error.absolute_path)
    rule, value, wanted = error.validator, error.instance, error.validator_value
    help_text = error.schema.get("description", "") if isinstance(error.schema, dict) else ""
    if rule == "additionalProperties":
        known = list(error.schema.get("properties", {}))
        for key in (k for k in value if k not in known):
            yield [*path, key], f"unknown key; {nearest(str(key), known)}"
        return
    if rule == "required":
        missing = [k for k in wanted if k not in value]
        text = ", ".join(f"{k!r}" for k in missing)
        yield path, f"missing {text}; add it, config/README.md describes it"
        return
    if rule in {"anyOf", "oneOf"}:
        keys = [k for option in wanted for k in option.get("required", ())]
        if keys:
            given = [repr(k) for k in keys if k in value]
            found = f"found {' and '.join(given)}" if given else "found none of them"
            yield path, f"give exactly one of {' and '.join(map(repr, keys))}; {found}"
        else:
            kinds = " or ".join(_kind(option) for option in wanted)
            yield path, f"{value!r} is not {kinds}; {help_text}".removesuffix("; ")
        return
    text = f"{value!r} {_wanted(error)}"
    yield path, f"{text}; {help_text}" if help_text else text


def _wanted(error: Any) -> str:
    rule, wanted = error.validator, error.validator_value
    texts = {
        "type": f"is not {_kind(error.schema)}",
        "enum": f"is none of {_or(wanted)}",
        "const": f"is not {wanted!r}",
        "minimum": f"is less than the minimum of {wanted}",
        "exclusiveMinimum": f"is not more than {wanted}",
        "maximum": f"is greater than the maximum of {wanted}",
        "exclusiveMaximum": f"is not less than {wanted}",
        "pattern": f"does not match {wanted}",
        "minItems": f"has fewer than {wanted} items",
        "minLength": f"is shorter than {wanted}",
        "uniqueItems": "names an item twice",
    }
    if rule == "enum" and isinstance(error.instance, str):
        return f"is none of {_or(wanted)}; {nearest(error.instance, [str(w) for w in wanted])}"
    return texts.get(rule, f"is wrong: {error.message}")


def _kind(schema: Mapping[str, Any]) -> str:
    """Return in words what values a schema allows."""
    names = schema.get("type", "anything")
    words = [KINDS.get(n, n) for n in ([names] if isinstance(names, str) else names)]
    text = " or ".join(words)
    if names == "array" and "items" in schema:
        each = _kind(schema["items"]).removeprefix("a ")
        text += f" (each {each})"
        text += " without repeats" if schema.get("uniqueItems") else ""
    if "minimum" in schema:
        text += f" of at least {schema['minimum']}"
    return text


def _or(values: Any) -> str:
    return ", ".join(map(str, values)) if isinstance(values, list) else str(values)


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a hint with the closest known words, or with all of them when none is close."""
    known = list(known)
    close = get_close_matches(word, known, n=1, cutoff=0.6)
    if not close:
        folded = {k.lower(): k for k in known}
        close = [folded[word.lower()]] if word.lower() in folded else []
    if close:
        return f"did you mean {close[0]!r}?"
    if not known:
        return "none is allowed here"
    return "known: " + ", ".join(known[:MOST_KNOWN]) + (", ..." if known[MOST_KNOWN:] else "")


def _file_of(path: list[Any], files: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    for depth in range(len(path), 0, -1):
        for name, content in reversed(files):
            if _has(content, path[:depth]):
                return name
    return files[-1][0] if files else "configuration"


def _has(content: Any, path: list[Any]) -> bool:
    for key in path:
        if isinstance(content, Mapping) and key in content:
            content = content[key]
        elif isinstance(content, list) and isinstance(key, int) and key < len(content):
            content = content[key]
        else:
            return False
    return True


def with_defaults(config: Any, schema: Mapping[str, Any]) -> Any:
    """Return a copy of `config` in which every absent key has the default of `schema`."""
    import copy

    if schema.get("type") != "object" or not isinstance(config, Mapping):
        return copy.deepcopy(config)
    filled = {}
    for key, part in schema.get("properties", {}).items():
        if key in config:
            filled[key] = with_defaults(config[key], part)
        elif "default" in part:
            filled[key] = with_defaults(part["default"], part)
    named = schema.get("additionalProperties")
    entry = named if isinstance(named, Mapping) else {}
    filled |= {k: with_defaults(v, entry) for k, v in config.items() if k not in filled}
    return filled


def from_command_line(given: Any, schema: Mapping[str, Any]) -> Any:
    """Return values of ``--config`` as what `schema` wants: nested ones arrive as text.

    What cannot be one stays as it is, for `problems` to name.
    """
    if isinstance(given, Mapping):
        parts, rest = schema.get("properties", {}), schema.get("additionalProperties")
        rest = rest if isinstance(rest, Mapping) else {}
        return {k: from_command_line(v, parts.get(k, rest)) for k, v in given.items()}
    options = schema.get("anyOf", [schema])
    if isinstance(given, (list, tuple)):
        items = next((o["items"] for o in options if "items" in o), {})
        return [from_command_line(v, items) for v in given]
    if isinstance(given, str):
        for option in options:
            words = {"true": True, "false": False} if option.get("type") == "boolean" else {}
            kind = {"integer": int, "number": float}.get(option.get("type"), words.get)
            try:
                value = kind(given.lower())
            except ValueError:
                continue
            if value is not None:
                return value
    return given


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` with `changes` on top: mappings merge, all else is replaced."""
    result = dict(base)
    for key, value in changes.items():
        old = result.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        result[key] = merged(old, value) if both else value
    return result


def with_lists(settings: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of a table row with single values as lists where `schema` wants a list."""
    result: dict[str, Any] = {}
    for key, value in settings.items():
        part = schema.get("properties", {}).get(key, {})
        if isinstance(value, Mapping):
            result[key] = with_lists(value, part)
        elif part.get("type") == "array" and not isinstance(value, list):
            result[key] = [value]
        else:
            result[key] = value
    return result


def parse_settings(text: str) -> dict[str, Any]:
    """Return ``a.b=1,2;c=x`` as nested mappings with YAML-typed values; commas make lists.

    Raises
    ------
    ValueError
        If an item has no ``=`` or an empty key.
    """
    result: dict[str, Any] = {}
    for item in filter(None, (part.strip() for part in text.split(";"))):
        key, equals, value = item.partition("=")
        if not equals or not key.strip():
            raise ValueError(f"{item!r} is not of the form key=value")
        values = [_typed(v) for v in value.split(",")]
        nested: Any = values if len(values) > 1 else values[0]
        for part in reversed(key.strip().split(".")):
            nested = {part: nested}
        result = merged(result, nested)
    return result


def _typed(text: str) -> Any:
    value = yaml.safe_load(text)
    if isinstance(value, str):  # YAML 1.1 reads 1e-3 as text
        try:
            return float(value)
        except ValueError:
            return value
    return value
