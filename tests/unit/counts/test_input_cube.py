"""A ready cube is completed, checked and cleaned; every fault is one clear error."""

import numpy as np
import pytest
import xarray as xr
from clear_error import fails

from headwater.core.io import write_dataset
from headwater.counts.cube import prepare_cube

VALUES = np.array([5, 0, 7, 1, 2, 3, 0, 9, 1, 4, 4, 4, 3, 0, 2, 8, 1, 1], np.int32)


def ready_cube():
    return xr.Dataset(
        {"counts": (("series", "step", "feature"), VALUES.reshape(2, 3, 3).copy())},
        coords={"series": ["a", "b"], "feature": list("xyz")},
    )


def test_a_ready_cube_is_completed(tmp_path):
    write_dataset(tmp_path / "c.nc", ready_cube().assign_attrs(log_offset=np.log(7.0)))
    cube, _, _ = prepare_cube(tmp_path / "c.nc", {})
    np.testing.assert_allclose(cube["exposure"], 7)
    assert (cube["observed"] == 1).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: c.isel(step=[0, 1]), "2 steps|at least 3"),
        (lambda c: c.assign(time=(("series", "step"), [[0.0, 2, 1]] * 2)), "time|increas"),
        (lambda c: c.assign(time=(("series", "step"), [[0.0, 1, np.nan]] * 2)), "time|finite"),
        (lambda c: c.assign(exposure=(("series", "step"), [[1.0, 0, 1]] * 2)), "exposure 0|step 1"),
        (lambda c: c.assign(counts=c["counts"] * 0), "only zeros"),
        (lambda c: c.assign(counts=c["counts"] - 1), "series a, step 0, feature y|-1"),
        (lambda c: c.assign(counts=c["counts"] + 0.5), "whole"),
        (lambda c: c.assign_coords(series=["a", "a"]), "coordinate series|'a' twice"),
        (lambda c: c.rename(step="when"), "series, step, feature"),
    ],
)
def test_a_bad_cube_is_refused(tmp_path, change, words):
    write_dataset(tmp_path / "c.nc", change(ready_cube()))
    fails(words, prepare_cube, tmp_path / "c.nc", {})


@pytest.mark.parametrize("part", [{"series": [0]}, {"feature": [0]}])
def test_one_series_or_one_feature_is_enough(tmp_path, part):
    write_dataset(tmp_path / "c.nc", ready_cube().isel(part))
    cube, _, _ = prepare_cube(tmp_path / "c.nc", {})
    assert dict(cube.sizes) == dict(ready_cube().isel(part).sizes)


def test_a_feature_without_counts_goes_with_a_warning(tmp_path):
    cube = ready_cube()
    cube["counts"][:, :, 1] = 0
    write_dataset(tmp_path / "c.nc", cube)
    cube, _, report = prepare_cube(tmp_path / "c.nc", {})
    assert cube["feature"].values.tolist() == ["x", "z"]
    assert any("y" in w for w in report["warnings"])
