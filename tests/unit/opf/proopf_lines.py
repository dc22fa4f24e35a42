"""Lines in the format of ProOPF, with texts and numbers of our own."""

import json
from functools import cache

from headwater.opf.case import read_case, shipped_case
from headwater.opf.importer import COLUMNS, import_proopf

AC = "AC optimal power flow of the network. "


@cache
def networks():
    wanted = ("case14", "case30", "case39", "case57", "case118", "case300")
    return {n: read_case(shipped_case(n)) for n in wanted}


def label(value, converged=True):
    times = {"execution_time": 1.0, "error_message": None}
    return {"converged": converged, "objective_value": value, **times}


def line(text=AC, changes=(), structure=None, base="case14", code="", **more):
    spec = {
        "base_system": base,
        "parameter_modifications": list(changes),
        "structural_modification": structure or {},
        "solving_requirements": {"opf_violation": 1e-7, "solver": "MIPS"},
    }
    raw = {"natural_language": text, "model_specification": spec, "matpower_code": code}
    return json.dumps(raw | more)


def set_(component, parameter, value, operation="Set", **key):
    head = {"component": component, **key, "target_parameter": parameter}
    return head | {"operation": operation, "value": value}


def move(component, parameter, direction, default, first, second, **key):
    head = {"component": component, **key, "target_parameter": parameter, "direction": direction}
    values = {"parameter_value_strategy1": first, "parameter_value_strategy2": second}
    return head | {"default_value": default} | values


def one(cases, text, **options):
    """Return the record of a line and its findings by code."""
    records, report = import_proopf([text], cases, **options)
    assert list(report.columns) == list(COLUMNS)
    assert len(records) <= 1
    return (records or [None])[0], report.set_index("code")


def told(report, code, severity="warning"):
    row = report.loc[[code]].iloc[0]
    assert row["severity"] == severity and row["message"].startswith(f"{code}: record ")
    return row["message"]


N1 = {
    "problem": "DCOPF (DC-SCOPF with N-1 line-outage security)",
    "objective_modification": {"op": "none", "name": "standard_dc_opf_generation_cost"},
    "constraint_modification": {"op": "add", "name": "N1_security_constraints", "form": "…"},
}


def reactive(costs, **more):
    item = {"op": "add", "name": "reactive_power_generation_cost", "c_Q": costs, **more}
    return {"problem": "ACOPF", "objective_modification": item}


def bad(**more):
    return set_("bus", "PD", 30, bus_id=9) | more
