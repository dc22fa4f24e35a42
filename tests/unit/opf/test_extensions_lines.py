"""Limits of branches: uncertain, soft, secure against outages, switched."""

import itertools
import os
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from extension_networks import answer, attempt, network, two_buses
from pytest import approx
from scipy.optimize import linprog
from scipy.sparse import diags
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import spsolve

from headwater.opf.case import read_case, shipped_case
from headwater.opf.engine import Engine, Options
from headwater.opf.sensitivity import dc_grid, ptdf

TIGHT = 1e-7
MIRROR = os.environ.get("HEADWATER_MIRROR")
Z = NormalDist().inv_cdf(0.95)


def mirrored(name):
    if not MIRROR:
        pytest.skip("HEADWATER_MIRROR with opf/cases is not set")
    return read_case(Path(MIRROR) / "opf" / "cases" / f"{name}.m")


def chance(**changes):
    item = {"name": "chance_line_limits", "bus": 2, "mean_mw": 10, "std_mw": 6, "epsilon": 0.05}
    return item | changes


def bought(imported, load):
    """Cost at two buses when `imported` MW come from the cheap one."""
    return 10 * imported + 30 * (load - imported)


def test_a_line_keeps_a_quantile_of_the_wind_free():
    # The reference, bus 1, takes up the error, so all of it crosses the line.
    found = answer(two_buses(), chance())
    assert found.objective == approx(bought(100 - Z * 6, 140), rel=TIGHT)
    assert found.extras["chance_line_limits"]["rate_margin_mw"] == approx([Z * 6], rel=1e-9)
    both = answer(two_buses(), chance(sided="individual two-sided"))
    assert both.objective == approx(bought(100 - NormalDist().inv_cdf(0.975) * 6, 140), rel=TIGHT)


def test_independent_injections_add_their_variances():
    found = answer(two_buses(), chance(bus=[2, 2], mean_mw=[10, 5], std_mw=[6, 8]))
    assert found.objective == approx(bought(100 - Z * 10, 135), rel=TIGHT)


def test_units_that_share_the_error_keep_room_and_unload_the_line():
    # 300 and 100 MW: three quarters of an error at bus 2 cross the line.
    case = two_buses()
    case.gen.loc[1, "PMAX"] = 100.0
    found = answer(case, chance(response="proportional"))
    assert found.objective == approx(bought(100 - Z * 6 * 0.75, 140), rel=TIGHT)
    assert found.extras["chance_line_limits"]["unit_margin_mw"] == approx(
        [Z * 6 * 0.75, Z * 6 * 0.25], rel=1e-9
    )
    # with a load of 200 MW the dear unit would have to make 97.4 of its 100 - 2.5 MW: just so
    case.bus.loc[1, "PD"] = 10 + (100 - Z * 4.5) + (100 - Z * 1.5)
    assert answer(case, chance(response="proportional")).gen["PG"][1] == approx(100 - Z * 1.5)
    case.bus.loc[1, "PD"] += 0.1
    assert attempt(case, chance(response="proportional")).status == "infeasible"


def test_binding_lines_are_overloaded_as_often_as_was_allowed():
    case = read_case(shipped_case("case30"))
    case.branch["RATE_A"] *= 0.75
    item = chance(bus=[15, 10], mean_mw=[5, 5], std_mw=[3, 4])
    found = answer(case, item)
    limit = case.branch["RATE_A"].to_numpy()
    factors = ptdf(dc_grid(case))[:, [14, 9]]
    errors = np.random.default_rng(11).normal(size=(100_000, 2)) * [3, 4]
    flow = found.branch["PF"].to_numpy()[:, None] + factors @ errors.T
    over = np.maximum((flow > limit[:, None]).mean(1), (flow < -limit[:, None]).mean(1))
    assert over.max() == approx(0.05, abs=0.003)
    assert answer(case, item | {"epsilon": 0.01}).objective > found.objective


