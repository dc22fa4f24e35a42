"""The structure of a request checked against the vocabulary of extensions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from headwater.core.config import nearest

from .extensions import FORMULATIONS, GROUPS, REGISTRY
from .findings import Finding

if TYPE_CHECKING:
    from types import ModuleType

    from .case import Case

Structure = Mapping[str, Any]
RESERVED = ("op", "name")


def empty(formulation: str = "ACOPF") -> dict[str, Any]:
    """Return a structure without extensions."""
    return {"formulation": formulation, **{group: [] for group in GROUPS}}


def items(structure: Structure) -> list[tuple[str, Mapping[str, Any]]]:
    """Return (place, item) of every extension, in the order in which they are applied.

    Variables come first, then constraints on them, then their costs. A place reads
    ``constraints[0]``.
    """
    return [
        (f"{group}[{k}]", item)
        for group in reversed(GROUPS)
        for k, item in enumerate(structure.get(group) or [])
    ]


def values(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of an item, defaults filled in."""
    declared = REGISTRY[item["name"]].PARAMETERS
    given = {k: v for k, v in item.items() if k not in RESERVED}
    return {k: s["default"] for k, s in declared.items() if "default" in s} | given


def check(structure: Structure, case: Case | None = None) -> list[Finding]:
    """Return everything that is wrong with a structure.

    Parameters
    ----------
    structure : mapping
        ``formulation`` and the lists ``objective``, ``constraints``, ``variables``.
    case : Case, optional
        Network; lengths of lists, buses and branches are checked when it is given.

    Returns
    -------
    list of Finding
        Errors with the codes ``unknown_key``, ``unknown_formulation``, ``unknown_extension``,
        ``wrong_group``, ``unknown_operation``, ``unknown_parameter``, ``missing_parameter``,
        ``parameter_out_of_range``, ``parameter_type``, ``extension_not_applicable``,
        ``variable_defined_twice``, ``extension_needed``, ``extensions_exclude_each_other``, and
        with a case ``list_length``, ``unknown_bus``, ``unknown_branch``.
    """
    found = list(_frame(structure))
    known = []
    for place, item in items(structure) if not found else []:
        name = item.get("name") if isinstance(item, Mapping) else None
        if name not in REGISTRY:
            found.append(_unknown_name(place, name))
            continue
        known.append((place, item))
        found += _group(place, REGISTRY[name])
        found += _applicable(place, REGISTRY[name], structure["formulation"])
        wrong = list(_parameters(place, item, REGISTRY[name]))
        if not wrong:
            wrong = list(_own_rules(place, item, REGISTRY[name]))
        if case is not None and not wrong:
            wrong = list(_against(case, place, item, REGISTRY[name]))
        found += wrong
    return found + list(_together(known))


def schema() -> dict[str, Any]:
    """Return the JSON schema of a structure."""
    properties: dict[str, Any] = {"formulation": {"enum": list(FORMULATIONS)}}
    for group in GROUPS:
        members = [item_schema(m) for m in REGISTRY.values() if group == m.GROUP]
        properties[group] = {"type": "array", "items": {"oneOf": members}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Structure of an optimal power flow",
        "type": "object",
        "properties": properties,
        "required": ["formulation"],
        "additionalProperties": False,
    }


def item_schema(module: ModuleType) -> dict[str, Any]:
    """Return the JSON schema of one extension as an item of its group."""
    operations = allowed_operations(module)
    return {
        "type": "object",
        "description": (module.__doc__ or "").split("\n")[0],
        "properties": {
            "op": {"enum": list(operations)},
            "name": {"const": module.NAME},
            **module.PARAMETERS,
        },
        "required": ["op", "name", *module.REQUIRED],
        "additionalProperties": False,
    }


def allowed_operations(module: ModuleType) -> tuple[str, ...]:
    """Return what an extension may do, its default first.

    Every objective can stand beside the cost of generation or replace it.
    """
    both = ("add", "replace") if module.GROUP == "objective" else ("add",)
    return getattr(module, "OPERATIONS", both)


def _error(code: str, where: str, found: str, expected: str = "", hint: str = "") -> Finding:
    return Finding("error", code, where, found, expected, hint)


