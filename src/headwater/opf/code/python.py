"""A request as a Python script on this package; it sets `result`.

Concrete requests are solved at once; for abstract ones the script defines ``run_opf`` of the
placeholders, which refuses values that go the wrong way.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

HEAD = '''"""{base}: {count}."""

import json

from headwater.opf.case import read_case
from headwater.opf.engine import Options, solve
from headwater.opf.findings import stop_on_errors
from headwater.opf.record import patched

REQUEST = json.loads(r"""{request}""")


def run_opf({arguments}):
    """Return status and objective ($/h) of the request."""
    record = json.loads(json.dumps(REQUEST))
{bound}    case, findings = patched(read_case("{base}.m"), record)
    stop_on_errors(findings)
    solution = solve(case, record["structure"], Options(violation={violation!r}))
    return {{"status": solution.status, "objective": solution.objective}}
'''
CALL = """

result = run_opf()
"""
KEPT = ("base_system", "parameters", "bindings", "structure", "solver")


def python_code(record: Mapping[str, Any]) -> str:
    """Return the script of a record; every formulation and extension can be said."""
    bindings = record.get("bindings") or []
    request = {key: record[key] for key in KEPT if record.get(key) is not None}
    request["id"] = "request"
    request["bindings"] = [{k: v for k, v in b.items() if k != "values"} for b in bindings]
    text = json.dumps(request, indent=1, ensure_ascii=False).replace('"""', '\\"\\"\\"')
    names = [b["name"] for b in bindings]
    bound = ""
    if names:
        pairs = ", ".join(names)
        bound = (
            f'    for binding, value in zip(record["bindings"], ({pairs},), strict=True):\n'
            '        binding["values"] = [float(value)]\n'
        )
    changes = len(record.get("parameters") or []) + len(names)
    code = HEAD.format(
        base=record["base_system"],
        count=f"{changes} changes, {record['structure']['formulation']}",
        request=text,
        arguments=", ".join(names),
        bound=bound,
        violation=float((record.get("solver") or {}).get("violation", 1e-8)),
    )
    return code if names else code + CALL
