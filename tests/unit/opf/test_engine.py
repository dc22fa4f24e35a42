"""The engine around the formulations: structures, horizons, tables, data sets, refusals."""

import pickle
import types

import numpy as np
import pytest
from extension_networks import answer, network, one_bus, two_buses
from pytest import approx

from headwater.core.errors import InputError
from headwater.opf import extensions
from headwater.opf.case import read_case, shipped_case
from headwater.opf.engine import Engine, Options, solve
from headwater.opf.multistart import multistart
from headwater.opf.solution import dataset

DC = {"formulation": "DCOPF"}


def test_errors_of_a_case_or_a_structure_stop_it():
    case = two_buses()
    gen = case.gen.copy()
    gen.loc[0, "PMIN"] = 999.0
    with pytest.raises(InputError, match="bounds_crossed"):
        solve(case.with_tables(gen=gen))
    with pytest.raises(InputError, match="unknown_formulation"):
        solve(case, {"formulation": "ACDC"})
    with pytest.raises(InputError, match="extension_not_applicable"):
        item = {"op": "add", "name": "reactive_generation_cost", "c2": 1.0}
        solve(case, {"formulation": "DCOPF", "objective": [item]})
    with pytest.raises(ValueError, match="dc_convention"):
        Options(dc_convention="other")


def test_tables_have_every_row_of_the_case():
    case = network(
        [0, 60, 10],
        [{"bus": 1, "pmax": 90, "c1": 1}, {"bus": 2, "pmax": 90, "c1": 2, "status": 0}],
        [{"f": 1, "t": 2}, {"f": 2, "t": 3}, {"f": 1, "t": 3, "status": 0}],
    )
    bus = case.bus.copy()
    bus.loc[2, ["BUS_TYPE", "PD"]] = [4, 99]
    found = solve(case.with_tables(bus=bus))
    assert found.bus["IN_SERVICE"].tolist() == [1, 1, 0]
    assert found.gen["IN_SERVICE"].tolist() == [1, 0]
    assert found.branch["IN_SERVICE"].tolist() == [1, 0, 0]
    assert np.isnan(found.bus.loc[2, ["VM", "LMP"]].to_numpy(float)).all()
    assert np.isnan(found.gen.loc[1, "PG"])
    assert found.gen["PG"][0] == approx(60, abs=1e-4)  # the isolated load does not count


def test_two_runs_give_the_same_numbers():
    case = read_case(shipped_case("case30"))
    first, second = solve(case), solve(case)
    assert first.to_json() == second.to_json()
    for name, table in first.tables().items():
        assert table.equals(second.tables()[name])
    assert set(first.times) == {"build_s", "solve_s"}
    assert "times" not in first.to_json()


def test_a_solution_goes_to_another_process():
    found = solve(two_buses(), DC)
    again = pickle.loads(pickle.dumps(found))
    assert again.objective == found.objective
    assert again.bus.equals(found.bus)


def test_solutions_without_result_have_empty_tables():
    found = solve(two_buses(load=999), DC)
    assert found.objective is None
    assert {k: len(v) for k, v in found.tables().items()} == {"bus": 0, "gen": 0, "branch": 0}


def test_data_set_of_instances():
    case = two_buses()
    loads = [80.0, 999.0, 150.0]
    found = []
    for load in loads:
        bus = case.bus.copy()
        bus.loc[1, "PD"] = load
        found.append(solve(case.with_tables(bus=bus), DC))
    data = dataset(found, ["low", "none", "high"])
    assert dict(data.sizes) == {"instance": 3, "bus": 2, "gen": 2, "branch": 1}
    assert data["status"].values.tolist() == ["optimal", "infeasible", "optimal"]
    assert data["objective"].values[[0, 2]] == approx([800, 2500])
    assert np.isnan(data["objective"].values[1])
    assert data["bus_LMP"].sel(instance="high").values == approx([10, 30])
    assert np.isnan(data["bus_LMP"].sel(instance="none")).all()
    assert data["bus_BUS_I"].values.tolist() == [1, 2]
    with pytest.raises(ValueError, match="rows"):
        dataset([found[0], solve(network([1], [{"bus": 1, "pmax": 2, "c1": 1}]), DC)], ["a", "b"])


def horizon(**changes):
    return {"op": "add", "name": "horizon", "load_multipliers": [1.0, 0.5], **changes}


def test_a_horizon_sums_its_periods():
    found = answer(two_buses(load=150), horizon())
    assert found.objective == approx(2500 + 750)
    assert found.bus["PERIOD"].tolist() == [0, 0, 1, 1]
    assert found.bus["P_LOAD"].tolist() == approx([0, 150, 0, 75])
    assert found.bus["LMP"].tolist() == approx([10, 30, 10, 10])
    assert found.branch["MU_SF"].tolist() == approx([20, 0])


def test_hours_multiply_costs_and_not_prices():
    found = answer(two_buses(load=150), horizon(hours=3.0))
    assert found.objective == approx(3 * (2500 + 750))
    assert found.bus["LMP"].tolist() == approx([10, 30, 10, 10])
    assert found.branch["MU_SF"].tolist() == approx([20, 0])
    assert found.gen["MU_PMIN"].tolist() == approx([0, 0, 0, 20])


def test_a_profile_stands_in_place_of_the_multiplied_load():
    found = answer(
        two_buses(load=(150, 30)),
        horizon(profiles=[{"bus": 2, "pd_mw": [40.0, 60.0]}]),
        formulation="ACOPF",
    )
    assert found.bus["P_LOAD"].tolist() == approx([0, 40, 0, 60])
    assert found.bus["Q_LOAD"].tolist() == approx([0, 8, 0, 12])  # power factor kept


