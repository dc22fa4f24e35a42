"""Rows of the table of cases: read, chosen, and refused with file, row and column."""

import math
from pathlib import Path

import pytest

from headwater.core.errors import InputError
from headwater.opf.catalogue import COLUMNS, chosen, read_catalogue

ROOT = Path(__file__).resolve().parents[3]


def table(path, *rows):
    lines = ["\t".join(COLUMNS), *("\t".join(row) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_table_that_ships():
    rows = read_catalogue([ROOT / "config/opf/cases.tsv"])
    assert rows["case14"].shipped == "case14"
    sad = rows["pglib_opf_case118_ieee__sad"]
    assert not sad.shipped
    # PGLib-OPF v23.07, BASELINE.md
    assert sad.published() == {"dc": math.inf, "ac": 105160.0, "soc_gap": 8.17}
    assert sad.dc_convention == "powermodels"
    assert sum(row.source == "PGLib-OPF v23.07" for row in rows.values()) == 21


def test_a_later_table_replaces_a_row(tmp_path):
    one = table(tmp_path / "a.tsv", ["x", "X", "x.m", "1", "matpower", "2", "", ""])
    two = table(tmp_path / "b.tsv", ["x", "X", "y.m", "", "", "", "", ""])
    assert read_catalogue([one, two])["x"].file == "y.m"
    assert read_catalogue([one, two])["x"].published() == {}


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (["x y", "", "f", "", "", "", "", ""], "row 2, column case: found 'x y'"),
        (["x", "", "", "", "", "", "", ""], "row 2, column file: found nothing"),
        (["x", "", "f", "12,5", "", "", "", ""], "row 2, column dc: found '12,5'"),
        (["x", "", "f", "nan", "", "", "", ""], "row 2, column dc: found 'nan'"),
        (["x", "", "f", "", "pypsa", "", "", ""], "column dc_convention: found 'pypsa'"),
    ],
)
def test_faults_are_named(tmp_path, row, words):
    with pytest.raises(InputError) as error:
        read_catalogue([table(tmp_path / "a.tsv", row)])
    assert words in error.value.line()
    assert "a.tsv" in error.value.line()


def test_a_name_twice_and_a_missing_column_and_file(tmp_path):
    row = ["x", "", "f", "", "", "", "", ""]
    with pytest.raises(InputError, match="row 3, column case: found 'x' a second time"):
        read_catalogue([table(tmp_path / "a.tsv", row, row)])
    (tmp_path / "b.tsv").write_text("case\ttitle\nx\ty\n")
    with pytest.raises(InputError, match="no column 'file'"):
        read_catalogue([tmp_path / "b.tsv"])
    with pytest.raises(InputError, match="no such file"):
        read_catalogue([tmp_path / "c.tsv"])


def test_an_unknown_case_gets_the_nearest(tmp_path):
    rows = read_catalogue([ROOT / "config/opf/cases.tsv"])
    assert list(chosen(rows, ["case5", "case9"], "opf.cases")) == ["case5", "case9"]
    with pytest.raises(InputError, match=r"opf\.cases: found 'case_14'.*did you mean 'case14'"):
        chosen(rows, ["case_14"], "opf.cases")
