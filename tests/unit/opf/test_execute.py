"""Answers as models give them: found, refused, run, and looked at."""

import json
import shutil

import pytest

from headwater.core.sandbox import Limits
from headwater.opf.answers import bind_arguments, denied, extract, signature
from headwater.opf.case import read_case, shipped_case
from headwater.opf.code import matpower_code, python_code
from headwater.opf.difference import patch_of
from headwater.opf.execute import execute_answer
from headwater.opf.structure import empty

OCTAVE = pytest.mark.skipif(shutil.which("octave") is None, reason="GNU Octave is not installed")
LIMITS = Limits(cpu_s=30, wall_s=60)
CASE = read_case(shipped_case("case9"))
# MATPOWER 8.1: case9, DC, as it is
PLAIN_DC = 5216.026607747


def record(bound=False):
    """Return a request about case9: more load at bus 5, a placeholder if wanted."""
    target = {"component": "bus", "bus": 5, "field": "PD"}
    one = {
        "id": "T",
        "base_system": "case9",
        "parameters": [] if bound else [{**target, "op": "set", "value": 100.0}],
        "structure": empty("DCOPF"),
        "solver": {"violation": 1e-8},
        "bindings": [],
    }
    if bound:
        one["bindings"] = [
            {
                **target,
                "name": "bus_PD_5",
                "direction": "increase",
                "default": 90.0,
                "values": [100.0, 99.0],
            }
        ]
    return one


def fenced(code, language="matlab"):
    return f"Here is the program.\n\n```{language}\n{code}```\nIt adds load."


def run(one, text, dialect):
    return execute_answer(one, {"id": "T", "sample": 0, "text": text}, CASE, dialect, LIMITS)


@pytest.mark.parametrize(
    ("text", "code", "block"),
    [
        (fenced("results = runopf(mpc);\n"), "results = runopf(mpc);\n", "last"),
        ("~~~\nresults = 1;\n~~~\n", "results = 1;\n", "last"),
        ("```\nresults = 2;", "results = 2;\n", "last"),  # the end was cut off
        ("```\nresults = 1;\n```\nbetter:\n```\nresults = 2;\n```", "results = 2;\n", "last"),
        ("```\nresults = 1;\n```\n```\nnotes\n```", "results = 1;\n", "last"),
        ("```\nab\n```\n```\nabc\n```", "abc\n", "longest"),
        (
            "mpc = loadcase('case9'); results = runopf(mpc);",
            "mpc = loadcase('case9'); results = runopf(mpc);\n",
            "unfenced",
        ),
        ("I cannot do this; results are not certain.", "", "none"),
        ("", "", "none"),
    ],
)
def test_the_program_is_found(text, code, block):
    found = extract(text, "matpower", abstract=False)
    assert (found.code, found.block) == (code, block)


def test_the_block_with_the_entry_point_counts():
    text = "```\nfunction results = run_opf(a)\nend\n```\nUse:\n```\nx = 1;\n```"
    assert "run_opf" in extract(text, "matpower", abstract=True).code


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("function results = run_opf(bus_PD_5, gen_PMAX_1)\n", ["bus_PD_5", "gen_PMAX_1"]),
        ("function [results] = run_opf(a, ...\n b)\n", ["a", "b"]),
        ("function results = run_opf\n", []),
        ("function r = other(a)\n", None),
    ],
)
def test_signatures(code, names):
    assert signature(code, "matpower") == names


def test_arguments_go_by_name_and_else_by_position():
    bindings = [{"name": "bus_PD_5"}, {"name": "gen_PMAX_1"}]
    assert bind_arguments(["gen_pmax_1", "bus_pd_5"], bindings, [1, 2]) == ([2, 1], "name")
    assert bind_arguments(["a", "b"], bindings, [1, 2]) == ([1, 2], "positional")
    assert bind_arguments(["a"], bindings, [1, 2]) is None


@pytest.mark.parametrize(
    ("code", "dialect", "word"),
    [
        ("system('ls');", "matpower", "system"),
        ("x = urlread('http://a');", "matpower", "urlread"),
        ("!ls", "matpower", "shell escape"),
        ("% system('ls')\ndisp('system(1)');", "matpower", ""),
        ("mpc.system = 1;", "matpower", ""),
        ("import os", "python", "import os"),
        ("from subprocess import run", "python", "import subprocess"),
        ("eval('1')", "python", "eval"),
        ("().__class__", "python", "__class__"),
        ("import numpy as np", "python", ""),
    ],
)
def test_forbidden_words(code, dialect, word):
    assert denied(code, dialect) == word


