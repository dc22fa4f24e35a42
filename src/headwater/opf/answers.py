"""From the text of an answer to what can be run: code block, signature, forbidden calls, patch."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

DIALECTS = ("matpower", "python", "patch")
FENCE = re.compile(r"^(```|~~~)[ \t]*([\w+-]*)[ \t]*\n(.*?)(?:^\1[ \t]*$|\Z)", re.M | re.S)
ENTRY = {
    "function": re.compile(r"\brun_opf\b"),
    "script": re.compile(r"\b(runopf|rundcopf|opf_setup|results)\b"),
    "python": re.compile(r"\b(result|run_opf)\b"),
    "patch": re.compile(r"\"(structure|parameters|bindings)\""),
}
# What a program about power flow has no need for. Not the boundary (that is the sandbox), but a
# clear word instead of a strange failure.
OCTAVE_DENIED = tuple(
    """system shell_cmd dos unix popen popen2 exec fork kill urlread urlwrite webread webwrite
    unlink delete rmdir mkdir rename addpath rmpath evalin assignin mex mkoctfile source pkg cd
    chdir setenv putenv getenv""".split()  # noqa: SIM905
)
PYTHON_ALLOWED = frozenset(
    """__future__ json math cmath copy dataclasses collections itertools functools typing numpy
    scipy pandas headwater casadi highspy clarabel cvxpy""".split()  # noqa: SIM905
)
PYTHON_DENIED = ("eval", "exec", "compile", "__import__", "open", "input", "breakpoint")
SIGNATURE = re.compile(
    r"^\s*function\s+(?:(?:\[[^\]]*\]|\w+)\s*=\s*)?run_opf\s*(?:\(([^)]*)\))?", re.M
)


@dataclass(frozen=True)
class Program:
    """What was found in an answer.

    Attributes
    ----------
    code : str
        Empty where nothing was found.
    block : str
        Which block it is: ``last``, ``longest``, ``unfenced`` or ``none``.
    """

    code: str
    block: str


def extract(text: str, dialect: str, abstract: bool) -> Program:
    """Return the program of an answer.

    The last fenced block that has the entry point counts, then the longest block, then the
    whole text where it has no fence. Fences may be tildes, and the last one may be missing.

    Parameters
    ----------
    text : str
    dialect : str
        ``matpower``, ``python`` or ``patch``.
    abstract : bool
        Whether a function of placeholders is wanted.
    """
    kind = "function" if abstract else "script"
    entry = ENTRY[kind if dialect == "matpower" else dialect]
    # a fence may also close at the end of a line
    blocks = [m.group(3).split(m.group(1))[0].strip("\n") for m in FENCE.finditer(text)]
    fitting = [b for b in blocks if entry.search(b)]
    if fitting:
        return Program(fitting[-1] + "\n", "last")
    if blocks:
        return Program(max(blocks, key=len) + "\n", "longest")
    if entry.search(text) and _looks_like_code(text, dialect):
        return Program(text.strip() + "\n", "unfenced")
    return Program("", "none")


def _looks_like_code(text: str, dialect: str) -> bool:
    if dialect == "patch":
        return text.lstrip().startswith("{")
    if dialect == "python":
        try:
            ast.parse(text)
        except SyntaxError:
            return False
        return True
    return ";" in text and "loadcase" in text


def denied(code: str, dialect: str) -> str:
    """Return the first forbidden word of a program, empty where there is none."""
    if dialect == "matpower":
        plain = re.sub(r"(%|#)[^\n]*", "", code)
        plain = re.sub(r"'[^'\n]*'|\"[^\"\n]*\"", "''", plain)
        for name in OCTAVE_DENIED:
            if re.search(rf"(?<![\w.]){name}\s*(\(|$|\s+[\w'/-])", plain, re.M):
                return name
        return "shell escape" if re.search(r"^\s*!", plain, re.M) else ""
    if dialect == "python":
        return _denied_python(code)
    return ""


def _denied_python(code: str) -> str:
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return ""  # said when it is run
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        for name in names:
            if name.split(".")[0] not in PYTHON_ALLOWED:
                return f"import {name}"
        if isinstance(node, ast.Name) and node.id in PYTHON_DENIED:
            return node.id
        if isinstance(node, ast.Attribute) and node.attr.startswith("__"):
            return node.attr
    return ""


def signature(code: str, dialect: str) -> list[str] | None:
    """Return the names of the arguments of ``run_opf``, or None where it is not defined."""
    if dialect == "matpower":
        found = SIGNATURE.search(code)
        if not found:
            return None
        names = (found.group(1) or "").replace("...", " ")
        return [n.strip() for n in names.split(",") if n.strip()]
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return None
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "run_opf":
            return [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    return None


def bind_arguments(
    names: Sequence[str], bindings: Sequence[Mapping[str, Any]], values: Sequence[float]
) -> tuple[list[float], str] | None:
    """Return the values in the order of a signature, and how they were bound.

    By name where every argument is a placeholder of the request (case does not count),
    otherwise by position, as the published harness does; None where the numbers differ.
    """
    by_name = {b["name"].lower(): v for b, v in zip(bindings, values, strict=True)}
    if len(names) != len(bindings):
        return None
    if {n.lower() for n in names} == set(by_name):
        return [by_name[n.lower()] for n in names], "name"
    return list(values), "positional"


def wrong_direction(binding: Mapping[str, Any]) -> float:
    """Return a value of a placeholder that its direction forbids."""
    default = float(binding["default"])
    step = 0.05 * abs(default) if default else 1.0
    return {
        "increase": default - step,
        "decrease": default + step,
        "set_zero": default if default else 1.0,
    }[binding["direction"]]


def parse_patch(code: str) -> dict[str, Any]:
    """Return a patch answer as a record.

    Raises
    ------
    ValueError
        If it is no JSON object with the parts of a request.
    """
    found = json.loads(code)
    if not isinstance(found, dict):
        raise ValueError("the answer is no JSON object")
    structure = found.get("structure") or {}
    if not isinstance(structure, dict):
        raise ValueError("structure is no JSON object")
    return {
        "base_system": found.get("base_system"),
        "parameters": found.get("parameters") or [],
        "bindings": found.get("bindings") or [],
        "structure": {
            "formulation": structure.get("formulation", "ACOPF"),
            **{g: structure.get(g) or [] for g in ("objective", "constraints", "variables")},
        },
        "solver": found.get("solver") or {},
    }