def test_infeasible_in_one_period_names_the_largest_load():
    found = solve(two_buses(load=400, rate=500), DC | {"variables": [horizon_of(2.0)]})
    assert found.status == "infeasible"
    assert "800 MW" in found.findings[-1].message


def horizon_of(*multipliers):
    return horizon(load_multipliers=list(multipliers))


@pytest.fixture
def plugin(monkeypatch):
    """Return a function that puts a small extension into the registry."""

    def add(name="planted", group="constraints", **functions):
        module = types.SimpleNamespace(
            __doc__="Planted.",
            NAME=name,
            GROUP=group,
            APPLIES_TO=("ACOPF", "DCOPF", "ED", "SOCP"),
            PARAMETERS={"size": {"type": "number", "description": "size"}},
            REQUIRED=(),
            **functions,
        )
        monkeypatch.setitem(extensions.REGISTRY, name, module)
        return {"op": "add", "name": name, "size": 1.0}

    return add


def test_an_objective_that_replaces_takes_the_place_of_generation(plugin):
    def apply(model, values):
        model.program.cost("planted", 5 * model.pg[1] * model.network.base)

    item = plugin(group="objective", apply=apply)
    case = two_buses(rate=0)
    added = solve(case, DC | {"objective": [item]})
    assert added.parts == approx({"generation": 1500, "planted": 0})
    replaced = solve(case, DC | {"objective": [item | {"op": "replace"}]})
    assert replaced.parts == approx({"planted": 0})


def test_numbers_that_an_extension_reads_follow_the_case(plugin):
    built = []

    def reads(model, values):
        built.append(1)
        limit = model.network.case.bus["PD"].to_numpy()[1] / 3 / model.network.base
        model.program.constrain("planted", model.pg[0], upper=limit)

    engine = Engine(two_buses(), DC | {"constraints": [plugin(apply=reads)]})
    assert engine.solve().gen["PG"][0] == approx(50)
    assert engine.solve(two_buses(load=120)).gen["PG"][0] == approx(40)
    engine.solve()
    assert len(built) == 2


def test_numbers_given_as_a_function_need_no_new_program(plugin):
    built = []

    def follows(model, values):
        built.append(1)
        limit = model.parameter("third", lambda n: n.values()["pd"][1:2] / 3)
        model.program.constrain("planted", model.pg[0], upper=limit)

    engine = Engine(two_buses(), DC | {"constraints": [plugin(apply=follows)]})
    assert engine.solve().gen["PG"][0] == approx(50)
    assert engine.solve(two_buses(load=120)).gen["PG"][0] == approx(40)
    assert len(built) == 1


def test_constraints_that_a_solution_calls_for(plugin):
    def refine(models, values, raw):
        pg = models[0].pg[0]
        if raw.value(pg)[0] <= 0.7 + 1e-9:
            return False
        models[0].program.constrain("late", pg, upper=0.7)
        return True

    def report(model, raw):
        return {"price": model.dual(raw, "late").tolist()}

    item = plugin(apply=lambda m, v: None, refine=refine, report=report)
    found = solve(two_buses(), DC | {"constraints": [item]})
    assert found.gen["PG"].tolist() == approx([70, 80])
    assert found.extras["planted"]["price"] == approx([-2000])  # $/h per p.u.


def test_integers_in_acopf_are_refused(plugin):
    def apply(model, values):
        model.program.variable("u", 1, 0.0, 1.0, integer=True)

    item = plugin(apply=apply)
    with pytest.raises(InputError, match="integer"):
        solve(two_buses(load=(50, 0)), {"formulation": "ACOPF", "constraints": [item]})


def test_ratio_and_shift_may_become_variables(plugin):
    # two parallel lines of unequal reactance: a shifter lets both carry their rating
    def apply(model, values):
        shift = model.program.variable("turn", 1, -0.5, 0.5, start=0.0)
        model.shift[0] += shift
        model.tap[0] *= model.program.variable("ratio", 1, 0.9, 1.1, start=1.0)

    units = [{"bus": 1, "pmax": 300, "c1": 10}, {"bus": 2, "pmax": 300, "c1": 30}]
    lines = [{"f": 1, "t": 2, "x": 0.1, "rate": 60}, {"f": 1, "t": 2, "x": 0.3, "rate": 60}]
    case = network([0, (150, 0)], units, lines)
    plain = solve(case)
    assert plain.gen["PG"][0] < 85
    turned = solve(
        case, {"formulation": "ACOPF", "variables": [plugin(group="variables", apply=apply)]}
    )
    assert turned.status == "optimal"
    assert turned.gen["PG"][0] == approx(120, abs=0.5)
    assert turned.branch["SHIFT"][0] > 1
    assert turned.violations["balance_mw"] < 1e-4  # with the controls, by complex arithmetic


def test_several_starts_find_the_cheaper_corner():
    # concave costs: each unit alone is a local optimum, 3000 - 0.02*300^2 and 3600 - 0.03*300^2
    units = ({"pmax": 300, "c1": 10, "c2": -0.02}, {"pmax": 300, "c1": 12, "c2": -0.03})
    best, found = multistart(one_bus((300, 0), *units), count=6, seed=3)
    assert best.objective == approx(900, rel=1e-6)
    assert found == approx([900, 1200], rel=1e-6)
