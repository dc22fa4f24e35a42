"""Every layout of a count table gives the same sample table; every fault one clear error."""

import io
import zipfile

import biom
import h5py
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from clear_error import fails

from headwater.core.io import write_dataset
from headwater.counts.cube import prepare_cube
from headwater.counts.settings import PrepareSettings
from headwater.counts.tables import read_sample_table

COUNTS = pd.DataFrame(
    [[5, 0, 7], [1, 2, 3], [0, 9, 1], [4, 4, 4], [3, 0, 2], [8, 1, 1]],
    index=["a1", "a2", "a3", "b1", "b2", "b3"],
    columns=["x", "y", "z"],
)
ABOUT = pd.DataFrame(
    {
        "sample_id": COUNTS.index,
        "series": ["a", "a", "a", "b", "b", "b"],
        "time": [0.0, 1.5, 3.0] * 2,
    }
)
ALL = {"min_library": 0, "min_prevalence": 0, "min_proportion": 0}


@pytest.fixture
def folder(tmp_path):
    ABOUT.to_csv(tmp_path / "metadata.tsv", sep="\t", index=False)
    COUNTS.to_csv(tmp_path / "counts.tsv", sep="\t", index_label="sample_id")
    return tmp_path


def read(folder, counts="counts.tsv", about="metadata.tsv", taxonomy=None, **settings):
    about = about and folder / about
    return read_sample_table(folder / counts, about, taxonomy, ALL | settings)


def cube_of(folder, table, **settings):
    write_dataset(folder / "samples.nc", table)
    return prepare_cube(folder / "samples.nc", ALL | settings)


def write(folder, counts=None, about=None):
    if counts is not None:
        counts.to_csv(folder / "counts.tsv", sep="\t", index_label="sample_id")
    if about is not None:
        about.to_csv(folder / "metadata.tsv", sep="\t", index=False)


def biom_table():
    return biom.Table(COUNTS.T.to_numpy(), list(COUNTS.columns), list(COUNTS.index))


def hdf5_bytes():
    content = io.BytesIO()
    with h5py.File(content, "w") as opened:
        biom_table().to_hdf5(opened, "test")
    return content.getvalue()


def write_qza(path, kind="FeatureTable[Frequency]", member="data/feature-table.biom"):
    with zipfile.ZipFile(path, "w") as opened:
        root = "0f1e2d3c-0000-4000-8000-000000000000"
        opened.writestr(f"{root}/metadata.yaml", f"uuid: {root}\ntype: {kind}\nformat: BIOMV210\n")
        opened.writestr(f"{root}/VERSION", "QIIME 2\narchive: 5\n")
        opened.writestr(f"{root}/{member}", hdf5_bytes())
        opened.writestr(f"{root}/provenance/metadata.yaml", "type: other\n")


