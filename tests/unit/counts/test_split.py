"""Folds of series: all of them, once, and never on both sides."""

import copy

import numpy as np
import pytest
import xarray as xr

from headwater.core.errors import InputError
from headwater.core.io import read_json, write_json
from headwater.counts.split import check_folds, held_out_part, make_folds, subset, training_part


def cube_of(n):
    counts = np.arange(n * 6).reshape(n, 3, 2).astype("int32")
    names = [f"s{i}" for i in range(n)]
    return xr.Dataset({"counts": (("series", "step", "feature"), counts)}, coords={"series": names})


@pytest.mark.parametrize(("n", "k"), [(7, 3), (10, 5), (4, 2)])
def test_every_series_is_tested_once(n, k):
    cube = cube_of(n)
    folds = make_folds(cube, "kfold", k, seed=3)
    check_folds(cube, folds)
    sizes = [len(f["test"]) for f in folds["folds"]]
    assert sum(sizes) == n and max(sizes) - min(sizes) <= 1
    assert [f["name"] for f in folds["folds"]] == [f"fold{i:02d}" for i in range(k)]


def test_seed_deals_and_nothing_else_does(tmp_path):
    cube = cube_of(20)
    folds = make_folds(cube, "kfold", 4, seed=1)
    assert folds == make_folds(cube, "kfold", 4, seed=1)
    assert folds != make_folds(cube, "kfold", 4, seed=2)
    write_json(tmp_path / "folds.json", folds)
    assert read_json(tmp_path / "folds.json") == folds


def test_as_many_folds_as_series_leaves_one_out_in_order():
    cube = cube_of(5)
    folds = make_folds(cube, "kfold", 5, seed=9)
    assert [f["test"] for f in folds["folds"]] == [[f"s{i}"] for i in range(5)]
    assert folds["folds"] == make_folds(cube, "leave_one_series_out")["folds"]


@pytest.mark.parametrize(("n", "k"), [(3, 4), (3, 1)])
def test_too_many_or_too_few_folds(n, k):
    with pytest.raises(InputError, match=f"counts.split.folds: found {k} folds of {n} series"):
        make_folds(cube_of(n), "kfold", k)


def test_one_series_cannot_be_held_out():
    with pytest.raises(InputError, match="dimension series: found 1 series; expected at least 2"):
        make_folds(cube_of(1), "kfold", 2)


def test_parts_hold_the_series_they_name():
    cube = cube_of(5)
    folds = make_folds(cube, "leave_one_series_out")
    held_out, training = held_out_part(cube, folds, "fold02"), training_part(cube, folds, "fold02")
    assert held_out["series"].values.tolist() == ["s2"]
    assert training["series"].values.tolist() == ["s0", "s1", "s3", "s4"]
    np.testing.assert_array_equal(held_out["counts"][0], cube["counts"][2])
    assert subset(cube, ["s4", "s1"])["series"].values.tolist() == ["s4", "s1"]


def test_leaks_are_refused():
    cube = cube_of(4)
    good = make_folds(cube, "leave_one_series_out")
    leak = copy.deepcopy(good)
    leak["folds"][1]["train"].append("s1")
    with pytest.raises(InputError, match="fold01: found 's1' in training and test"):
        training_part(cube, leak, "fold00")
    twice = {"folds": [good["folds"][0], good["folds"][0]]}
    with pytest.raises(InputError, match="never or twice"):
        check_folds(cube, twice)
    with pytest.raises(InputError, match="'s4' in only one"):
        check_folds(cube_of(5), good)


def test_unknown_names_are_refused():
    cube = cube_of(3)
    with pytest.raises(InputError, match="no series 'x'"):
        subset(cube, ["x"])
    with pytest.raises(InputError, match="no fold 'fold07'"):
        held_out_part(cube, make_folds(cube, "leave_one_series_out"), "fold07")
