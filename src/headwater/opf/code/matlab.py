"""A request as a MATLAB program that MATPOWER runs in MATLAB or GNU Octave.

Concrete requests (levels 1 and 3) become a script that leaves `results`; abstract ones (2, 4)
a function ``results = run_opf(...)`` of the placeholders, with one assertion per direction.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .snippets import SNIPPETS, NotExpressible, Snippet, literal

COST = "COST_C"
TABLE_OF = {"bus": "bus", "gen": "gen", "branch": "branch"}
SETUP = (
    "if size(mpc.gen, 2) < APF, mpc.gen(1, APF) = 0; end",
    "mpc = ext2int(mpc);",
    "base = mpc.baseMVA; nb = size(mpc.bus, 1); nl = size(mpc.branch, 1); ng = size(mpc.gen, 1);",
    "om = opf_setup(mpc, mpopt);",
)
SOLVE = (
    "[x, f, eflag] = om.solve(struct('verbose', 0));",
    "results = mpc; results.f = f; results.success = (eflag > 0);",
)


def matpower_code(record: Mapping[str, Any]) -> str:
    """Return the program of a record.

    Parameters
    ----------
    record : mapping
        ``base_system, parameters, bindings, structure, solver`` of a request.

    Raises
    ------
    NotExpressible
        For a formulation or an extension that MATPOWER's user-defined costs and linear
        constraints cannot say in a few lines.
    """
    structure = record["structure"]
    bindings = record.get("bindings") or []
    lines = ["define_constants;", f"mpc = loadcase('{record['base_system']}');"]
    for change in record.get("parameters") or []:
        lines += _change(change)
    for binding in bindings:
        lines += _binding(binding)
    lines += _problem(structure, record.get("solver") or {})
    if not bindings:
        return "\n".join(lines) + "\n"
    names = ", ".join(b["name"] for b in bindings)
    body = "\n".join(f"    {line}" for line in lines)
    return f"function results = run_opf({names})\n{body}\nend\n"


def _problem(structure: Mapping[str, Any], solver: Mapping[str, Any]) -> list[str]:
    model = {"ACOPF": "AC", "DCOPF": "DC"}.get(structure["formulation"])
    if model is None:
        raise NotExpressible(f"formulation {structure['formulation']}")
    options = f"'model', '{model}'" + (", 'opf.ac.solver', 'MIPS'" if model == "AC" else "")
    violation = literal(solver.get("violation", 1e-8))
    lines = [
        f"mpopt = mpoption({options}, 'opf.violation', {violation}, 'verbose', 0, 'out.all', 0);"
    ]
    items = [i for g in ("variables", "constraints", "objective") for i in structure.get(g) or []]
    snippets = [_snippet(item, structure["formulation"]) for item in items]
    for snippet in snippets:
        lines += snippet.before
    solves = [s.solve for s in snippets if s.solve]
    if len(solves) > 1 or (solves and any(s.model for s in snippets)):
        raise NotExpressible("an enumeration beside other extensions")
    if solves:
        return lines + list(solves[0])
    if any(s.model for s in snippets):
        lines += SETUP
        for snippet in snippets:
            lines += snippet.model
        return lines + list(SOLVE)
    return [*lines, "results = runopf(mpc, mpopt);"]


def _snippet(item: Mapping[str, Any], formulation: str) -> Snippet:
    make = SNIPPETS.get(item["name"])
    if make is None:
        raise NotExpressible(f"extension {item['name']}")
    if item.get("op", "add") != "add" and item["name"] != "active_power_loss":
        raise NotExpressible(f"{item['name']} in place of the cost")
    from ..structure import values

    return make(values(item) | {"op": item.get("op", "add")}, formulation)


def rows_of(target: Mapping[str, Any]) -> str:
    """Return the MATLAB expression of the rows that a change or a placeholder is about."""
    component = target["component"]
    if component == "branch":
        f, t = literal(target["fbus"]), literal(target["tbus"])
        rows = (
            f"(mpc.branch(:, F_BUS) == {f} & mpc.branch(:, T_BUS) == {t}) |"
            f" (mpc.branch(:, F_BUS) == {t} & mpc.branch(:, T_BUS) == {f})"
        )
        found = f"find({rows})"
        circuit = target.get("circuit")
        return found if circuit is None else f"nthargout(1, @(v) v({int(circuit)}), {found})"
    column = {"bus": "BUS_I", "gen": "GEN_BUS"}[component]
    if target["bus"] == "*":
        return f"(1:size(mpc.{component}, 1))'"
    return f"find(mpc.{component}(:, {column}) == {literal(target['bus'])})"


def cell_of(target: Mapping[str, Any]) -> str:
    """Return the MATLAB expression of the cells ``k`` of a field."""
    field = target["field"]
    if field.startswith(COST):
        power = int(field.removeprefix(COST))
        return f"mpc.gencost(k, COST + mpc.gencost(k(1), NCOST) - 1 - {power})"
    return f"mpc.{TABLE_OF[target['component']]}(k, {field})"


def _found(target: Mapping[str, Any]) -> list[str]:
    return [f"k = {rows_of(target)};", "assert(~isempty(k));"]


def _change(change: Mapping[str, Any]) -> list[str]:
    cell, value = cell_of(change), literal(change["value"])
    new = f"{cell} * {value}" if change["op"] == "scale" else value
    return [*_found(change), f"{cell} = {new};"]


def _binding(binding: Mapping[str, Any]) -> list[str]:
    cell, name = cell_of(binding), binding["name"]
    test = {
        "increase": f"assert(all({name} > old));",
        "decrease": f"assert(all({name} < old));",
        "set_zero": f"assert(all({name} == 0));",
    }[binding["direction"]]
    return [*_found(binding), f"old = {cell};", test, f"{cell} = {name};"]