def test_robust_limits_hold_at_every_corner_and_no_more():
    case = read_case(shipped_case("case30"))
    case.branch["RATE_A"] *= 0.75
    buses, delta = [15, 10, 21], np.array([3.0, 2.0, 4.0])
    item = {"name": "robust_line_limits", "buses": buses, "delta_mw": delta.tolist()}
    found = answer(case, item)
    factors = ptdf(dc_grid(case))[:, [b - 1 for b in buses]]
    room = case.branch["RATE_A"].to_numpy() - np.abs(found.branch["PF"].to_numpy())

    def worst(corners):
        return np.max([np.abs(factors @ (delta * c)) for c in corners], axis=0)

    corners = list(itertools.product([-1, 1], repeat=3))
    assert (room - worst(corners)).min() == approx(0, abs=1e-5)
    budget = answer(case, item | {"budget": 2})
    room = case.branch["RATE_A"].to_numpy() - np.abs(budget.branch["PF"].to_numpy())
    two = [c for c in itertools.product([-1, 0, 1], repeat=3) if sum(map(abs, c)) <= 2]
    assert (room - worst(two)).min() == approx(0, abs=1e-5)
    assert budget.objective < found.objective


@pytest.mark.parametrize(("penalty", "imported"), [(5, 150), (25, 100)])
def test_a_soft_limit_gives_way_where_it_is_cheaper(penalty, imported):
    found = answer(two_buses(), {"name": "soft_line_limits", "penalty": penalty})
    excess = imported - 100
    assert found.objective == approx(bought(imported, 150) + penalty * excess, rel=TIGHT)
    assert found.extras["soft_line_limits"]["excess_mva"] == approx([excess], abs=1e-6)


def test_a_soft_limit_gives_way_so_far_and_only_on_the_named_branches():
    soft = {"name": "soft_line_limits", "penalty": 5}
    assert answer(two_buses(), soft | {"max_excess": 20}).objective == approx(
        bought(120, 150) + 100, rel=TIGHT
    )
    lines = [{"f": 1, "t": 2, "rate": 50}, {"f": 1, "t": 2, "rate": 50}]
    units = [{"bus": 1, "pmax": 300, "c1": 10}, {"bus": 2, "pmax": 300, "c1": 30}]
    case = network([0, 150], units, lines)
    # the second circuit keeps its 50 MW and, being equal, holds the first one to them
    one = soft | {"branches": [{"fbus": 1, "tbus": 2, "circuit": 1}]}
    assert answer(case, one).objective == approx(bought(100, 150), rel=TIGHT)


@pytest.mark.parametrize("formulation", ["ACOPF", "SOCP"])
def test_soft_limits_in_mva(formulation):
    plain = answer(two_buses(x=0.01), formulation=formulation)
    soft = {"name": "soft_line_limits", "penalty": 5}
    found = answer(two_buses(x=0.01), soft, formulation=formulation)
    apparent = found.branch[["SF", "ST"]].to_numpy().max()
    excess = found.extras["soft_line_limits"]["excess_mva"][0]
    assert excess == approx(apparent - 100, rel=1e-4) and excess > 45
    assert found.objective == approx(found.parts["generation"] + 5 * excess, rel=1e-9)
    hard = answer(two_buses(x=0.01), soft | {"penalty": 1000}, formulation=formulation)
    assert hard.objective == approx(plain.objective, rel=1e-5)


def twins(rate=100, load=150):
    units = [{"bus": 1, "pmax": 300, "c1": 10}, {"bus": 2, "pmax": 300, "c1": 30}]
    return network([0, load], units, [{"f": 1, "t": 2, "rate": rate}] * 2)


@pytest.mark.parametrize(("factor", "imported"), [(1.0, 100), (1.2, 120), (2.0, 150)])
def test_one_of_two_circuits_has_to_carry_all_after_an_outage(factor, imported):
    item = {"name": "n1_security", "emergency_factor": factor}
    found = answer(twins(), item)
    assert found.objective == approx(bought(imported, 150), rel=TIGHT)
    assert found.extras["n1_security"]["contingencies"] == 2


def test_the_loss_of_a_bridge_is_listed_not_secured():
    found = answer(two_buses(), {"name": "n1_security"})
    assert found.objective == approx(2500, rel=TIGHT)
    assert found.extras["n1_security"] == {"contingencies": 0, "islanding": ["1-2"], "rows": 0}


def test_only_the_named_outages_are_secured():
    case = twins(rate=100)
    case.branch.loc[0, "RATE_A"] = 80.0
    lost = {"fbus": 1, "tbus": 2, "circuit": 1}
    found = answer(case, {"name": "n1_security", "contingencies": [lost]})
    assert found.objective == approx(bought(100, 150), rel=TIGHT)
    assert answer(case, {"name": "n1_security"}).objective == approx(bought(80, 150), rel=TIGHT)