def write_layout(folder, name):
    """Write COUNTS in one layout; return file name, metadata name and settings."""
    if name == "transposed":
        COUNTS.T.to_csv(folder / "t.tsv", sep="\t", index_label="#OTU ID")
        return "t.tsv", "metadata.tsv", {}
    if name == "biom text export":
        text = "# Constructed from biom file\n" + COUNTS.T.to_csv(sep="\t", index_label="#OTU ID")
        (folder / "t.tsv").write_text(text)
        return "t.tsv", "metadata.tsv", {}
    if name == "csv, gzip":
        COUNTS.to_csv(folder / "t.csv.gz")
        return "t.csv.gz", "metadata.tsv", {}
    if name == "whole floats":
        (COUNTS + 1e-8).to_csv(folder / "t.tsv", sep="\t")
        return "t.tsv", "metadata.tsv", {}
    if name == "long":
        long = (
            COUNTS.rename_axis("sample_id")
            .reset_index()
            .melt("sample_id", None, "feature", "count")
        )
        long = long.merge(ABOUT).drop(columns="sample_id")
        long = long[long["count"] > 0].sample(frac=1, random_state=1)
        long.to_csv(folder / "long.tsv", sep="\t", index=False)
        return "long.tsv", None, {}
    if name == "biom v1":
        (folder / "t.biom").write_text(biom_table().to_json("test"))
        return "t.biom", "metadata.tsv", {}
    if name == "biom v2.1":
        (folder / "t.biom").write_bytes(hdf5_bytes())
        return "t.biom", "metadata.tsv", {}
    if name == "qza":
        write_qza(folder / "t.qza")
        return "t.qza", "metadata.tsv", {}
    data = xr.Dataset(
        {"counts": (("feature", "sample"), COUNTS.T.to_numpy())},
        coords={"sample": list(COUNTS.index), "feature": list(COUNTS.columns)},
    )
    if name == "zarr":
        data.to_zarr(folder / "t.zarr")
        return "t.zarr", "metadata.tsv", {}
    data = data.assign_coords(
        series=("sample", list(ABOUT["series"])), time=("sample", ABOUT["time"].to_numpy())
    )
    data.to_netcdf(folder / "t.nc")
    return "t.nc", None, {}


@pytest.mark.parametrize(
    "layout",
    [
        "transposed",
        "biom text export",
        "csv, gzip",
        "whole floats",
        "long",
        "biom v1",
        "biom v2.1",
        "qza",
        "zarr",
        "netcdf",
    ],
)
def test_every_layout_gives_the_same_counts(folder, layout):
    counts, about, settings = write_layout(folder, layout)
    cube, _, _ = cube_of(folder, read(folder, counts, about, **settings))
    assert cube["series"].values.tolist() == ["a", "b"]
    ours = cube.sel(feature=list("xyz"))["counts"].values
    np.testing.assert_array_equal(ours, COUNTS.to_numpy().reshape(2, 3, 3))
    np.testing.assert_array_equal(cube["exposure"], COUNTS.sum(axis=1).to_numpy().reshape(2, 3))
    np.testing.assert_array_equal(cube["time"], [[0, 1.5, 3]] * 2)


def test_numeric_times_are_sorted(folder):
    write(folder, about=ABOUT.iloc[::-1])
    cube, _, _ = cube_of(folder, read(folder))
    np.testing.assert_array_equal(cube["time"].sel(series="a"), [0, 1.5, 3])
    np.testing.assert_array_equal(cube["counts"].sel(series="a", feature="x"), [5, 1, 0])


def test_times_of_one_series_only_are_holes_in_the_other(folder):
    write(folder, about=ABOUT.assign(time=[0, 1, 2, 1, 2, 3]))
    cube, _, _ = cube_of(folder, read(folder))
    np.testing.assert_array_equal(cube["observed"], [[1, 1, 1, 0], [0, 1, 1, 1]])
    assert (cube["counts"].values[0, 3] == -1).all()
    assert np.isnan(cube["exposure"].values[1, 0])


def test_replicates_sum_counts_and_exposures_first_keeps_one_error_refuses(folder):
    counts = pd.concat([COUNTS, COUNTS.iloc[[0]].set_axis(["a1bis"])])
    write(
        folder, counts, pd.concat([ABOUT, pd.DataFrame([["a1bis", "a", 0]], columns=ABOUT.columns)])
    )
    table = read(folder)
    cube, _, report = cube_of(folder, table)
    assert cube["counts"].values[0, 0].tolist() == [10, 0, 14]
    assert cube["exposure"].values[0, 0] == 24
    assert report["merged"] == 1
    cube, _, _ = cube_of(folder, table, replicates="first")
    assert cube["counts"].values[0, 0].tolist() == [5, 0, 7]
    fails("a1bis|a at time 0", cube_of, folder, table, replicates="error")


