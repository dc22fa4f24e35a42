"""Cases: read as MATPOWER reads them, refused where reading would be wrong, checked."""

import numpy as np
import pytest
from extension_networks import network, two_buses

from headwater.core.errors import InputError
from headwater.opf.case import (
    check_case,
    cost_polynomial,
    executable_tail,
    read_case,
    shipped_case,
    write_case,
)
from headwater.opf.findings import errors

COMPUTES = "10ba 12da 15da 15nbr 16am 16ci 18nbr 22 28da 33bw 33mg 34sa 38si 51ga 51he 69 70da"
COMPUTES += " 74ds 85 94pi 118zh 136ma 141"


def test_case14_has_the_numbers_of_its_file():
    case = read_case(shipped_case("case14"))
    assert (len(case.bus), len(case.gen), len(case.branch)) == (14, 5, 20)
    assert case.base_mva == 100
    assert case.bus["PD"].sum() == pytest.approx(259.0)
    assert case.branch.loc[0, ["BR_R", "BR_X", "BR_B"]].tolist() == [0.01938, 0.05917, 0.0528]
    assert case.gencost[0].tolist() == [2, 0, 0, 3, 0.0430292599, 20, 0]
    assert set(case.bus.dtypes) == {np.dtype(float)}


@pytest.mark.parametrize("name", COMPUTES.split())
def test_files_that_compute_are_refused_without_octave(name):
    with pytest.raises(InputError, match="executable_case"):
        read_case(shipped_case(f"case{name}"))


@pytest.mark.parametrize("name", ["case9", "case118", "case300", "case_ACTIVSg200"])
def test_plain_tables_are_not_taken_for_computing(name):
    assert executable_tail(shipped_case(name).read_text()) is None


def test_what_computes_is_loaded_by_the_function_given():
    seen = []

    def loader(path):
        seen.append(path.stem)
        case = two_buses()
        tables = {name: table.to_numpy() for name, table in case.tables().items()}
        return {"baseMVA": 10.0, **tables}

    case = read_case(shipped_case("case33bw"), loader)
    assert seen == ["case33bw"]
    assert (case.base_mva, len(case.bus)) == (10.0, 2)


def test_octave_gives_the_units_of_case33bw():
    octave = pytest.importorskip("headwater.opf.octave")
    if octave.available() is None:
        pytest.skip("GNU Octave is not installed")
    case = read_case(shipped_case("case33bw"), octave.load_case_tables)
    assert case.branch.loc[0, "BR_R"] == pytest.approx(0.00575259, rel=1e-5)
    assert case.bus.loc[1, "PD"] == pytest.approx(0.1)


def test_writing_and_reading_gives_the_same_numbers(tmp_path):
    case = read_case(shipped_case("case30"))
    gen = case.gen.copy()
    gen.loc[0, ["QMAX", "PMIN"]] = [np.inf, 1 / 3]
    case = case.with_tables(gen=gen)
    path = tmp_path / "case30.m"
    path.write_text(write_case(case))
    again = read_case(path)
    for name, table in case.tables().items():
        assert again.tables()[name].equals(table), name
    assert write_case(again) == write_case(case)


def test_octave_reads_what_is_written(tmp_path):
    octave = pytest.importorskip("headwater.opf.octave")
    if octave.available() is None:
        pytest.skip("GNU Octave is not installed")
    case = read_case(shipped_case("case9"))
    path = tmp_path / "case9.m"
    path.write_text(write_case(case))
    found = octave.load_case_tables(path)
    assert np.array_equal(found["bus"][:, :13], case.bus.to_numpy())
    assert np.array_equal(found["branch"][:, :13], case.branch.to_numpy())


def test_coefficients_go_by_the_power_they_multiply():
    case = two_buses()
    # NCOST 2: c1, c0; what follows means nothing
    cost = np.array([[2, 0, 0, 2, 7.0, 5.0, 99.0], [2, 0, 0, 3, 0.5, 7.0, 5.0]])
    case = case.with_tables(gencost=cost)
    assert cost_polynomial(case, 0).tolist() == [5, 7]
    assert cost_polynomial(case, 1).tolist() == [5, 7, 0.5]


def codes(case):
    return [f.code for f in check_case(case)]


def changed(table, row, column, value, case=None):
    case = case or two_buses()
    new = getattr(case, table).copy()
    new.loc[row, column] = value
    return case.with_tables(**{table: new})


