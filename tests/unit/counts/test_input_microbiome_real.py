"""Real microbiome tables become the cubes that others laid out."""

import numpy as np
import pytest
import xarray as xr

from headwater.core.io import write_dataset
from headwater.counts.cube import prepare_cube
from headwater.counts.settings import FEATURE_LISTS
from headwater.counts.tables import read_sample_table

ALL = {"min_library": 0, "min_prevalence": 0, "min_proportion": 0}
MICE = {"series": "subject", "time": "time_days", "time_units": "days since colonisation"}
GUT = {"series": "vessel", "time": "time_hours"}


def cube_of(table, settings, folder):
    write_dataset(folder / "samples.nc", table)
    return prepare_cube(folder / "samples.nc", settings)


def same_cube(ours, theirs):
    """Compare two cubes, whatever the order of series and features."""
    ours = ours.sel(series=theirs["series"].values, feature=theirs["feature"].values)
    np.testing.assert_array_equal(ours["observed"], theirs["observed"])
    np.testing.assert_array_equal(ours["counts"], theirs["counts"])
    np.testing.assert_allclose(ours["exposure"], theirs["exposure"])
    np.testing.assert_allclose(ours["time"], theirs["time"])


@pytest.fixture
def mice(mirror):
    return mirror / "counts/microbiome_gnotobiotic"


@pytest.fixture
def gut(mirror):
    return mirror / "counts/microbiome_artificial_gut"


def test_mice_equal_the_shared_cube(mice, tmp_path):
    settings = MICE | ALL
    table = read_sample_table(mice / "counts.tsv", mice / "metadata.tsv", None, settings)
    cube, _, report = cube_of(table, settings, tmp_path)
    assert (cube.sizes["series"], cube.sizes["step"], table.sizes["feature"]) == (5, 26, 23)
    assert (cube["exposure"].min(), cube["exposure"].max()) == (17536, 164113)
    with xr.open_dataset(mice / "cube.nc", mask_and_scale=False) as shared:
        zero = shared["feature"][(shared["counts"] <= 0).all(("series", "step"))].values
        same_cube(cube, shared.drop_sel(feature=zero))
    assert [str(z) for z in zero] == ["Collinsella-aerofaciens"]
    assert any(zero[0] in w for w in report["warnings"])


def test_paper_taxa_of_mice_with_the_offset_of_the_paper(mice, tmp_path):
    settings = MICE | {"features": "paper_mice_13", "offset": "logsum"}
    table = read_sample_table(mice / "counts.tsv", mice / "metadata.tsv", None, settings)
    cube, dropped, _ = cube_of(table, settings, tmp_path)
    assert tuple(cube["feature"].values) == FEATURE_LISTS["paper_mice_13"]
    np.testing.assert_array_equal(cube["exposure"], cube["counts"].sum("feature") + 1)
    assert (dropped["what"] == "feature").sum() == 10


def test_biom_equals_text(mice):
    text = read_sample_table(mice / "counts.tsv", mice / "metadata.tsv", None, MICE)
    biom = read_sample_table(
        mice / "table.biom", mice / "metadata.tsv", None, MICE | {"id_prefix": "s"}
    )
    xr.testing.assert_equal(biom.sel(feature=text["feature"]), text)


@pytest.mark.parametrize(
    ("kind", "shape", "share"), [("Daily", (4, 17, 10), 67 / 68), ("Hourly", (4, 121, 10), 0.971)]
)
def test_gut_equals_the_shared_cube(gut, tmp_path, kind, shape, share):
    settings = GUT | ALL | {"keep": {"sample_type": kind}, "rank": "Family"}
    table = read_sample_table(
        gut / "counts_family.tsv",
        gut / "metadata_family.tsv",
        gut / "taxonomy_family.tsv",
        settings,
    )
    cube, _, report = cube_of(table, settings, tmp_path)
    assert tuple(cube.sizes.values()) == shape
    assert float(cube["observed"].mean()) == pytest.approx(share, abs=5e-4)
    with xr.open_dataset(gut / f"cube_{kind.lower()}.nc", mask_and_scale=False) as shared:
        same_cube(cube, shared)
        merged = int((shared["n_replicates"].values - 1).clip(0).sum())
    assert report["merged"] == merged
