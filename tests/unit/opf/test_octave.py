"""MATPOWER in GNU Octave: its optima, its way of loading files that compute."""

import shutil

import pytest

from headwater.core.errors import InputError
from headwater.opf import octave
from headwater.opf.case import read_case, shipped_case

pytestmark = pytest.mark.skipif(
    shutil.which("octave") is None, reason="GNU Octave is not installed"
)


@pytest.mark.parametrize(
    ("name", "model", "objective"),
    # MATPOWER 8.1, MIPS 1.5.2
    [("case14", "AC", 8081.525134), ("case30", "DC", 565.205966), ("case39", "AC", 41864.177597)],
)
def test_optima_of_the_shipped_cases(name, model, objective):
    found, success, tables = octave.matpower_solve(read_case(shipped_case(name)), model)
    assert success
    assert found == pytest.approx(objective, rel=2e-7)
    assert len(tables["bus"]) == int(name.removeprefix("case"))


def test_a_file_that_computes_is_loaded_as_matpower_does():
    path = shipped_case("case33bw")
    with pytest.raises(InputError, match="executable_case"):
        read_case(path)
    case = read_case(path, octave=octave.load_case_tables)
    # 0.0922 ohm at 12.66 kV and 10 MVA; 100 kW
    assert case.branch["BR_R"][0] == pytest.approx(0.0922 * 10 / 12.66**2, rel=1e-9)
    assert case.bus["PD"][1] == pytest.approx(0.1)


def test_a_broken_file_is_named(tmp_path):
    path = tmp_path / "broken.m"
    path.write_text(
        "function mpc = broken\nmpc.version = '2';\nmpc.bus = ones(2, 13) * undefined_x;\n"
    )
    with pytest.raises(InputError, match=r"broken\.m.*undefined_x"):
        read_case(path, octave=octave.load_case_tables)


def test_an_infeasible_case_is_no_success():
    case = read_case(shipped_case("case9"))
    heavy = case.with_tables(bus=case.bus.assign(PD=case.bus["PD"] * 10))
    assert not octave.matpower_solve(heavy, "AC")[1]


def test_without_octave_the_next_step_is_said(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(InputError, match="apt-get install octave"):
        octave.command("x.m")
