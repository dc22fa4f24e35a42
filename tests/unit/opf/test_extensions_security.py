"""Security in AC and after correction, stability, frequency, controls, transfer capability."""

import itertools

import numpy as np
import pytest
from extension_networks import answer, attempt, network, one_bus, two_buses
from pytest import approx
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve

from headwater.core.errors import InputError
from headwater.opf.case import read_case, shipped_case

TIGHT = 1e-7
ALL = ("DCOPF", "ED", "ACOPF", "SOCP")


def bought(imported, load):
    return 10 * imported + 30 * (load - imported)


def twins(rate=100, load=150, **line):
    units = [{"bus": 1, "pmax": 300, "c1": 10}, {"bus": 2, "pmax": 300, "c1": 30}]
    return network([0, load], units, [{"f": 1, "t": 2, "rate": rate} | line] * 2)


# ---- outages ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("reach", "imported"), [(0, 100), (20, 120), (60, 150)])
def test_units_that_may_move_after_an_outage_allow_more_before_it(reach, imported):
    # One circuit of 100 MW is left; the import may fall by `reach` in time.
    item = {"name": "corrective_security", "corrective_mw": reach}
    found = answer(twins(), item)
    assert found.objective == approx(bought(imported, 150), rel=TIGHT)
    assert found.extras["corrective_security"]["islanding"] == []
    assert len(found.extras["corrective_security"]["contingencies"]) == 2


def test_without_moves_corrective_security_is_the_preventive_one():
    case = read_case(shipped_case("case24_ieee_rts"))
    preventive = answer(case, {"name": "n1_security", "emergency_factor": 0.9})
    item = {"name": "corrective_security", "corrective_mw": 0, "emergency_factor": 0.9}
    found = answer(case, item)
    assert found.objective == approx(preventive.objective, rel=1e-7)
    assert found.extras["corrective_security"]["islanding"] == ["7-8"]
    moved = answer(case, item | {"corrective_mw": 10})
    assert answer(case).objective - 1e-6 <= moved.objective < found.objective


def test_each_unit_has_its_own_reach():
    item = {"name": "corrective_security", "corrective_mw": [50, 30]}
    assert answer(twins(), item).objective == approx(bought(130, 150), rel=TIGHT)


def power_flow(case, found):
    """Flows, MVA at the fuller end, with voltages of units and real power held; by fsolve."""
    bus, gen = case.bus, case.gen
    row = {int(b): k for k, b in enumerate(bus["BUS_I"])}
    nb = len(bus)
    on = case.branch["BR_STATUS"].to_numpy() > 0
    branch = case.branch[on]
    f, t = branch["F_BUS"].map(row).to_numpy(), branch["T_BUS"].map(row).to_numpy()
    y = 1 / (branch["BR_R"] + 1j * branch["BR_X"]).to_numpy()
    half = 0.5j * branch["BR_B"].to_numpy()
    tap = branch["TAP"].replace(0, 1.0).to_numpy() * np.exp(
        1j * np.deg2rad(branch["SHIFT"].to_numpy())
    )
    at = gen["GEN_BUS"].map(row).to_numpy()
    held = np.unique(at)
    slack = int(np.flatnonzero(bus["BUS_TYPE"] == 3)[0])
    loads, others = np.setdiff1d(np.arange(nb), held), np.delete(np.arange(nb), slack)
    power = -(bus["PD"] + 1j * bus["QD"]).to_numpy() / case.base_mva
    power = power.astype(complex)
    np.add.at(power, at, found.gen["PG"].to_numpy() / case.base_mva)
    shunt = (bus["GS"] + 1j * bus["BS"]).to_numpy() / case.base_mva

    def flows(v):
        into_f = v[f] * np.conj((y + half) / abs(tap) ** 2 * v[f] - y / np.conj(tap) * v[t])
        into_t = v[t] * np.conj((y + half) * v[t] - y / tap * v[f])
        return into_f, into_t

    def voltages(x):
        angle, size = np.zeros(nb), found.bus["VM"].to_numpy().copy()
        angle[others], size[loads] = x[: nb - 1], x[nb - 1 :]
        return size * np.exp(1j * angle)

    def mismatch(x):
        v = voltages(x)
        into_f, into_t = flows(v)
        left = power - abs(v) ** 2 * np.conj(shunt)
        np.add.at(left, f, -into_f)
        np.add.at(left, t, -into_t)
        return np.concatenate([left.real[others], left.imag[loads]])

    start = np.concatenate(
        [np.deg2rad(found.bus["VA"].to_numpy()[others]), found.bus["VM"].to_numpy()[loads]]
    )
    solved, _, worked, _ = fsolve(mismatch, start, full_output=True, xtol=1e-12)
    assert worked == 1
    v = voltages(solved)
    into_f, into_t = flows(v)
    return case.base_mva * np.maximum(abs(into_f), abs(into_t)), abs(v)