def _frame(structure: Structure) -> Iterator[Finding]:
    keys = ("formulation", *GROUPS)
    for key in structure:
        if key not in keys:
            yield _error("unknown_key", f"structure, {key}", repr(key), ", ".join(keys))
    formulation = structure.get("formulation")
    if formulation not in FORMULATIONS:
        expected = "one of " + ", ".join(FORMULATIONS)
        hint = nearest(str(formulation), FORMULATIONS)
        where = "structure, formulation"
        yield _error("unknown_formulation", where, repr(formulation), expected, hint)
    for group in GROUPS:
        if not isinstance(structure.get(group) or [], list):
            yield _error("parameter_type", f"structure, {group}", repr(structure[group]), "a list")


def _unknown_name(place: str, name: Any) -> Finding:
    hint = nearest(str(name), REGISTRY)
    return _error("unknown_extension", place, repr(name), "a name of the vocabulary", hint)


def _group(place: str, module: ModuleType) -> Iterator[Finding]:
    group = place.split("[")[0]
    if group != module.GROUP:
        hint = f"Move it to {module.GROUP}."
        yield _error("wrong_group", place, f"{module.NAME} in {group}", module.GROUP, hint)


def _applicable(place: str, module: ModuleType, formulation: str) -> Iterator[Finding]:
    if formulation not in module.APPLIES_TO:
        yield _error(
            "extension_not_applicable",
            f"{place}, {module.NAME}",
            f"formulation {formulation}",
            " or ".join(module.APPLIES_TO),
            f"{module.NAME} needs quantities that {formulation} does not have;"
            " change the formulation or leave it out.",
        )


def _parameters(place: str, item: Mapping[str, Any], module: ModuleType) -> Iterator[Finding]:
    """Yield what the JSON schema of one extension finds, in our words."""
    from jsonschema import Draft202012Validator

    where = f"{place}, {module.NAME}"
    declared = module.PARAMETERS
    operations = allowed_operations(module)
    if item.get("op", operations[0]) not in operations:
        expected = " or ".join(operations)
        yield _error("unknown_operation", f"{where}, op", repr(item["op"]), expected)
    for key in item:
        if key not in declared and key not in RESERVED:
            hint = nearest(str(key), declared)
            expected = ", ".join(declared) or "no parameter"
            yield _error("unknown_parameter", f"{where}, {key}", repr(item[key]), expected, hint)
    for key in module.REQUIRED:
        if key not in item:
            expected = declared[key]["description"]
            yield _error("missing_parameter", f"{where}, {key}", "nothing", expected)
    for key, part in declared.items():
        if key in item:
            if not _finite(item[key]):
                yield _error(
                    "parameter_out_of_range", f"{where}, {key}", str(item[key]), "finite numbers"
                )
                continue
            for error in Draft202012Validator(part).iter_errors(item[key]):
                yield _worded(f"{where}, {key}", error, part["description"])


def _own_rules(place: str, item: Mapping[str, Any], module: ModuleType) -> Iterator[Finding]:
    """Yield what an extension itself has to say about its parameters side by side."""
    for key, found, expected in getattr(module, "check", lambda _: ())(values(item)):
        where = f"{place}, {module.NAME}, {key}"
        code = "list_length" if "entries" in found else "parameter_out_of_range"
        yield _error(code, where, found, expected)


def _finite(value: Any) -> bool:
    if isinstance(value, float):
        return abs(value) < float("inf")
    if isinstance(value, Mapping):
        return all(map(_finite, value.values()))
    return all(map(_finite, value)) if isinstance(value, list | tuple) else True


RANGES = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "minItems": "at least {} entries",
    "maxItems": "at most {} entries",
}


def _worded(where: str, error: Any, description: str) -> Finding:
    """Return a finding for an error of jsonschema, the most telling branch of a choice."""
    if error.validator == "oneOf":
        fitting = [c for c in error.context if c.validator != "type"]
        ranged = [c for c in fitting if c.validator in RANGES]
        chosen = (ranged or [c for c in fitting if c.validator != "enum"] or [None])[0]
        if chosen is not None:
            return _worded(where, chosen, description)
    path = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in error.absolute_path)
    where, value = where + path, error.instance
    if error.validator in RANGES:
        limit = RANGES[error.validator].format(error.validator_value)
        found = str(value) if "Items" not in error.validator else f"{len(value)} entries"
        return _error("parameter_out_of_range", where, found, f"{limit}: {description}")
    if error.validator == "enum":
        words = " or ".join(str(w) for w in error.validator_value)
        return _error("parameter_type", where, repr(value), words)
    if error.validator == "required":
        missing = [k for k in error.validator_value if k not in value]
        return _error("missing_parameter", f"{where}.{missing[0]}", "nothing", description)
    if error.validator == "additionalProperties":
        known = list(error.schema["properties"])
        extra = next(k for k in value if k not in known)
        hint = nearest(extra, known)
        return _error("unknown_parameter", f"{where}.{extra}", repr(extra), ", ".join(known), hint)
    return _error("parameter_type", where, repr(value), description)