def test_taxonomy_sums_up_and_names_unknown_labels(folder):
    taxonomy = pd.DataFrame(
        {"Taxon": ["k__B; p__F; f__L", "k__B; p__F; f__L", "k__B; p__F"]}, index=list("xyz")
    )
    taxonomy["Taxon"] = ["k__B; p__F; c__C; o__O; f__L"] * 2 + ["k__B; p__F; c__; o__; f__"]
    taxonomy.to_csv(folder / "taxonomy.tsv", sep="\t", index_label="Feature ID")
    table = read(folder, taxonomy=folder / "taxonomy.tsv", rank="Family")
    assert table["feature"].values.tolist() == ["L", "F unclassified"]
    np.testing.assert_array_equal(table["counts"].values[:, 0], COUNTS["x"] + COUNTS["y"])
    assert int(table["counts"].sum()) == COUNTS.to_numpy().sum()
    fails("'Famly'|Family", read, folder, taxonomy=folder / "taxonomy.tsv", rank="Famly")
    taxonomy.iloc[:1].to_csv(folder / "short.tsv", sep="\t", index_label="Feature ID")
    fails("2 features|y, z", read, folder, taxonomy=folder / "short.tsv", rank="Family")


def test_filter_pools_the_rest_and_keeps_library_sizes(folder):
    counts = COUNTS * 1000
    counts["y"] = [0, 0, 2, 0, 0, 0]
    write(folder, counts)
    table = read(folder)
    cube, dropped, _ = cube_of(folder, table, min_prevalence=0.5, min_library=1000)
    assert cube["feature"].values.tolist() == ["x", "z", "other"]
    assert cube["counts"].sel(feature="other").values.sum() == 2
    np.testing.assert_array_equal(cube["counts"].sum("feature"), cube["exposure"])
    assert dropped["name"].tolist() == ["y"]
    cube, _, _ = cube_of(folder, table, min_prevalence=0.5, rest="drop")
    assert cube["feature"].values.tolist() == ["x", "z"]
    # the exposure is the library over all features, before the filter
    np.testing.assert_array_equal(cube["exposure"].values.ravel(), counts.sum(axis=1))
    fails("no feature|min_prop", cube_of, folder, table, min_proportion=0.99)
    fails("no sample|99999999", cube_of, folder, table, min_library=99999999)


def test_offset_constant_and_column(folder):
    table = read(folder, offset="constant")
    cube, _, _ = cube_of(folder, table, offset="constant")
    assert (cube["exposure"] == 1).all()
    write(folder, about=ABOUT.assign(volume=[1, 2, 3, 4, 5, 6]))
    cube, _, _ = cube_of(folder, read(folder, offset="volume"), offset="volume")
    np.testing.assert_array_equal(cube["exposure"], [[1, 2, 3], [4, 5, 6]])
    write(folder, about=ABOUT.assign(volume=[1, 2, 3, 4, 0, 6]))
    fails("b2|volume|above 0", read, folder, offset="volume")
    fails("'volum'|volume", read, folder, offset="volum")


def test_an_empty_sample_is_unobserved_with_a_warning(folder):
    counts = pd.concat([COUNTS, pd.DataFrame([[0, 0, 0]], index=["a4"], columns=COUNTS.columns)])
    write(folder, counts, pd.concat([ABOUT, pd.DataFrame([["a4", "a", 9]], columns=ABOUT.columns)]))
    cube, _, report = cube_of(folder, read(folder))
    assert cube["observed"].values[0].tolist() == [1, 1, 1] + [0] * (cube.sizes["step"] - 3)
    assert any("1 samples without reads" in w for w in report["warnings"])


def test_a_short_series_is_dropped_with_a_warning(folder):
    write(folder, about=ABOUT.assign(series=list("aaabbc"), time=[0, 1, 2, 0, 1, 0]))
    cube, dropped, report = cube_of(folder, read(folder))
    assert cube["series"].values.tolist() == ["a"]
    assert set(dropped["name"]) == {"b", "c"}
    assert any("2 series" in w and "b, c" in w for w in report["warnings"])