def test_ac_security_holds_in_the_power_flow_after_every_outage():
    case = read_case(shipped_case("case9"))
    case.branch["RATE_A"] = 140.0
    plain = answer(case, formulation="ACOPF")
    item = {"name": "n1_security_ac", "emergency_factor": 1.0}
    found = answer(case, item, formulation="ACOPF")
    looked_at = found.extras["n1_security_ac"]["contingencies"]
    assert len(looked_at) == 6 and len(found.extras["n1_security_ac"]["islanding"]) == 3

    def worst(dispatch):
        largest = 0.0
        for name in looked_at:
            ends = set(map(int, name.split("-")))
            branch = case.branch.copy()
            gone = [set(p) == ends for p in branch[["F_BUS", "T_BUS"]].to_numpy().astype(int)]
            branch.loc[gone, "BR_STATUS"] = 0.0
            flow, _ = power_flow(case.with_tables(branch=branch), dispatch)
            largest = max(largest, flow.max())
        return largest

    assert found.objective > plain.objective + 1
    assert worst(found) == approx(140, abs=1e-3) and worst(plain) > 141


def test_ac_security_of_two_circuits():
    # Without losses, and short lines, one circuit carries what two did: 100 MVA
    case = twins(x=0.01, load=150)
    found = answer(case, {"name": "n1_security_ac"}, formulation="ACOPF")
    assert found.objective == approx(bought(100, 150), rel=2e-3)
    some = {"name": "n1_security_ac", "emergency_factor": 1.2}
    assert answer(case, some, formulation="ACOPF").objective == approx(bought(120, 150), rel=2e-3)


def test_corrective_ac_security_of_two_circuits():
    case = twins(x=0.01, load=150)
    item = {"name": "corrective_security", "corrective_mw": 20}
    found = answer(case, item, formulation="ACOPF")
    assert found.objective == approx(bought(120, 150), rel=2e-3)


# ---- voltage stability -------------------------------------------------------------------------


def l_index(case, found):
    """L of every bus without a unit, from the currents: I_L = Y_LG V_G + Y_LL V_L."""
    row = {int(b): k for k, b in enumerate(case.bus["BUS_I"])}
    nb = len(row)
    y = np.zeros((nb, nb), dtype=complex)
    for line in case.branch.itertuples():
        f, t = row[int(line.F_BUS)], row[int(line.T_BUS)]
        series = 1 / (line.BR_R + 1j * line.BR_X)
        a = (line.TAP or 1.0) * np.exp(1j * np.deg2rad(line.SHIFT))
        y[f, f] += (series + 0.5j * line.BR_B) / abs(a) ** 2
        y[t, t] += series + 0.5j * line.BR_B
        y[f, t] -= series / np.conj(a)
        y[t, f] -= series / a
    y[np.diag_indices(nb)] += (case.bus["GS"] + 1j * case.bus["BS"]).to_numpy() / case.base_mva
    v = found.bus["VM"].to_numpy() * np.exp(1j * np.deg2rad(found.bus["VA"].to_numpy()))
    units = sorted({row[int(b)] for b in case.gen["GEN_BUS"]})
    loads = [k for k in range(nb) if k not in units]
    # V_0 is the voltage with the load currents taken away
    no_load = np.linalg.solve(y[np.ix_(loads, loads)], -y[np.ix_(loads, units)] @ v[units])
    return np.abs(1 - no_load / v[loads])