@pytest.mark.parametrize(
    ("table", "row", "column", "value", "code", "words"),
    [
        ("bus", 1, "PD", np.nan, "nan_or_inf", ["bus 2", "PD"]),
        ("bus", 1, "PD", np.inf, "nan_or_inf", ["bus 2", "PD", "inf"]),
        ("branch", 0, "BR_X", np.nan, "nan_or_inf", ["1-2", "BR_X"]),
        ("bus", 1, "BUS_I", 1.0, "duplicate_bus", ["bus 1", "rows 1, 2"]),
        ("gen", 1, "GEN_BUS", 7.0, "unknown_bus", ["gen row 2", "bus 7"]),
        ("branch", 0, "T_BUS", 9.0, "unknown_bus", ["branch row 1", "bus 9"]),
        ("gen", 1, "PMIN", 400.0, "bounds_crossed", ["bus 2", "PMIN 400", "PMAX", "300"]),
        ("bus", 0, "VMIN", 1.2, "bounds_crossed", ["bus 1", "VMIN 1.2", "VMAX 1.1"]),
        ("bus", 0, "VMAX", 106.0, "unit_out_of_range", ["VMAX 106", "p.u.", "1.06"]),
        ("branch", 0, "RATE_A", -5.0, "unit_out_of_range", ["1-2", "RATE_A", "-5"]),
        ("branch", 0, "BR_X", 0.0, "zero_impedance", ["1-2"]),
    ],
)
def test_faults_are_named(table, row, column, value, code, words):
    found = errors(check_case(changed(table, row, column, value)))
    assert found[0].code == code
    for word in words:
        assert word in found[0].message


def test_limits_may_be_infinite():
    case = changed("gen", 0, "PMAX", np.inf)
    case = changed("branch", 0, "RATE_A", np.inf, case)
    assert codes(case) == []


def test_what_is_out_of_service_may_be_wrong():
    case = changed("gen", 1, "PMIN", 400.0)
    assert codes(changed("gen", 1, "GEN_STATUS", 0.0, case)) == []


def test_negative_reactance_is_a_warning():
    found = check_case(changed("branch", 0, "BR_X", -0.1))
    assert [(f.code, f.severity) for f in found] == [("negative_reactance", "warning")]


def test_cost_rows_have_to_fit_the_units():
    case = two_buses()
    assert codes(case.with_tables(gencost=case.gencost[:1])) == ["cost_row_mismatch"]
    short = np.array([[2, 0, 0, 5, 1, 2, 3], [2, 0, 0, 3, 0, 30, 0]], dtype=float)
    assert codes(case.with_tables(gencost=short)) == ["cost_row_mismatch"]
    two = np.vstack([case.gencost, case.gencost])
    assert codes(case.with_tables(gencost=two)) == []


def test_numbers_beyond_ncost_are_said_to_be_ignored():
    case = two_buses()
    cost = case.gencost.copy()
    cost[0, 3:] = [2, 10, 0, 5]
    found = check_case(case.with_tables(gencost=cost))
    assert [f.code for f in found] == ["unused_cost_columns"]


def test_falling_slopes_are_listed():
    case = two_buses()
    cost = np.zeros((2, 10))
    cost[0] = [1, 0, 0, 3, 0, 0, 100, 2000, 200, 3000]
    cost[1, :7] = [2, 0, 0, 3, 0, 30, 0]
    found = check_case(case.with_tables(gencost=cost))
    assert [f.code for f in found] == ["nonconvex_cost"]
    assert "20, 10" in found[0].message


def test_cases_of_the_package_pass():
    for name in ("case9", "case57", "case118", "case_ieee30", "case24_ieee_rts"):
        assert errors(check_case(read_case(shipped_case(name)))) == []


def test_a_case_that_does_not_exist_names_a_near_one():
    with pytest.raises(InputError, match="case300"):
        shipped_case("case300x")


def test_a_cell_that_is_no_number_is_named(tmp_path):
    path = tmp_path / "bad.m"
    path.write_text(write_case(network([10], [{"bus": 1, "pmax": 20, "c1": 1}], [])))
    text = path.read_text().replace("mpc.bus = [\n\t1", "mpc.bus = [\n\tone", 1)
    path.write_text(text)
    with pytest.raises(InputError, match=r"bad\.m"):
        read_case(path)
