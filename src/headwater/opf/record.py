"""Records of requests: read from JSON lines, checked, identified, applied to a network."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from difflib import get_close_matches
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from headwater.core.errors import InputError

from .case import Case
from .extensions import GROUPS, REGISTRY
from .findings import Finding
from .locate import COMMON, Fault, read_change, read_value
from .network import network_of
from .patch import patch, prefixed
from .structure import RESERVED, allowed_operations, check, empty

Record = dict[str, Any]
# What a change is about; the test values of a placeholder do not make it another request.
DIGITS = 300
HASHED = ("component", "bus", "fbus", "tbus", "circuit", "field", "op", "value", "direction")
WORDS = {
    "type": "a {}",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "pattern": "a name that fits {}",
    "minLength": "some text",
    "minItems": "at least {} entry",
}


@cache
def schema() -> dict[str, Any]:
    """Return the JSON schema of a record."""
    text = resources.files(__package__).joinpath("schema/record.schema.json").read_text("utf-8")
    return json.loads(text)


@cache
def _validator() -> Any:
    """Return a validator of all but the changes, which `read_change` checks much faster."""
    from jsonschema import Draft202012Validator

    rules = deepcopy(schema())
    binding = rules["$defs"]["binding"]
    del rules["properties"]["parameters"]["items"]
    rules["properties"]["bindings"]["items"] = {
        "type": "object",
        "required": binding["required"],
        "properties": binding["properties"],
    }
    return Draft202012Validator(rules)


def read_records(path: str | Path) -> list[Record]:
    """Read a file of records, one JSON object a line; ``.gz`` is unpacked.

    Parts that a record may leave out are filled in: empty ``parameters``, ``bindings`` and
    ``solver``, a plain AC structure, ``regime`` and ``level``.

    Raises
    ------
    InputError
        With file, line, key, what stands there and what may stand there: a file that cannot be
        read, a line that is no JSON, NaN or Infinity, a key that the schema refuses or that
        looks like a misspelt one, an id for the second time, no record at all.
    """
    path = Path(path)
    lines: dict[str, int] = {}
    records = []
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        record = complete(check_record(read_line(line, path, number), path, f"line {number}"))
        if record["id"] in lines:
            found = f"{record['id']!r} again, as on line {lines[record['id']]}"
            raise InputError(path, f"line {number}, id", found, "each id once", "Rename one.")
        lines[record["id"]] = number
        records.append(record)
    if not records:
        raise InputError(path, "", "no record", "one JSON object a line")
    return records


def _lines(path: Path) -> list[str]:
    try:
        raw = path.read_bytes()
        raw = gzip.decompress(raw) if path.suffix == ".gz" else raw
        return raw.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise InputError(path, f"byte {error.start}", "no UTF-8 text", "UTF-8 JSON lines") from None
    except (OSError, EOFError) as error:
        found = getattr(error, "strerror", None) or str(error) or "an unreadable file"
        raise InputError(path, "", found, "a file of records") from None


def read_line(line: str, file: Path | None, number: int) -> Any:
    """Return the JSON value of a line.

    Raises
    ------
    InputError
        For malformed JSON (with its column), NaN, Infinity, or one key twice in an object.
    """

    def constant(name: str) -> Any:
        hint = 'Write "Inf" for a limit that there is not.'
        raise InputError(file, f"line {number}", name, "finite numbers", hint)

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [k for k, _ in pairs]
        double = next((k for k in keys if keys.count(k) > 1), None)
        if double is not None:
            raise InputError(file, f"line {number}, {double}", "the key twice", "each key once")
        return dict(pairs)

    def whole(digits: str) -> int:
        if len(digits) > DIGITS:
            found = f"a number of {len(digits)} digits"
            raise InputError(file, f"line {number}", found, f"at most {DIGITS} digits")
        return int(digits)

    hooks = {"parse_constant": constant, "object_pairs_hook": once, "parse_int": whole}
    try:
        return json.loads(line, **hooks)
    except json.JSONDecodeError as error:
        where = f"line {number}, column {error.colno}"
        found = f"no JSON ({error.msg.lower()})"
        hint = "Each line is one complete object; look for a cut line or a missing comma."
        raise InputError(file, where, found, "a JSON object", hint) from None
    except RecursionError:
        raise InputError(file, f"line {number}", "JSON nested too deeply", "a record") from None


def check_record(record: Any, file: Path | None = None, where: str = "") -> Record:
    """Return the record, checked against the schema.

    Raises
    ------
    InputError
        For the first fault.
    """
    if not isinstance(record, dict):
        raise InputError(file, where, _short(record), "a JSON object with id, base_system, request")
    name = record.get("id")
    where = ", ".join(p for p in (where, f"record {name}" if isinstance(name, str) else "") if p)
    for key in record:
        if key not in schema()["properties"]:
            close = get_close_matches(key, schema()["properties"], n=1, cutoff=0.8)
            if close:
                found = f"unknown key {key!r}"
                raise InputError(file, where, found, f"did you mean {close[0]!r}?")
    errors = sorted(_validator().iter_errors(record), key=lambda e: list(map(str, e.absolute_path)))
    told = _wrong_change(record) or (_worded(errors[0]) if errors else None)
    if told:
        place, found, expected, *hint = told
        place = ", ".join(p for p in (where, place) if p)
        raise InputError(file, place, found, expected, *hint)
    return record


def _short(value: Any, most: int = 80) -> str:
    text = repr(value)
    return text if len(text) <= most else text[: most - 1] + "…"


def _wrong_change(record: Record) -> tuple[str, str, str, str] | None:
    """Return place, found, expected and hint of the first change that cannot be read."""
    for part in ("parameters", "bindings"):
        items = record.get(part)
        for k, item in enumerate(items if isinstance(items, list) else []):
            where = f"{part}[{k}]"
            try:
                read_change(item, where, binding=part == "bindings")
                if part == "parameters":
                    read_value(item, where)
            except Fault as fault:
                told = fault.finding
                return told.where, told.found, told.expected, told.hint
    return None


def _worded(error: Any) -> tuple[str, str, str]:
    while error.context:
        error = max(error.context, key=lambda e: (len(e.absolute_path), e.validator != "type"))
    place = ""
    for part in error.absolute_path:
        place += f"[{part}]" if isinstance(part, int) else f".{part}" if place else str(part)
    value, wanted = error.instance, error.validator_value
    help_ = error.schema.get("description", "") if isinstance(error.schema, dict) else ""
    if error.validator == "required":
        missing = next(k for k in wanted if k not in value)
        also = "parameters or bindings" if missing == "parameters" else ", ".join(wanted)
        return place, f"no {missing!r}", also
    if error.validator == "enum":
        return place, _short(value), " or ".join(map(str, wanted))
    if error.validator == "additionalProperties":
        known = list(error.schema.get("properties", {}))
        extra = [k for k in value if k not in known]
        return place, f"unknown key {', '.join(map(repr, extra))}", ", ".join(known)
    kind = " or ".join(wanted) if isinstance(wanted, list) else wanted
    expected = WORDS.get(error.validator, error.message).format(kind)
    return place, _short(value), f"{expected}: {help_}" if help_ else expected


def complete(record: Mapping[str, Any]) -> Record:
    """Return a record with the parts that it may leave out."""
    found = dict(record)
    for key, nothing in (("parameters", []), ("bindings", []), ("solver", {})):
        found.setdefault(key, nothing)
    found["structure"] = empty() | dict(record.get("structure") or {})
    abstract = bool(found["bindings"])
    extended = any(found["structure"][group] for group in GROUPS)
    extended = extended or found["structure"]["formulation"] != "ACOPF"
    found.setdefault("level", 1 + abstract + 2 * extended)
    found.setdefault("regime", "abstract" if abstract else "concrete")
    return found


def patched(
    case: Case,
    record: Mapping[str, Any],
    strategy: int = 0,
    dc_convention: str = "matpower",
    published: bool = False,
) -> tuple[Case, list[Finding]]:
    """Return the network of a record with its changes, and what was found.

    Parameters
    ----------
    case : Case
        The base system.
    strategy : int
        Which test value of each placeholder.
    published : bool
        Take the test values that were published where ours differ; their direction is not
        checked, as the program that they were published with took them.

    Returns
    -------
    Case, list of Finding
        Findings of `headwater.opf.patch.apply`, `bind` and `headwater.opf.structure.check`,
        each with the id of the record.
    """
    structure = record.get("structure") or empty()
    parameters, bindings, values = list(record.get("parameters") or []), [], []
    for item in record.get("bindings") or []:
        steps = item.get("published_values") if published else None
        if steps is not None and strategy < len(steps):
            key = {k: item[k] for k in COMMON if k in item}
            parameters.append({**key, "op": "set", "value": steps[strategy]})
            continue
        bindings.append(item)
        steps = item.get("values") or []
        values.append(steps[strategy] if strategy < len(steps) else None)
    changed, findings = patch(case, parameters, bindings, values, structure, dc_convention)
    return changed, prefixed([*check(structure, case), *findings], f"record {record.get('id')}")


def lint_record(
    record: Mapping[str, Any], case: Case, dc_convention: str = "matpower"
) -> list[Finding]:
    """Return what `patched` finds for any strategy, and the islands that a change cuts off."""
    bindings = record.get("bindings") or []
    found: list[Finding] = []
    for strategy in range(max((len(b.get("values") or []) for b in bindings), default=0) or 1):
        changed, findings = patched(case, record, strategy, dc_convention)
        found += findings
        if changed.branch is not case.branch and not changed.branch["BR_STATUS"].equals(
            case.branch["BR_STATUS"]
        ):
            found += prefixed(network_of(changed).findings, f"record {record.get('id')}")
    return list(dict.fromkeys(found))


def canonical_hash(record: Mapping[str, Any]) -> str:
    """Return the SHA-256 of what a record asks for: base system, changes, structure.

    Two records have the same one when they ask the same: the order of changes of different
    fields, of placeholders and of extensions, 40 or 40.0, a default written or left out, and
    the words of the request do not matter.
    """
    parts = complete(record)
    content = {
        "base_system": parts["base_system"],
        "parameters": _ordered(parts["parameters"]),
        "bindings": _ordered(parts["bindings"]),
        "structure": {
            "formulation": parts["structure"]["formulation"],
            **{g: sorted(map(_text, map(_plain, parts["structure"][g] or []))) for g in GROUPS},
        },
    }
    return hashlib.sha256(_text(content).encode()).hexdigest()


def _ordered(changes: Iterable[Mapping[str, Any]]) -> list[Any]:
    # a stable sort: changes of the same field keep their order, which matters
    kept = [{k: c[k] for k in HASHED if k in c} for c in changes]
    return sorted(kept, key=lambda c: _text({k: c[k] for k in c if k not in ("op", "value")}))


def _plain(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an extension without what its defaults say too."""
    name = item.get("name")
    module = REGISTRY.get(name) if isinstance(name, str) else None
    if module is None:
        return dict(item)
    defaults = {k: s["default"] for k, s in module.PARAMETERS.items() if "default" in s}
    kept = {k: v for k, v in item.items() if k in RESERVED or defaults.get(k, ...) != v}
    return {"op": allowed_operations(module)[0], **kept}


def _text(value: Any) -> str:
    return json.dumps(_numbers(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _numbers(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _numbers(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_numbers(v) for v in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


def unique(records: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield records, the first of those that ask the same."""
    seen = set()
    for record in records:
        key = canonical_hash(record)
        if key not in seen:
            seen.add(key)
            yield record
