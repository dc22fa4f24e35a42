"""All shared PGLib networks against their published optima and MATPOWER's."""

import csv

import numpy as np
import pytest
from pytest import approx

from headwater.opf.baseline import FIVE_DIGITS, GAP_POINTS, baseline_check, solve_formulations
from headwater.opf.case import read_case

SMALL = (
    "case3_lmbd case5_pjm case14_ieee case24_ieee_rts case30_as case30_ieee case39_epri"
    " case57_ieee case73_ieee_rts case118_ieee case200_activ case300_ieee case500_goc"
    " case5_pjm__api case14_ieee__api case118_ieee__api"
    " case5_pjm__sad case14_ieee__sad case118_ieee__sad"
)
LARGE = "case1354_pegase case2869_pegase"
# MIPS does not converge to this case's DC and says failure after its AC optimum
WITHOUT_REFERENCE = {"pglib_opf_case2869_pegase"}


@pytest.fixture(scope="module")
def tables(mirror):
    folder = mirror / "opf"
    with (folder / "pglib_baseline.csv").open() as file:
        published = {
            row["case"]: {
                "ac": float(row["ac_objective"]),
                "dc": float(row["dc_objective"]),
                "soc_gap": float(row["soc_gap_percent"]),
            }
            for row in csv.DictReader(file)
        }
    with (folder / "matpower_reference.csv").open() as file:
        matpower = {row["case"]: row for row in csv.DictReader(file)}
    return folder, published, matpower


def hold_against(tables, name):
    folder, published, matpower = tables
    name = f"pglib_opf_{name}"
    found = solve_formulations(read_case(folder / "cases" / f"{name}.m"))
    table = baseline_check({name: found}, published)
    assert len(table) == 3
    assert table["agrees"].all(), table.to_string()
    known = matpower.get(name)
    assert (known is None) == (name in WITHOUT_REFERENCE)
    if known is not None:
        assert found["ac"].objective == approx(float(known["ac_objective_mips"]), rel=2e-6)
        dc = float(known["dc_objective_matpower_convention"])
        if np.isinf(dc):
            assert found["dc_matpower"].status == "infeasible"
        else:
            assert found["dc_matpower"].objective == approx(dc, rel=1e-6)


@pytest.mark.parametrize("name", SMALL.split())
def test_published_optima(tables, name):
    hold_against(tables, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE.split())
def test_published_optima_of_large_networks(tables, name):
    hold_against(tables, name)


def test_every_shared_network_is_tried(tables):
    _, published, _ = tables
    tried = {f"pglib_opf_{n}" for n in (*SMALL.split(), *LARGE.split())}
    assert tried == set(published)


def test_the_check_can_fail(tables):
    folder, published, _ = tables
    name = "pglib_opf_case14_ieee"
    found = solve_formulations(read_case(folder / "cases" / f"{name}.m"))
    known = published[name]
    off = {
        "ac": known["ac"] * (1 + 4 * FIVE_DIGITS),
        "dc": np.inf,
        "soc_gap": known["soc_gap"] + 2 * GAP_POINTS,
    }
    table = baseline_check({name: found}, {name: off})
    assert table["agrees"].tolist() == [False, False, False]