def _together(known: list[tuple[str, Mapping[str, Any]]]) -> Iterator[Finding]:
    """Yield what is wrong with the extensions side by side."""
    defined: dict[str, tuple[str, str]] = {}
    names = {item["name"] for _, item in known}
    for place, item in known:
        module = REGISTRY[item["name"]]
        needed = getattr(module, "NEEDS", ())
        if needed and not names & set(needed):
            expected = " or ".join(needed)
            where = f"{place}, {module.NAME}"
            yield _error("extension_needed", where, "it alone", f"{expected} beside it")
        for other in names & set(getattr(module, "EXCLUDES", ())):
            yield _error(
                "extensions_exclude_each_other",
                f"{place}, {module.NAME}",
                f"beside {other}",
                f"{module.NAME} without {other}",
                "The factors of a network hold for one set of closed branches. Leave one out.",
            )
        for variable in getattr(module, "DEFINES", (module.NAME,)):
            if variable in defined:
                other = ", ".join(defined[variable])
                yield _error(
                    "variable_defined_twice",
                    f"{place}, {module.NAME}",
                    f"it defines {variable!r}, as does {other}",
                    "each defined once",
                    "Leave one of the two out.",
                )
            defined[variable] = (place, module.NAME)


def _against(
    case: Case, place: str, item: Mapping[str, Any], module: ModuleType
) -> Iterator[Finding]:
    """Yield lengths, buses and branches that do not fit the case."""
    for key, part in module.PARAMETERS.items():
        if key in item:
            yield from _walk(case, f"{place}, {module.NAME}, {key}", part, item[key])


def _walk(case: Case, where: str, part: Mapping[str, Any], value: Any) -> Iterator[Finding]:
    of = part.get("x-each")
    if of and isinstance(value, list):
        rows = len(getattr(case, of))
        if len(value) != rows:
            expected = f"{rows}, one for each {of} row of {case.name}"
            yield _error("list_length", where, f"{len(value)} entries", expected)
    if part.get("x-key") == "bus":
        yield from _bus(case, where, value)
    if part.get("x-key") == "branch":
        yield from _branch(case, where, value)
    for option in part.get("oneOf", ()):
        if (option.get("type") == "array") == isinstance(value, list):
            yield from _walk(case, where, option, value)
    if isinstance(value, list) and "items" in part:
        for k, entry in enumerate(value):
            yield from _walk(case, f"{where}[{k}]", part["items"], entry)
    if isinstance(value, Mapping) and part.get("x-key") is None:
        for key, entry in value.items():
            yield from _walk(case, f"{where}.{key}", part["properties"][key], entry)


def _bus(case: Case, where: str, number: int) -> Iterator[Finding]:
    numbers = case.bus["BUS_I"].astype(int)
    if number not in set(numbers):
        expected = f"one of its {len(numbers)} buses, {numbers.min()} to {numbers.max()}"
        yield _error("unknown_bus", where, f"bus {number}, not in {case.name}", expected)


def _branch(case: Case, where: str, value: Mapping[str, int]) -> Iterator[Finding]:
    ends = [{int(f), int(t)} for f, t in case.branch[["F_BUS", "T_BUS"]].itertuples(index=False)]
    pair = {value["fbus"], value["tbus"]}
    circuits = ends.count(pair)
    name = f"{value['fbus']}-{value['tbus']}"
    if not circuits:
        near = sorted({b for e in ends if value["fbus"] in e for b in e} - {value["fbus"]})
        hint = f"Bus {value['fbus']} is connected to {', '.join(map(str, near)) or 'nothing'}."
        found = f"branch {name}, not in {case.name}"
        yield _error("unknown_branch", where, found, "a branch of the case", hint)
    elif value.get("circuit", 1) > circuits:
        found = f"circuit {value['circuit']} of {name}"
        yield _error("unknown_branch", where, found, f"at most {circuits}")