def test_covariates_are_one_number_per_series(folder):
    write(folder, about=ABOUT.assign(dose=[1.0, 1, 1, 2e6, 2e6, 2e6]))
    cube, _, _ = cube_of(folder, read(folder, covariates=["dose"]), covariates=["dose"])
    np.testing.assert_array_equal(cube["covariates"], [[1], [2e6]])
    assert cube["covariate"].values.tolist() == ["dose"]
    for bad, words in (([1, 2, 1, 2, 2, 2], "'dose', series 'a'"), ([1, 1, 1, 2, 2, None], "'b'")):
        write(folder, about=ABOUT.assign(dose=bad))
        fails(words, cube_of, folder, read(folder, covariates=["dose"]))
    write(folder, about=ABOUT.assign(dose=[1, 1, 1, None, None, None]))
    fails("dose|'b'|no number", cube_of, folder, read(folder, covariates=["dose"]))


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (-3, "sample 'a2', feature 'y'|-3|0 or more"),
        (2.5, "sample 'a2', feature 'y'|2.5|whole numbers"),
        ("many", "'a2'|'y'|'many'"),
        (None, "sample 'a2', feature 'y'|nothing"),
        (2**31, "sample 'a2', feature 'y'|2147483648|below 2^31"),
        ("inf", "sample 'a2', feature 'y'|inf|finite"),
    ],
)
def test_a_cell_that_is_no_count_is_named(folder, cell, words):
    counts = COUNTS.astype(object)
    counts.loc["a2", "y"] = cell
    write(folder, counts)
    fails(words, read, folder)


def test_the_largest_count_is_kept_and_a_larger_sum_is_refused(folder):
    counts = COUNTS.copy()
    counts.loc["a1", "x"] = 2**31 - 1
    write(folder, counts)
    cube, _, _ = cube_of(folder, read(folder))
    assert int(cube["counts"].values[0, 0, 0]) == 2**31 - 1
    write(folder, counts, ABOUT.assign(time=[0, 0, 3, 0, 1, 2]))
    fails("feature 'x'|2147483648", cube_of, folder, read(folder), min_steps=3)


@pytest.mark.parametrize("total", [1, 100])
def test_relative_abundances_are_refused(folder, total):
    write(folder, COUNTS.div(COUNTS.sum(axis=1), axis=0) * total)
    fails("Rows sum to 1 or 100|raw counts", read, folder)


def test_ids_that_do_not_match_are_counted_both_ways_with_three_examples(folder):
    about = ABOUT.assign(sample_id=["a1", "q2", "q3", "q4", "q5", "b3"])
    write(folder, about=about)
    fails(
        "4 samples only in the metadata (q2, q3, q4)|4 samples only in the table (a2, a3, b1)",
        read,
        folder,
    )


def test_ids_with_a_prefix(folder):
    write(folder, COUNTS.set_axis("s" + COUNTS.index))
    fails("orientation", read, folder)  # no id on either side
    table = read(folder, orientation="samples_by_features", id_prefix="s")
    assert table["sample"].values.tolist() == list(COUNTS.index)


def test_names_that_stand_twice(folder):
    write(folder, COUNTS.set_axis(["a1", "a2", "a3", "b1", "b2", "a1"]))
    fails("sample 'a1'|second", read, folder)
    write(folder, COUNTS.set_axis(["x", "y", "x"], axis=1))
    fails("column 'x'|second", read, folder)
    write(folder, COUNTS, ABOUT.assign(sample_id=["a1", "a2", "a3", "b1", "b2", "a1"]))
    fails("row 7|'a1' a second time", read, folder)


def test_names_that_only_look_mangled_are_fine(folder):
    write(folder, COUNTS.set_axis(["x", "x.1", "x.2"], axis=1))
    assert read(folder)["feature"].values.tolist() == ["x", "x.1", "x.2"]


