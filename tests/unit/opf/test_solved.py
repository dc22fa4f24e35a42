"""Solutions beside answers, faults beside what was due, optima beside published ones."""

import logging
import math

import pytest

from headwater.core.errors import InputError
from headwater.core.io import read_lines
from headwater.opf.case import read_case, shipped_case
from headwater.opf.engine import Options
from headwater.opf.faulty import refusal_scores, refusal_table
from headwater.opf.peer import at_hand
from headwater.opf.prepare import prepare_case, prepare_requests, read_cases
from headwater.opf.published import case_scores, published_table
from headwater.opf.solved import objective_table, relative, solved_scores
from headwater.opf.solving import solve_records

LOG = logging.getLogger("test")


@pytest.fixture(scope="module")
def shared(mirror):
    names = {"5_pjm", "14_ieee", "24_ieee_rts", "30_as", "39_epri", "57_ieee", "118_ieee"}
    names |= {"73_ieee_rts"}
    folder = mirror / "opf/cases"
    stems = [f"pglib_opf_case{name}" for name in names]
    return {stem: read_case(folder / f"{stem}.m") for stem in stems}


def test_every_shared_answer_comes_out(mirror, shared):
    records, findings = prepare_requests(mirror / "opf/requests.jsonl", shared, imported=False)
    rows, tables = solve_records(records, shared, Options())
    table = objective_table(records, rows, [])
    # the answers are those of IPOPT, Clarabel, HiGHS and MATPOWER, which agree to 3e-6
    assert len(table) == 30
    assert table["agrees"].all(), table[~table["agrees"]].to_string()
    assert set(tables["table"]) == {"bus", "gen", "branch"}
    assert not (findings["severity"] == "error").any()
    scores = solved_scores("shared", table).set_index(["setting", "metric"])["value"]
    assert scores["level=all", "solved_share"] == 1.0
    assert scores["level=3", "relative_difference_max"] < 1e-5


def test_every_fault_is_named(mirror, shared):
    records = read_lines(mirror / "opf/invalid_requests.jsonl")
    table = refusal_table(records, shared, Options())
    assert table["named"].all(), table[~table["named"]].to_string()
    assert refusal_scores("invalid", table)["value"].iloc[0] == 1.0


def test_a_fault_that_is_not_named_counts_as_such(mirror, shared):
    records = read_lines(mirror / "opf/invalid_requests.jsonl")
    wrong = [
        records[0] | {"expect": records[0]["expect"] | {"code": "unknown_bus"}},
        records[1] | {"expect": records[1]["expect"] | {"must_mention": ["bus 61 is the one"]}},
        records[4] | {"expect": records[4]["expect"] | {"objective": 2179.0}},
    ]
    assert not refusal_table(wrong, shared, Options())["named"].any()


def record(**changes):
    base = {
        "id": "A",
        "level": 1,
        "base_system": "case5",
        "structure": {"formulation": "ACOPF", "constraints": [{"name": "emission_cap"}]},
        "expected": [{"status": "optimal", "objective": 100.0}],
    }
    return base | changes


def solution(objective, status="optimal"):
    return {"id": "A", "strategy": 0, "status": status, "objective": objective, "note": ""}


@pytest.mark.parametrize(
    ("objective", "right"), [(100.0, True), (100.0009, True), (100.0011, False), (None, False)]
)
def test_an_answer_agrees_to_five_digits(objective, right):
    table = objective_table([record()], [solution(objective)], [])
    assert bool(table["agrees"].iloc[0]) is right
    assert table["structure"].iloc[0] == "emission_cap"


def test_an_infeasible_answer_is_met_by_its_status():
    wanted = record(expected=[{"status": "infeasible", "objective": None}])
    assert objective_table([wanted], [solution(None, "infeasible")], [])["agrees"].iloc[0]
    assert not objective_table([wanted], [solution(1.0)], [])["agrees"].iloc[0]


def test_matpower_counts_only_where_it_converged():
    rows = [{"id": "A", "strategy": 0, "objective": 101.0, "converged": False}]
    assert objective_table([record()], [solution(100.0)], rows)["matpower"].isna().all()
    rows[0]["converged"] = True
    table = objective_table([record()], [solution(100.0)], rows)
    assert table["matpower_difference"].iloc[0] == pytest.approx(-1 / 101)


def test_relative_difference_of_nothing_is_nothing():
    assert relative(None, 1.0) is None
    assert relative(3.0, -2.0) == pytest.approx(2.5)


def plain(objective, status="optimal"):
    return {"objective": objective, "status": status, "solver": "x"}


def test_published_optima_gaps_and_infeasibility():
    published = {
        "a": {"ac": 100.0, "dc": math.inf, "soc_gap": 2.0, "dc_convention": "powermodels"},
        "b": {"source": ""},
    }
    found = {
        "ac": plain(100.004),
        "dc_matpower": plain(95.0),
        "dc_powermodels": plain(None, "infeasible"),
        "socp": plain(98.0),
    }
    table = published_table(published, {"a": found, "b": found}, {"a": {"ac": 100.0}, "b": {}})
    rows = table[table["case"] == "a"].set_index("quantity")
    assert rows["agrees"].tolist() == [True, None, True, True]  # DC, matpower: not published
    assert rows.loc["SOC gap, %", "difference"] == pytest.approx(0.00392, abs=1e-5)
    assert rows.loc["AC", "matpower_difference"] == pytest.approx(4e-5)
    assert table[table["case"] == "b"]["published"].isna().all()
    scores = case_scores(table)
    share = scores[scores["metric"] == "agreement_share"].set_index("setting")["value"]
    assert share["model=all"] == 1.0
    assert set(share.index) == {"model=all", "model=AC", "model=DC_powermodels", "model=SOC_gap"}


def test_a_network_is_prepared_under_its_own_name(tmp_path):
    case, about = prepare_case("mine", "case9", None, LOG)
    assert case.name == "mine"
    # MATPOWER's case9: 9 buses, 3 generators of 250, 300 and 270 MW, 9 branches, 315 MW
    assert (about["buses"], about["generators"], about["branches"]) == (9, 3, 9)
    assert (about["demand_mw"], about["capacity_mw"]) == (315.0, 820.0)
    from headwater.opf.case import write_case

    path = tmp_path / "mine/case.m"
    path.parent.mkdir()
    path.write_text(write_case(case))
    back = read_cases([path])["mine"]
    assert back.bus.equals(case.bus)
    assert back.gen.equals(read_case(shipped_case("case9")).gen)


def test_matpower_is_asked_as_configured(monkeypatch, caplog):
    from headwater.opf import octave

    monkeypatch.setattr(octave, "available", lambda: None)
    assert not at_hand("never", LOG)
    assert not at_hand("when_present", LOG)
    assert "apt-get install octave" in caplog.text
    with pytest.raises(InputError, match=r"opf\.matpower: found required, and no octave"):
        at_hand("required", LOG)
    monkeypatch.setattr(octave, "available", lambda: "7.3.0")
    assert at_hand("required", LOG)