def test_the_l_index_is_that_of_the_direct_formula_and_its_limit_holds():
    case = read_case(shipped_case("case14"))
    case.bus[["PD", "QD"]] *= 1.1
    shed = {"name": "load_shedding", "voll": 200}
    free = answer(case, shed, {"name": "l_index_limit", "l_max": 1}, formulation="ACOPF")
    direct = l_index(case, free)
    assert free.extras["l_index_limit"]["l_index"] == approx(direct.tolist(), rel=1e-6)
    limit = 0.95 * direct.max()
    held = answer(case, shed, {"name": "l_index_limit", "l_max": limit}, formulation="ACOPF")
    assert l_index(case, held).max() == approx(limit, rel=1e-6)
    assert held.objective > free.objective + 1e-3


def test_a_price_of_the_l_index_is_paid_for_the_largest():
    case = read_case(shipped_case("case14"))
    found = answer(case, {"name": "l_index_cost", "price": 500}, formulation="ACOPF")
    assert found.parts["l_index_cost"] == approx(500 * l_index(case, found).max(), rel=1e-6)
    free = answer(case, {"name": "l_index_cost", "price": 0}, formulation="ACOPF")
    assert l_index(case, found).max() < l_index(case, free).max()
    # exchange: neither solution is better than the other in its own objective
    assert found.objective <= free.objective + 500 * l_index(case, free).max() + 1e-6


def test_no_bus_without_a_unit():
    with pytest.raises(InputError, match="a generator at every bus"):
        attempt(two_buses(), {"name": "l_index_limit", "l_max": 0.5}, formulation="ACOPF")


# ---- frequency ---------------------------------------------------------------------------------


def inertia(**more):
    item = {
        "name": "frequency_security",
        "inertia_s": [4, 5],
        "rating_mva": [300, 200],
        "max_rocof_hz_per_s": 1.0,
    }
    return item | more


@pytest.mark.parametrize("formulation", ALL)
def test_the_loss_of_a_unit_may_not_be_too_fast(formulation):
    # 1000 MW s are left after the loss of the cheap unit: P <= 2 * 1000 * 1 / 50 = 40 MW
    case = one_bus(60, {"pmax": 300, "c1": 10}, {"pmax": 200, "c1": 30})
    found = answer(case, inertia(), formulation=formulation)
    assert found.gen["PG"][0] == approx(40, abs=1e-3)
    assert found.objective == approx(400 + 600, rel=1e-5)
    assert answer(case, inertia(f0_hz=25), formulation=formulation).objective == approx(
        600, rel=1e-5
    )


def test_only_units_that_run_give_inertia():
    units = [
        {"pmax": 300, "c1": 10},
        {"pmax": 100, "c1": 30, "c0": 50},
        {"pmax": 100, "c1": 40, "c0": 20},
    ]
    item = inertia(inertia_s=[4, 5, 6], rating_mva=[300, 100, 100])
    found = answer(one_bus(60, *units), {"name": "unit_commitment"}, item, formulation="ED")
    best = np.inf
    for on in itertools.product([0, 1], repeat=3):
        energy = np.array([1200, 500, 600]) * on
        most = np.minimum(2 * (energy.sum() - energy) / 50, [300, 100, 100]) * on
        left, cost = 60.0, 0.0
        for k, unit in enumerate(units):  # in order of merit
            p = min(left, most[k])
            left, cost = left - p, cost + p * unit["c1"] + on[k] * unit.get("c0", 0)
        best = min(best, cost if left < 1e-9 else np.inf)
    assert found.objective == approx(best, rel=1e-7)


@pytest.mark.parametrize("formulation", ALL)
def test_the_lowest_frequency_is_that_of_the_swing_equation(formulation):
    # The third unit is the only one that responds, with at most 60 MW.
    units = [{"pmax": 300, "c1": 10}, {"pmax": 300, "c1": 30}, {"pmax": 300, "c1": 31}]
    rules = {"max_deviation_hz": 0.5, "response_mw": [0, 0, 60], "delivery_s": 8}
    item = inertia(inertia_s=[4, 5, 5], rating_mva=[300, 200, 100], max_rocof_hz_per_s=5, **rules)
    # nothing may be lost at the third unit, as no other one responds
    found = answer(one_bus(40, *units), item, formulation=formulation)
    lost, stored, response = found.gen["PG"][0], 1500.0, 60.0

    def swing(t, df):
        return [-50 / (2 * stored) * (lost - min(response, response * t / 8))]

    path = solve_ivp(swing, (0, 20), [0.0], max_step=0.01)
    assert path.y.min() == approx(-0.5, rel=1e-3)
    assert found.gen["PG"][2] == approx(0, abs=1e-3)
    assert found.extras["frequency_security"]["response_mw"][2] == approx(60, abs=1e-2)


