"""The independent check finds every planted violation, in physical units."""

import numpy as np
import pytest
from extension_networks import two_buses
from pytest import approx

from headwater.opf import engine as engine_module
from headwater.opf import verify
from headwater.opf.case import read_case, shipped_case
from headwater.opf.engine import Engine, Options, solve
from headwater.opf.network import network_of
from headwater.opf.results import evaluate


@pytest.fixture(scope="module")
def solved():
    case = read_case(shipped_case("case30"))
    engine, network = Engine(case), network_of(case)
    built = engine.built(network)
    raw = built.solver(engine.options).solve(built.program.values())
    _, periods = evaluate(built, raw)
    return case, network, {k: v.copy() for k, v in periods[0].items()}


def checked(solved, **changes):
    case, network, numbers = solved
    return verify.check(case, network, numbers | changes, "ACOPF", "matpower")


def test_a_solution_passes(solved):
    assert verify.worst_pu(checked(solved), 100) < 1e-7


@pytest.mark.parametrize(
    ("name", "row", "change", "family", "size"),
    [
        ("pg", 0, 0.05, "balance_mw", 5.0),
        ("qg", 1, -0.03, "balance_mvar", 3.0),
        ("pd", 4, 0.02, "balance_mw", 2.0),
        ("injection_q", 7, 0.04, "balance_mvar", 4.0),
    ],
)
def test_planted_imbalances(solved, name, row, change, family, size):
    numbers = solved[2][name].copy()
    numbers[row] += change
    assert checked(solved, **{name: numbers})[family] == approx(size, abs=1e-3)


@pytest.mark.parametrize(
    ("limit", "of", "side", "family", "scale"),
    [
        ("pmax", "pg", -1, "generation_mw", 100),
        ("pmin", "pg", 1, "generation_mw", 100),
        ("qmax", "qg", -1, "reactive_mvar", 100),
        ("vmax", "vm", -1, "voltage_pu", 1),
        ("vmin", "vm", 1, "voltage_pu", 1),
    ],
)
def test_limits_that_are_left(solved, limit, of, side, family, scale):
    numbers = solved[2][limit].copy()
    numbers[2] = solved[2][of][2] + side * 0.01
    assert checked(solved, **{limit: numbers})[family] == approx(0.01 * scale, rel=1e-3)


def test_flows_over_their_limit(solved):
    case, network, numbers = solved
    s_f, s_t = verify.ac_flows(case, network, numbers["vm"] * np.exp(1j * numbers["va"]))
    limit = numbers["limit"].copy()
    limit[6] = max(abs(s_f[6]), abs(s_t[6])) / 100 - 0.02
    assert checked(solved, limit=limit)["flow_mva"] == approx(2, rel=1e-3)


def test_angles_over_their_limit(solved):
    case, network, numbers = solved
    branch = case.branch.copy()
    difference = numbers["va"][network.f] - numbers["va"][network.t]
    branch.loc[3, "ANGMAX"] = np.rad2deg(difference[3]) - 0.5
    changed = case.with_tables(branch=branch)
    found = verify.check(changed, network_of(changed), numbers, "ACOPF", "matpower")
    assert found["angle_degrees"] == approx(0.5, rel=1e-6)


def test_flows_equal_those_of_the_bus_admittance_matrix():
    # S = V (Y_bus V)^* summed over branches and shunts
    case = read_case(shipped_case("case57"))
    network = network_of(case)
    rng = np.random.default_rng(0)
    v = rng.uniform(0.9, 1.1, network.nb) * np.exp(1j * rng.uniform(-0.3, 0.3, network.nb))
    s_f, s_t = verify.ac_flows(case, network, v)
    y_bus = np.zeros((network.nb, network.nb), dtype=complex)
    for k, row in enumerate(case.branch.itertuples(index=False)):
        y = 1 / (row.BR_R + 1j * row.BR_X)
        tau = (row.TAP or 1) * np.exp(1j * np.deg2rad(row.SHIFT))
        f, t = network.f[k], network.t[k]
        y_bus[f, f] += (y + 0.5j * row.BR_B) / abs(tau) ** 2
        y_bus[t, t] += y + 0.5j * row.BR_B
        y_bus[f, t] -= y / np.conj(tau)
        y_bus[t, f] -= y / tau
    total = np.zeros(network.nb, dtype=complex)
    np.add.at(total, network.f, s_f)
    np.add.at(total, network.t, s_t)
    assert total == approx(v * np.conj(y_bus @ v) * 100, abs=1e-8)


def test_costs_are_those_of_gencost():
    case = two_buses()
    cost = np.zeros((4, 12))
    cost[0] = [1, 0, 0, 3, 0, 5, 50, 505, 300, 3505, 0, 0]
    cost[1, :7] = [2, 0, 0, 3, 0.1, 2, 7]
    cost[2, :6] = [2, 0, 0, 2, 4, 1]
    cost[3, :10] = [1, 0, 0, 3, -10, 30, 0, 0, 10, 50]
    case = case.with_tables(gencost=cost)
    numbers = {"pg": np.array([1.2, 0.3]), "qg": np.array([0.5, -0.05])}
    wanted = 505 + 12 * 70 + (0.1 * 900 + 60 + 7) + (4 * 50 + 1) + 15
    assert verify.generation_cost(case, network_of(case), numbers) == approx(wanted)
    off = numbers | {"commitment": np.array([1.0, 0.0])}
    wanted = 505 + 12 * 70 + (4 * 50 + 1)
    assert verify.generation_cost(case, network_of(case), off) == approx(wanted)


def test_a_result_that_does_not_hold_is_not_given(monkeypatch):
    real = engine_module.verify.check

    def finds_something(*arguments):
        return real(*arguments) | {"balance_mw": 0.5}

    monkeypatch.setattr(engine_module.verify, "check", finds_something)
    found = solve(two_buses(), {"formulation": "DCOPF"})
    assert (found.status, found.objective) == ("numerical_error", None)
    assert "balance_mw 0.5" in found.findings[-1].message
    monkeypatch.setattr(engine_module.verify, "check", lambda *a: real(*a) | {"balance_mw": 0.5e-5})
    loose = solve(two_buses(), {"formulation": "DCOPF"}, Options(violation=1e-6))
    assert loose.status == "optimal"


def test_a_cost_that_differs_from_gencost_is_not_given(monkeypatch):
    monkeypatch.setattr(engine_module.verify, "generation_cost", lambda *a: 2600.0)
    found = solve(two_buses(), {"formulation": "DCOPF"})
    assert (found.status, found.objective) == ("numerical_error", None)