def secure_optimum(case, factor):
    """N-1 optimum as one linear program in p alone: flows after each outage solved anew."""
    base, bus = case.base_mva, case.bus
    row = {int(b): k for k, b in enumerate(bus["BUS_I"])}
    f, t = case.branch["F_BUS"].map(row).to_numpy(), case.branch["T_BUS"].map(row).to_numpy()
    at = case.gen["GEN_BUS"].map(row).to_numpy()
    b = 1 / (case.branch["BR_X"] * case.branch["TAP"].replace(0, 1.0)).to_numpy()
    rate = case.branch["RATE_A"].to_numpy() / base
    load = bus["PD"].to_numpy() / base
    nb, nl, ng = len(bus), len(f), len(at)
    rows, right = [], []
    for out in [None, *range(nl)]:
        on = np.arange(nl) != out
        c = np.zeros((nl, nb))
        c[np.arange(nl), f] = on
        c[np.arange(nl), t] -= on
        laplacian = c.T @ np.diag(b) @ c
        if np.linalg.matrix_rank(laplacian) < nb - 1:
            continue  # the outage splits the network
        flow = np.diag(b) @ c @ np.linalg.pinv(laplacian)
        limit = (rate if out is None else factor * rate)[rate > 0]
        a, fixed = flow[:, at][rate > 0], (flow @ load)[rate > 0]
        rows += [a, -a]
        right += [limit + fixed, limit - fixed]
    cost = case.gencost[:, 4:]
    assert (cost[:, 0] == 0).all() and (case.gencost[:, 3] == 3).all()
    solved = linprog(
        cost[:, 1] * base,
        A_ub=np.vstack(rows),
        b_ub=np.concatenate(right),
        A_eq=np.ones((1, ng)),
        b_eq=[load.sum()],
        bounds=np.column_stack([case.gen["PMIN"], case.gen["PMAX"]]) / base,
        method="highs",
    )
    return None if solved.status else solved.fun + cost[:, 2].sum()


@pytest.mark.parametrize("factor", [0.9, 0.8])
def test_security_equals_the_program_with_all_rows(factor):
    case = read_case(shipped_case("case24_ieee_rts"))
    case.gencost[:, 4] = 0.0
    found = answer(case, {"name": "n1_security", "emergency_factor": factor})
    assert found.objective == approx(secure_optimum(case, factor), rel=1e-8)
    assert found.objective > answer(case).objective + 1
    assert found.extras["n1_security"]["contingencies"] == 37
    assert found.extras["n1_security"]["islanding"] == ["7-8"]


def test_rows_of_security_follow_the_numbers_of_the_next_case():
    case = read_case(shipped_case("case24_ieee_rts"))
    case.gencost[:, 4] = 0.0
    structure = {
        "formulation": "DCOPF",
        "constraints": [{"op": "add", "name": "n1_security", "emergency_factor": 0.9}],
    }
    engine = Engine(case, structure, Options())
    engine.solve()
    branch, bus = case.branch.copy(), case.bus.copy()
    branch["BR_X"] *= np.random.default_rng(2).uniform(0.8, 1.2, len(branch))
    bus["PD"] *= 0.97
    other = case.with_tables(branch=branch, bus=bus)
    assert engine.solve(other).objective == approx(secure_optimum(other, 0.9), rel=1e-8)


def test_published_security_of_the_reliability_test_system():
    case = mirrored("pglib_opf_case24_ieee_rts")
    secure = {"name": "n1_security", "emergency_factor": 0.9}
    assert answer(case).objective == approx(61001.240, rel=1e-7)
    assert answer(case, secure).objective == approx(63058.204, rel=1e-7)
    assert answer(case, {"name": "n1_security"}).objective == approx(61001.240, rel=1e-7)


def test_security_on_hundreds_of_buses_in_few_rows():
    case = read_case(shipped_case("case118"))
    flow = answer(case).branch["PF"].to_numpy()
    worst = _after_every_outage(case, flow).max(1)
    case.branch["RATE_A"] = np.maximum(0.95 * worst / 1.2, 1.1 * np.abs(flow)) + 5
    plain = answer(case).objective
    found = answer(case, {"name": "n1_security", "emergency_factor": 1.2})
    assert found.objective > plain + 1
    assert found.extras["n1_security"]["rows"] < 1000
    after = _after_every_outage(case, found.branch["PF"].to_numpy())
    assert (after - 1.2 * case.branch["RATE_A"].to_numpy()[:, None]).max() == approx(0, abs=1e-4)