def test_the_parts_of_a_frequency_rule_come_together():
    case = one_bus(60, {"pmax": 300, "c1": 10}, {"pmax": 200, "c1": 30})
    with pytest.raises(InputError, match=r"response_mw.*found nothing"):
        attempt(case, inertia(max_deviation_hz=0.5, delivery_s=8))
    whole = inertia(max_deviation_hz=0.5, delivery_s=8, response_mw=50)
    with pytest.raises(InputError, match="beside unit_commitment"):
        attempt(case, {"name": "unit_commitment"}, whole)


# ---- controls ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("most", "imported"), [(1.0, None), (5.0, 150.0)])
def test_a_phase_shifter_loads_both_circuits(most, imported):
    # Circuits of 100 and 50 MW share equally: 100 MW. A shift of -phi moves phi / x over.
    case = twins(x=0.1)
    case.branch.loc[1, "RATE_A"] = 50.0
    shifts = [{"fbus": 1, "tbus": 2, "circuit": 1, "min_deg": -most, "max_deg": most}]
    found = answer(case, {"name": "tap_phase_optimisation", "shifts": shifts})
    if imported is None:  # the second circuit at 50 MW, the first at 50 + phi / x
        imported = 100 + 100 * np.deg2rad(most) / 0.1
    assert found.objective == approx(bought(imported, 150), rel=TIGHT)
    assert answer(case).objective == approx(bought(100, 150), rel=TIGHT)


@pytest.mark.parametrize("formulation", ["DCOPF", "ACOPF"])
def test_a_phase_shifter_set_as_found_gives_the_same_optimum(formulation):
    case = twins(x=0.1, r=0.005)
    case.branch.loc[1, "RATE_A"] = 50.0
    shifts = [{"fbus": 1, "tbus": 2, "circuit": 1, "min_deg": -10, "max_deg": 10}]
    item = {"name": "tap_phase_optimisation", "shifts": shifts}
    found = answer(case, item, formulation=formulation)

    def fixed(degrees):
        branch = case.branch.copy()
        branch.loc[0, "SHIFT"] = degrees
        solved = attempt(case.with_tables(branch=branch), formulation=formulation)
        return np.inf if solved.objective is None else solved.objective

    at = found.extras["tap_phase_optimisation"]["shift_deg"][0]
    assert fixed(at) == approx(found.objective, rel=1e-6)
    assert min(fixed(d) for d in np.linspace(-10, 10, 21)) >= found.objective * (1 - 1e-7)


def test_ratios_set_as_found_give_the_same_optimum_and_none_nearby_is_better():
    case = read_case(shipped_case("case14"))
    rows = np.flatnonzero(case.branch["TAP"] > 0)
    ends = case.branch.loc[rows, ["F_BUS", "T_BUS"]].astype(int).to_numpy()
    ratios = [{"fbus": int(f), "tbus": int(t), "min": 0.9, "max": 1.1} for f, t in ends]
    item = {"name": "tap_phase_optimisation", "ratios": ratios}
    found = answer(case, item, formulation="ACOPF")

    def fixed(taps):
        branch = case.branch.copy()
        branch.loc[rows, "TAP"] = taps
        return answer(case.with_tables(branch=branch), formulation="ACOPF").objective

    at = np.array(found.extras["tap_phase_optimisation"]["tap"])[rows]
    assert fixed(at) == approx(found.objective, rel=1e-7)
    assert found.objective < fixed(case.branch.loc[rows, "TAP"].to_numpy()) - 1e-3
    for step in np.vstack([np.eye(len(rows)), -np.eye(len(rows))]) * 0.01:
        assert fixed(np.clip(at + step, 0.9, 1.1)) >= found.objective - 1e-5


