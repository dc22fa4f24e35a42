"""Programs of answers in MATPOWER, inside the sandbox: one fresh Octave per call.

A driver runs the answer, writes objective and convergence as text, and a look at the case that
the answer handed to MATPOWER first: `runopf` and `opf_setup` are MATPOWER's own, with one line
more.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headwater.core.sandbox import Limits, Result, run

from .case import Case, case_of, write_case
from .octave import command, matpower_folders, preamble

DUMP = """function headwater_dump(mpc)
if exist('hw_bus.txt', 'file'), return; end
if ischar(mpc), mpc = loadcase(mpc); end
if isfield(mpc, 'order') && isfield(mpc.order, 'state') && mpc.order.state == 'i'
  mpc = mpc.order.ext;
end
base = 0; if isfield(mpc, 'baseMVA'), base = mpc.baseMVA; end
bus = mpc.bus; gen = mpc.gen; branch = mpc.branch;
save('-ascii', '-double', 'hw_gen.txt', 'gen');
save('-ascii', '-double', 'hw_branch.txt', 'branch');
if isfield(mpc, 'gencost')
  cost = mpc.gencost; save('-ascii', '-double', 'hw_gencost.txt', 'cost');
end
save('-ascii', '-double', 'hw_bus.txt', 'bus');
end
"""
# quadprog is not in core Octave; MATPOWER's own solver takes its place.
QUADPROG = """function [x, f, flag, out, lambda] = quadprog(H, f0, A, b, Aeq, beq, lb, ub, x0, opt)
n = numel(f0); if isempty(H), H = sparse(n, n); end
if nargin < 9, x0 = []; end
if nargin < 8, ub = []; end
if nargin < 7, lb = []; end
if nargin < 6, Aeq = []; beq = []; end
if nargin < 4, A = []; b = []; end
AA = [A; Aeq]; u = [b(:); beq(:)]; l = [-Inf(numel(b), 1); beq(:)];
[x, f, flag, out, lambda] = qps_master(H, f0(:), AA, l, u, lb, ub, x0, struct('verbose', 0));
end
"""
DRIVER = """1;
%(preamble)s
addpath(pwd);
try
  %(call)s
  failed = '';
catch problem
  failed = [problem.identifier ': ' problem.message];
end
stream = fopen('hw_result.txt', 'w');
if ~isempty(failed)
  fprintf(stream, 'error %%s\\n', strrep(failed, "\\n", ' '));
elseif ~exist('results', 'var') || ~isstruct(results) || ~isfield(results, 'f')
  fprintf(stream, 'missing results.f\\n');
else
  success = 1; if isfield(results, 'success'), success = double(results.success); end
  value = results.f; if isempty(value), value = NaN; end
  fprintf(stream, 'value %%.17g %%d\\n', double(value(1)), success(1) > 0);
end
fclose(stream);
"""
OUTPUTS = ("hw_result.txt", "hw_bus.txt", "hw_gen.txt", "hw_branch.txt", "hw_gencost.txt")


@dataclass(frozen=True)
class Run:
    """How a program of an answer ended.

    Attributes
    ----------
    error_class : str
        Empty, or ``timeout memory output_limit process_limit syntax runtime missing_result``.
    message : str
    objective : float or None
    converged : bool
    handed : Case or None
        What it gave MATPOWER to solve, as far as it got.
    result : Result
        Of the sandbox.
    """

    error_class: str
    message: str
    objective: float | None
    converged: bool
    handed: Case | None
    result: Result


@functools.cache
def _shims() -> dict[str, str]:
    """Return MATPOWER's entries with a line that writes down the case."""
    library = matpower_folders()[0]
    found = {"headwater_dump.m": DUMP, "quadprog.m": QUADPROG}
    for name, argument in (("runopf", "casedata"), ("opf_setup", "mpc")):
        text = (library / f"{name}.m").read_text(encoding="utf-8")
        line = re.search(rf"^function[^=]*=\s*\.*\s*{name}\([^)]*\)", text, re.M | re.S)
        if line is None:
            raise RuntimeError(f"MATPOWER's {name}.m does not begin as expected")
        guard = "nargin > 0" if name == "runopf" else "true"
        added = f"\nif {guard}, try, headwater_dump({argument}); catch, end; end"
        found[f"{name}.m"] = text[: line.end()] + added + text[line.end() :]
    return found


def run_matlab(code: str, case: Case, arguments: Sequence[float] | None, limits: Limits) -> Run:
    """Run the code of an answer.

    Parameters
    ----------
    code : str
        A script that leaves `results`, or a function ``run_opf``.
    case : Case
        Base system; loadcase finds it by its name.
    arguments : sequence of float or None
        For the function; None runs a script.
    """
    files = dict(_shims())
    files[f"{case.name}.m"] = write_case(case)
    if arguments is not None:
        files["run_opf.m"] = code
        call = f"results = run_opf({', '.join(map(repr, map(float, arguments)))});"
    else:
        files["hw_answer.m"] = "1;\n" + code
        call = "source('hw_answer.m');"
    files["hw_driver.m"] = DRIVER % {"preamble": preamble(), "call": call}
    readable = [str(matpower_folders()[0].parent)]
    result = run(command("hw_driver.m"), files, limits, readable=readable, keep=OUTPUTS)
    return _read(result, case)


def _read(result: Result, case: Case) -> Run:
    handed = _handed(result.files, case)
    text = result.files.get("hw_result.txt", b"").decode("utf-8", "replace").strip()
    words = text.split()
    if words[:1] == ["value"] and len(words) == 3:
        value = float(words[1])
        finite = value if np.isfinite(value) else None
        return Run("", "", finite, words[2] == "1" and finite is not None, handed, result)
    if result.status in ("timeout", "memory", "output_limit", "process_limit"):
        return Run(result.status, result.status, None, False, handed, result)
    message = text.removeprefix("error ") or " ".join(result.stderr.split())[-300:]
    kind = "runtime"
    if "parse error" in message or "parse error" in result.stderr:
        kind = "syntax"
    elif words[:1] == ["missing"]:
        kind = "missing_result"
    return Run(kind, message[:300], None, False, handed, result)


def _handed(files: Mapping[str, bytes], case: Case) -> Case | None:
    tables: dict[str, Any] = {"baseMVA": case.base_mva}
    for name in ("bus", "gen", "branch", "gencost"):
        data = files.get(f"hw_{name}.txt")
        if data is None:
            continue
        try:
            lines = [line.split() for line in data.decode().splitlines() if line.strip()]
            tables[name] = np.array(lines, dtype=float)
        except ValueError:
            return None
    try:
        return case_of(case.name, tables)
    except Exception:  # an answer may hand over anything
        return None