@OCTAVE
def test_a_right_matlab_answer_and_the_patch_that_it_made():
    row = run(record(), fenced(matpower_code(record())), "matpower")[0]
    assert (row["extracted"], row["ran"], row["converged"]) == (True, True, True)
    assert row["objective"] > PLAIN_DC
    assert row["recovered_patch"]["changes"] == [
        {"component": "bus", "key": [5, 4], "field": "PD", "value": 100.0}
    ]
    assert row["refused_wrong_direction"] is None
    python = run(record(), fenced(python_code(record())), "python")[0]
    assert python["objective"] == pytest.approx(row["objective"], rel=1e-7)
    patch = run(record(), fenced(json.dumps(record())), "patch")[0]
    assert patch["objective"] == pytest.approx(row["objective"], rel=1e-7)
    assert patch["recovered_patch"]["changes"] == row["recovered_patch"]["changes"]


@OCTAVE
@pytest.mark.parametrize("dialect", ["matpower", "python", "patch"])
def test_a_function_is_run_on_every_strategy_and_must_refuse_the_wrong_way(dialect):
    make = {"matpower": matpower_code, "python": python_code, "patch": json.dumps}[dialect]
    rows = run(record(bound=True), fenced(make(record(bound=True))), dialect)
    assert [r["strategy"] for r in rows] == [0, 1]
    assert all(r["converged"] and r["refused_wrong_direction"] for r in rows)
    assert rows[0]["objective"] > rows[1]["objective"] > PLAIN_DC


@OCTAVE
def test_a_function_without_assertions_does_not_refuse():
    code = matpower_code(record(bound=True)).replace("assert(all(bus_PD_5 > old));", "")
    rows = run(record(bound=True), fenced(code), "matpower")
    assert all(r["converged"] for r in rows)
    assert not any(r["refused_wrong_direction"] for r in rows)


@OCTAVE
@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("mpc = loadcase('case9'); results = runopf(mpc", "syntax"),
        ("mpc = loadcase('case99'); results = runopf(mpc);", "runtime"),
        ("x = loadcase('case9'); % results\n", "missing_result"),
        ("results = loadcase('case9'); while true, end", "timeout"),
        ("results = 1; system('id');", "denied"),
        (
            "mpc = loadcase('case9'); mpc.bus(:, 3) = 1e4; results = runopf(mpc,"
            " mpoption('verbose', 0, 'out.all', 0));",
            "not_converged",
        ),
    ],
)
def test_every_failure_has_its_class(code, kind):
    limits = Limits(cpu_s=5, wall_s=20)
    answer = {"id": "T", "text": fenced(code + "\n")}
    row = execute_answer(record(), answer, CASE, "matpower", limits)[0]
    assert row["error_class"] == kind
    assert not row["converged"]


@OCTAVE
def test_a_result_of_an_earlier_answer_cannot_leak():
    run(record(), fenced(matpower_code(record())), "matpower")
    assert run(record(), fenced("disp('results');"), "matpower")[0]["error_class"] == (
        "missing_result"
    )


@OCTAVE
def test_quadprog_is_there_although_core_octave_has_none():
    code = (
        "x = quadprog(eye(2), [-2; -6], [1 1], 2, [], [], zeros(2, 1), []);\n"
        "results = struct('f', x(2), 'success', 1);\n"
    )
    # min (x1^2 + x2^2)/2 - 2 x1 - 6 x2, x1 + x2 <= 2, x >= 0: x = (0, 2)
    assert run(record(), fenced(code), "matpower")[0]["objective"] == pytest.approx(2, abs=1e-5)


def test_a_patch_of_another_network_or_without_sense_is_refused():
    for wrong in (
        {"base_system": "case14"},
        {"parameters": [{"component": "bus", "bus": 77, "field": "PD", "op": "set", "value": 1}]},
        {"structure": {"formulation": "XOPF"}},
        {"structure": {"formulation": "DCOPF", "constraints": [{"name": ["x"]}]}},
    ):
        row = run(record(), fenced(json.dumps(record() | wrong), "json"), "patch")[0]
        assert row["error_class"] == "invalid_patch", wrong
        assert row["message"]
    assert run(record(), "```json\n[1, 2]\n```", "patch")[0]["error_class"] == "invalid_patch"


def test_the_difference_of_two_cases_is_a_patch():
    cost = CASE.gencost.copy()
    cost[1, 5] = 2.5  # the linear term of the second unit: 1.2 $/MWh in the file
    changed = CASE.with_tables(
        branch=CASE.branch.assign(RATE_A=[100.0, *CASE.branch["RATE_A"][1:]]), gencost=cost
    )
    assert patch_of(CASE, changed) == {
        "changes": [
            {"component": "branch", "key": [1, 4, 0], "field": "RATE_A", "value": 100.0},
            {"component": "gen", "key": [2, 1], "field": "COST_C1", "value": 2.5},
        ],
        "added": {},
    }
    assert patch_of(CASE, CASE) == {"changes": [], "added": {}}