def test_controls_that_do_nothing_are_refused():
    ratios = [{"fbus": 1, "tbus": 2, "min": 0.9, "max": 1.1}]
    with pytest.raises(InputError, match="no voltage to regulate"):
        attempt(two_buses(), {"name": "tap_phase_optimisation", "ratios": ratios})
    with pytest.raises(InputError, match=r"min 1\.2 > max 1\.1"):
        wrong = [ratios[0] | {"min": 1.2}]
        attempt(
            two_buses(), {"name": "tap_phase_optimisation", "ratios": wrong}, formulation="ACOPF"
        )
    with pytest.raises(InputError, match="neither ratios nor shifts"):
        attempt(two_buses(), {"name": "tap_phase_optimisation"})


@pytest.mark.parametrize("formulation", ["ACOPF", "SOCP"])
@pytest.mark.parametrize(("kind", "most"), [("svc", 20 * 1.1**2), ("statcom", 20)])
def test_a_controlled_shunt_gives_what_the_voltage_allows(kind, most, formulation):
    # 30 MVAr; what the shunt does not give costs 0.2 $/MVAr^2 at the unit
    units = [{"bus": 1, "kind": kind, "min_mvar": -5, "max_mvar": 20}]
    found = answer(
        one_bus((50, 30), {"pmax": 100, "c1": 10}),
        {"name": "shunt_compensation", "units": units},
        {"name": "reactive_generation_cost", "c2": 0.2},
        formulation=formulation,
    )
    assert found.parts["reactive_generation_cost"] == approx(0.2 * (30 - most) ** 2, rel=1e-4)
    assert found.extras["shunt_compensation"]["reactive_mvar"] == approx([most], rel=1e-4)


# ---- transfer capability -----------------------------------------------------------------------


@pytest.mark.parametrize("formulation", ["DCOPF", "ED"])
def test_the_load_grows_until_lines_or_units_are_full(formulation):
    item = {"name": "transfer_capability"}
    case = two_buses()
    case.gen.loc[1, "PMAX"] = 140.0
    found = answer(case, item, formulation=formulation)
    most = 100 + 140 if formulation == "DCOPF" else 300 + 140
    assert found.extras["transfer_capability"]["growth"] == approx(most / 150 - 1, rel=1e-7)
    assert found.extras["transfer_capability"]["transfer_mw"] == approx(most - 150, rel=1e-7)
    assert found.objective == approx(-(most / 150 - 1), rel=1e-7)


def test_only_the_named_loads_grow():
    case = network([100, 50], [{"bus": 1, "pmax": 400, "c1": 10}], [{"f": 1, "t": 2, "rate": 80}])
    found = answer(case, {"name": "transfer_capability", "buses": [2]})
    assert found.extras["transfer_capability"]["growth"] == approx(0.6, rel=1e-7)


@pytest.mark.parametrize("ratio", [0.0, 0.3])
def test_the_nose_of_a_lossless_line(ratio):
    # v1 = 1, load P (1 + j tan): P_max = (sqrt(1 + tan^2) - tan) / (2 x); 0.5 / x at tan = 0
    case = network(
        [0, (100, 100 * ratio)], [{"bus": 1, "pmax": 2000, "c1": 10}], [{"f": 1, "t": 2}]
    )
    case.bus["VMAX"], case.bus["VMIN"] = [1.0, 1.2], [1.0, 0.3]
    found = answer(case, {"name": "transfer_capability"}, formulation="ACOPF")
    nose = 100 * (np.sqrt(1 + ratio**2) - ratio) / (2 * 0.1)
    assert found.extras["transfer_capability"]["growth"] == approx(nose / 100 - 1, rel=1e-5)


def test_growth_can_be_worth_something_beside_the_cost():
    # 150 MW more are 150 * 30 $ but worth 6000 $: all that the units have
    item = {"op": "add", "name": "transfer_capability", "weight": 6000}
    case = two_buses()
    case.gen.loc[1, "PMAX"] = 140.0
    found = answer(case, item)
    assert found.objective == approx(1000 + 140 * 30 - 6000 * (240 / 150 - 1), rel=TIGHT)
    assert answer(case, item | {"weight": 4000}).objective == approx(2500, rel=TIGHT)