def test_times_and_series_that_are_none(folder):
    write(folder, about=ABOUT.assign(time=[0, 1, "day two", 0, 1, 2]))
    fails("sample 'a3', column time|'day two'|number", read, folder)
    write(folder, about=ABOUT.assign(time=[0, 1, None, 0, 1, 2]))
    fails("sample 'a3', column time", read, folder)
    write(folder, about=ABOUT.assign(series=["a", "a", None, "b", "b", "b"]))
    fails("sample 'a3', column series", read, folder)
    write(folder, about=ABOUT.rename(columns={"time": "Time"}))
    fails("no column 'time'|'Time'", read, folder)


def test_long_tables_name_the_row(folder):
    counts, _, _ = write_layout(folder, "long")
    long = pd.read_csv(folder / counts, sep="\t")

    def broken(column, value, words):
        bad = long.astype({column: object})
        bad.loc[4, column] = value
        bad.to_csv(folder / counts, sep="\t", index=False)
        fails(words, read, folder, counts, None)

    broken("count", "x", "row 6, column count|'x'|number")
    broken("count", None, "row 6, column count|nothing")
    broken("time", "soon", "row 6, column time|'soon'")
    broken("series", None, "row 6, column series|nothing")
    pd.concat([long, long.iloc[[2]]]).to_csv(folder / counts, sep="\t", index=False)
    fails(f"row {len(long) + 2}|a second time", read, folder, counts, None)


def test_artifacts_that_hold_something_else(folder, monkeypatch):
    write_qza(folder / "r.qza", kind="FeatureTable[RelativeFrequency]")
    fails("FeatureTable[RelativeFrequency]|raw counts", read, folder, "r.qza")
    write_qza(folder / "m.qza", member="data/other.biom")
    fails("0 members data/feature-table.biom", read, folder, "m.qza")
    (folder / "t.qza").write_text("no zip")
    fails("no zip file", read, folder, "t.qza")
    (folder / "t.biom").write_text("{")
    fails("no BIOM table", read, folder, "t.biom")
    write_qza(folder / "big.qza")
    monkeypatch.setattr("headwater.counts.qiime.MAX_UNPACKED", 100)
    fails("bytes unpacked|at most 100", read, folder, "big.qza")


def test_a_damaged_artifact(folder):
    write_qza(folder / "t.qza")
    content = bytearray((folder / "t.qza").read_bytes())
    place = content.find(b"\x89HDF")
    content[place + 600] ^= 255
    (folder / "t.qza").write_bytes(content)
    fails("t.qza|no zip file|CRC", read, folder, "t.qza")


def test_files_that_are_not_there(folder):
    fails("none.tsv|no such file", read, folder, "none.tsv")
    fails("none.tsv|no such file", read, folder, about="none.tsv")


def test_settings_say_what_is_meant():
    fails("min_librry|did you mean 'min_library'", PrepareSettings.from_mapping, {"min_librry": 1})
    fails("'Sum'|'sum'", PrepareSettings.from_mapping, {"replicates": "Sum"})
    fails("min_valid|0..1", PrepareSettings.from_mapping, {"min_valid": 2})
    fails("min_library|'many'", PrepareSettings.from_mapping, {"min_library": "many"})
    fails("keep|'Daily'", PrepareSettings.from_mapping, {"keep": "Daily"})
    fails("base|first and last year", PrepareSettings.from_mapping, {"base": [1990, 1961]})
    assert PrepareSettings.from_mapping({"covariates": "dose"}).covariates == ("dose",)


def test_defaults_of_the_schema_are_those_of_the_class():
    from pathlib import Path

    import yaml

    path = Path(__file__).parents[3] / "workflow/schemas/counts.prepare.schema.yaml"
    schema = yaml.safe_load(path.read_text())
    defaults = {k: v["default"] for k, v in schema["properties"].items()}
    assert PrepareSettings.from_mapping(defaults) == PrepareSettings()
