"""Any part of a record replaced by something else: named, never a traceback, never a NaN."""

import copy
import itertools
import json
import warnings

import jsonschema
import pytest
from proopf_lines import AC, N1, label, line, move, networks, reactive, set_

from headwater.core.errors import InputError
from headwater.opf.explain import explain
from headwater.opf.importer import import_proopf
from headwater.opf.record import (
    canonical_hash,
    check_record,
    complete,
    lint_record,
    read_line,
    read_records,
    schema,
)

GARBAGE = [None, True, 0, -1, 2.5, 1e308, 10**400, "", "x", "*", [], [1], ["a", [2]], {}, {"a": 1}]
ABSENT = object()


def parts(value, path=()):
    """Yield the path of every part of a JSON value but the whole."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, child in inner:
        yield (*path, key)
        if isinstance(child, dict | list):
            yield from parts(child, (*path, key))


def spoilt(value, most=4):
    """Yield the value with each part replaced by some pieces of garbage, or taken away."""
    pieces = itertools.cycle([*GARBAGE, ABSENT])
    for path in list(parts(value)):
        for piece in itertools.islice(pieces, most):
            found = copy.deepcopy(value)
            holder = found
            for key in path[:-1]:
                holder = holder[key]
            if piece is ABSENT:
                del holder[path[-1]]
            else:
                holder[path[-1]] = piece
            yield path, found


def test_spoilt_lines_are_imported_or_reported():
    cases = networks()
    code = "c_Q = [1]; mpc.gencost(k, 5) = 3;"
    changes = [
        set_("bus", "PD", 30, bus_id=9),
        set_("branch", "BR_X", 0.1, fbus=1, tbus=2),
        set_("gen", "COST_PARAMS_C2", 0.1, bus_id=2),
    ]
    moved = [move("gen", "QMIN", "Decrease", -20.0, -19.0, -18.0, bus_id=2)]
    answers = {"results_strategy1": label(2.0), "results_strategy2": label(3.0)}
    whole = [
        line(AC, changes, reactive([1, 2, 3, 4, 5]), code=code, results=label(3.0)),
        line(AC, moved, N1, **answers),
    ]
    tried = 0
    for good in map(json.loads, whole):
        for path, raw in spoilt(good):
            tried += 1
            records, report = import_proopf([json.dumps(raw)], cases)
            assert records or len(report), path
            for record in records:
                check_record(record)
                json.dumps(record, allow_nan=False)
                codes = set(report["code"][report["severity"] == "error"])
                assert set(record["source"]["quarantine"]) == codes, path
    assert tried > 300


def test_spoilt_records_are_refused_or_checked(mirror):
    case, whole = networks()["case14"], jsonschema.Draft202012Validator(schema())
    records = read_records(mirror / "opf" / "requests.jsonl")
    tried = kept = 0
    for record in (records[0], records[4], records[9], records[12], records[17]):
        record.pop("reference_matpower_code")
        for path, raw in spoilt(record):
            tried += 1
            try:
                found = complete(check_record(raw))
            except InputError as error:
                assert error.found, path
                continue
            kept += 1
            assert whole.is_valid(raw), path
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert len(canonical_hash(found)) == 64 and explain(found, case)
                lint_record(found, case)
    assert tried > 1000 and kept > 50


@pytest.mark.parametrize("digits", [301, 5000])
def test_numbers_without_end_are_refused(digits):
    with pytest.raises(InputError, match=f"{digits} digits"):
        read_line('{"value": ' + "9" * digits + "}", None, 1)