def _after_every_outage(case, flow):
    """Size of the flows after each outage that keeps the network whole, each solved anew."""
    grid = dc_grid(case)
    incidence = grid.incidence()
    injected = incidence.T @ flow
    columns = []
    for out in range(len(flow)):
        b = grid.b.copy()
        b[out] = 0
        laplacian = incidence.T @ diags(b) @ incidence
        if connected_components(laplacian)[0] > 1:
            continue
        angle = np.zeros(grid.buses)
        angle[1:] = spsolve(laplacian.tocsc()[1:, 1:], injected[1:])
        columns.append(np.abs(b * (incidence @ angle)))
    return np.array(columns).T


def opened_one_by_one(case, most):
    """Best optimum over all sets of at most `most` open branches, and the set."""
    lines = range(len(case.branch))
    engine = Engine(case, {"formulation": "DCOPF"}, Options())
    best = (np.inf, ())
    for count in range(most + 1):
        for opened in itertools.combinations(lines, count):
            branch = case.branch.copy()
            branch.loc[list(opened), "BR_STATUS"] = 0.0
            found = engine.solve(case.with_tables(branch=branch))
            if found.status == "optimal" and found.objective < best[0] - 1e-6:
                best = (found.objective, opened)
    return best


def switching(most, **more):
    return {"name": "transmission_switching", "max_open": most} | more


@pytest.mark.parametrize("most", [0, 1, 2])
def test_switching_finds_the_best_of_all_sets(most):
    case = read_case(shipped_case("case5"))
    best, _ = opened_one_by_one(case, most)
    assert answer(case, switching(most)).objective == approx(best, rel=1e-6)


def test_switching_a_network_with_quadratic_costs_and_a_phase_shifter():
    case = read_case(shipped_case("case5"))
    cost = np.zeros((5, 7))
    cost[:, 0], cost[:, 3], cost[:, 5] = 2, 3, case.gencost[:, 4]
    cost[:, 4] = [0.02, 0.03, 0.01, 0.02, 0.005]
    case = case.with_tables(gencost=cost)
    case.branch.loc[1, "SHIFT"] = 1.0
    best, opened = opened_one_by_one(case, 2)
    assert opened  # opening something pays, otherwise this shows nothing
    found = answer(case, switching(2))
    assert found.objective == approx(best, rel=1e-6)
    assert (found.branch.loc[list(opened), "CLOSED"] == 0).all()
    assert found.branch.loc[list(opened), "PF"].to_numpy() == approx(0, abs=1e-6)
    assert len(found.extras["transmission_switching"]["open"]) == len(opened)


def test_an_open_branch_has_no_limit_of_its_angle():
    # Closed, the limit of 1 degree lets 17.5 MW through; the two lines beside it carry more.
    lines = [{"f": 1, "t": 3}, {"f": 3, "t": 2}, {"f": 1, "t": 2}]
    units = [{"bus": 1, "pmax": 300, "c1": 10}, {"bus": 2, "pmax": 300, "c1": 30}]
    case = network([0, 100, 0], units, lines)
    case.branch.loc[2, ["ANGMIN", "ANGMAX"]] = [-1.0, 1.0]
    through = np.deg2rad(1) / 0.1 * 100 * 1.5
    assert answer(case).objective == approx(bought(through, 100), rel=TIGHT)
    found = answer(case, switching(1))
    assert found.objective == approx(1000, rel=TIGHT)
    assert found.extras["transmission_switching"]["open"] == ["1-2"]


def test_switching_only_among_the_candidates():
    case = read_case(shipped_case("case5"))
    _, opened = opened_one_by_one(case, 1)
    f, t = case.branch.loc[opened[0], ["F_BUS", "T_BUS"]].astype(int)
    others = [
        {"fbus": int(a), "tbus": int(b)}
        for a, b in case.branch[["F_BUS", "T_BUS"]].to_numpy()
        if (a, b) != (f, t)
    ]
    whole, part = (answer(case, s) for s in (switching(1), switching(1, candidates=others)))
    assert whole.extras["transmission_switching"]["open"] == [f"{f}-{t}"]
    assert part.objective > whole.objective + 1


def test_published_switching_of_the_five_buses():
    case = mirrored("pglib_opf_case5_pjm")
    assert answer(case).objective == approx(17479.897, rel=1e-7)
    found = answer(case, switching(1))
    assert found.objective == approx(14991.25, rel=1e-7)
    assert found.extras["transmission_switching"]["open"] == ["3-4"]
    case.bus.loc[case.bus["BUS_I"] == 4, "PD"] = 420.0
    assert answer(case, switching(1)).objective == approx(15790.4348, rel=1e-8)
