"""Faults that once passed in silence or ended in a traceback, each on the smallest data."""

import gzip

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from clear_error import fails
from test_input_climate import WET, days, events, station
from test_input_cube import ready_cube
from test_input_tables import ABOUT, ALL, COUNTS, cube_of, folder, read, write

from headwater.core.io import write_dataset
from headwater.counts.climate import read_events
from headwater.counts.cube import make_cube, prepare_cube, read_cube
from headwater.counts.settings import PrepareSettings

__all__ = ["folder"]  # a fixture
FROST = {"name": "frost_days", "var": "tasmin", "op": "<", "threshold": 0, "units": "degC"}


# ---- text tables


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.tsv", b""),
        ("cut.tsv.gz", gzip.compress(b"sample_id\tx\na1\t5\n" * 99, mtime=0)[:-12]),
    ],
)
@pytest.mark.parametrize("about", ["metadata.tsv", None])
def test_files_that_are_no_text_table(folder, name, content, about):
    (folder / name).write_bytes(content)
    fails(f"{name}|no table|tab-separated", read, folder, name, about)


@pytest.mark.parametrize(
    "content", [b"PK\x03\x04\xff\xfe\x00", "sample_id\tä\na1\t5\n".encode("latin-1")]
)
@pytest.mark.parametrize("about", ["metadata.tsv", None])
def test_files_of_another_encoding(folder, content, about):
    (folder / "book.tsv").write_bytes(content)
    fails("book.tsv|no text in UTF-8|a spreadsheet must be", read, folder, "book.tsv", about)


def test_a_table_with_another_separator(folder):
    COUNTS.to_csv(folder / "counts.tsv", sep=";", index_label="sample_id")
    fails("counts.tsv|Is the table separated by tabs", read, folder)


def test_a_time_that_is_absent(folder):
    about = ABOUT.astype(object)
    about.loc[2, "time"] = None
    write(folder, about=about)
    fails("metadata.tsv, sample 'a3', column time: found nothing", read, folder)


def test_only_empty_samples(folder):
    write(folder, COUNTS * 0)
    fails("no count above 0 in any sample", cube_of, folder, read(folder))


def test_series_that_are_all_short_say_how_long_the_longest_is(folder):
    fails(
        "no series with 9 observed steps (the longest has 3)",
        cube_of,
        folder,
        read(folder),
        min_steps=9,
    )


def test_a_replicate_that_is_no_choice_is_named_as_it_stands(folder):
    write(folder, about=ABOUT.assign(time=[0.0, 0.0, 3.0] * 2))
    fails("sample 'a2': found a at time 0 again", cube_of, folder, read(folder), replicates="error")


def test_a_feature_called_other_stays_apart_from_the_pooled_ones(folder):
    write(folder, COUNTS.rename(columns={"x": "other"}))
    cube, *_ = cube_of(folder, read(folder), min_prevalence=0.8)
    assert cube["feature"].values.tolist() == ["other", "z", "all other"]


def test_a_folder_is_no_table(folder):
    (folder / "d").mkdir()
    fails("a folder", read, folder, "d")
    fails("a folder", read, folder, about="d")


def test_a_damaged_netcdf_file(folder):
    (folder / "x.nc").write_bytes(b"no data")
    fails("x.nc|not readable", read, folder, "x.nc")
    fails("x.nc|not readable", prepare_cube, folder / "x.nc", {})
    fails("y.nc|no such file", read_cube, folder / "y.nc")


def test_a_rank_needs_a_taxonomy(folder):
    fails("'Genus' without a taxonomy", read, folder, rank="Genus")


def taxonomy_of(folder, **ranks):
    pd.DataFrame(ranks, index=list("xyz")).to_csv(folder / "taxonomy.tsv", sep="\t")
    return folder / "taxonomy.tsv"


def test_taxa_of_one_name_in_different_parents_stay_apart(folder):
    taxonomy = taxonomy_of(folder, Family=["A", "B", "B"], Genus=["uncultured"] * 3)
    table = read(folder, taxonomy=taxonomy, rank="Genus")
    assert table["feature"].values.tolist() == ["A uncultured", "B uncultured"]
    np.testing.assert_array_equal(table["counts"].values[:, 0], COUNTS["x"])
    np.testing.assert_array_equal(table["counts"].values[:, 1], COUNTS["y"] + COUNTS["z"])
    taxonomy = taxonomy_of(folder, Order=["O", "P", "P"], Family=["A", "A", "B"], Genus=[""] * 3)
    table = read(folder, taxonomy=taxonomy, rank="Genus")
    assert table["feature"].values.tolist() == [
        "O A unclassified",
        "P A unclassified",
        "B unclassified",
    ]


def test_a_feature_twice_in_the_taxonomy(folder):
    taxonomy = taxonomy_of(folder, Genus=["g", "g", "h"])
    taxonomy.write_text(taxonomy.read_text() + "z\tq\n")
    fails("feature 'z'|a second row", read, folder, taxonomy=taxonomy, rank="Genus")


def test_ranks_are_found_whatever_their_case(folder):
    taxonomy = taxonomy_of(folder, domain=["D"] * 3, family=["A", "A", "B"])
    table = read(folder, taxonomy=taxonomy, rank="Family")
    assert table["feature"].values.tolist() == ["A", "B"]
    assert read(folder, taxonomy=taxonomy, rank="Kingdom")["feature"].values.tolist() == ["D"]


def test_a_taxon_may_be_called_na(folder):
    write(folder, COUNTS.rename(columns={"y": "NA"}))
    assert read(folder)["feature"].values.tolist() == ["x", "NA", "z"]
    COUNTS.rename(columns={"y": "NA"}).T.to_csv(folder / "t.tsv", sep="\t", index_label="taxon")
    np.testing.assert_array_equal(read(folder, "t.tsv").sel(feature="NA")["counts"], COUNTS["y"])


# ---- metadata


def test_values_to_keep_are_compared_as_they_are_meant(folder):
    write(folder, about=ABOUT.assign(batch=[1, 1, 1, 2, 2, None], late=[True] * 3 + [False] * 3))
    for keep in ({"batch": 1}, {"batch": 1.0}, {"late": True}):
        assert read(folder, keep=keep)["sample"].values.tolist() == ["a1", "a2", "a3"]
    assert read(folder, keep={"batch": [1, 2]}).sizes["sample"] == 5
    fails("column batch|no sample with 3|1.0, 2.0", read, folder, keep={"batch": 3})


def test_names_of_series_are_text(folder):
    about = ABOUT.assign(series=["01", "01", "01", "1", "1", "1"])
    write(folder, about=about)
    cube, _, _ = cube_of(folder, read(folder))
    assert cube["series"].values.tolist() == ["01", "1"]


def test_faults_of_the_metadata_name_the_metadata(folder):
    write(folder, about=ABOUT.assign(time=[0, 1, "day two", 0, 1, 2]))
    fails("metadata.tsv, sample 'a3', column time", read, folder)


def test_a_prefix_is_known_when_the_layout_is_looked_for(folder):
    COUNTS.set_axis("s" + COUNTS.index).T.to_csv(folder / "t.tsv", sep="\t")
    table = read(folder, "t.tsv", id_prefix="s")
    assert table["sample"].values.tolist() == list(COUNTS.index)


def test_times_of_a_netcdf_table_stay_numbers(folder):
    data = xr.Dataset(
        {"counts": (("sample", "feature"), COUNTS.to_numpy())},
        coords={
            "sample": list(COUNTS.index),
            "feature": list(COUNTS.columns),
            "series": ("sample", list(ABOUT["series"])),
            "time": ("sample", ABOUT["time"].to_numpy(), {"units": "days since 2000-01-01"}),
        },
    )
    data.to_netcdf(folder / "t.nc")
    table = read(folder, "t.nc", None)
    np.testing.assert_array_equal(table["time"], ABOUT["time"])
    assert table.attrs["time_units"] == "days since 2000-01-01"


# ---- long tables


def long_table():
    long = COUNTS.rename_axis("sample_id").reset_index()
    return long.melt("sample_id", None, "feature", "count")


def test_a_long_table_beside_metadata(folder):
    long_table().to_csv(folder / "long.tsv", sep="\t", index=False)
    xr.testing.assert_equal(read(folder, "long.tsv"), read(folder))


def test_replicates_in_a_long_table_have_ids(folder):
    long = long_table().merge(ABOUT)
    again = long[long["sample_id"] == "a1"].assign(sample_id="a1bis")
    pd.concat([long, again]).to_csv(folder / "long.tsv", sep="\t", index=False)
    cube, _, report = cube_of(folder, read(folder, "long.tsv", None))
    assert report["merged"] == 1
    assert cube["counts"].sel(feature=list("xyz")).values[0, 0].tolist() == [10, 0, 14]


def test_a_sample_of_a_long_table_has_one_time(folder):
    long = long_table().merge(ABOUT)
    long.loc[7, "time"] = 99
    long.to_csv(folder / "long.tsv", sep="\t", index=False)
    fails("row 9, column time|99|'a2'|1.5", read, folder, "long.tsv", None)


# ---- samples to cube


def test_summed_replicates_of_a_constant_offset_are_two_samples(folder):
    counts = pd.concat([COUNTS, COUNTS.iloc[[0]].set_axis(["a1bis"])])
    about = pd.concat([ABOUT, pd.DataFrame([["a1bis", "a", 0.0]], columns=ABOUT.columns)])
    write(folder, counts, about)
    table = read(folder, offset="constant")
    for replicates, exposure in (("sum", 2), ("first", 1)):
        cube, _, _ = cube_of(folder, table, offset="constant", replicates=replicates)
        assert cube["exposure"].values[0].tolist() == [exposure, 1, 1]


def test_a_cube_is_made_from_a_table_in_memory(folder):
    table = read(folder)
    cube, dropped, report = make_cube(table, ALL)
    assert cube.sizes == {"series": 2, "step": 3, "feature": 3}
    assert list(dropped.columns) == ["what", "name", "action", "reason"]
    assert report["merged"] == 0


def test_settings_may_be_text():
    given = {"min_library": "1e3", "min_steps": "4", "features": "x, y", "base": "1981,2010"}
    ours = PrepareSettings.from_mapping(given)
    assert (ours.min_library, ours.min_steps) == (1000, 4)
    assert (ours.features, ours.base) == (("x", "y"), (1981, 2010))
    fails("features|quotes", PrepareSettings.from_mapping, {"features": [1, 2]})


# ---- ready cubes


def ready(tmp_path, cube):
    write_dataset(tmp_path / "c.nc", cube)
    return prepare_cube(tmp_path / "c.nc", {})


def test_steps_without_any_count_are_unobserved(tmp_path):
    cube = ready_cube().astype(float)
    cube = xr.concat([cube, cube], "step", join="override").assign_coords(step=np.arange(6))
    cube["counts"][0, 1] = np.nan
    ours, _, _ = ready(tmp_path, cube)
    assert ours["observed"].values.tolist() == [[1, 0, 1, 1, 1, 1], [1] * 6]
    assert (ours["counts"].values[0, 1] == -1).all() and np.isnan(ours["exposure"].values[0, 1])
    cube["counts"][0, 0, 0] = np.nan
    fails("series a, step 0, feature x|-1", ready, tmp_path, cube)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"exposure": (("series", "step"), [[1.0, np.inf, 1]] * 2)},
            "series a, step 1|exposure inf",
        ),
        ({"exposure": ("series", [1.0, 2.0])}, "variable exposure|dimensions series"),
        ({"covariates": (("series", "covariate"), [[1.0], [np.nan]])}, "series 'b'|nan"),
        ({"observed": (("series", "step"), [[1, 2, 1]] * 2)}, "observed|found 2|0 or 1"),
        ({"time": (("series", "step"), [["u", "v", "w"]] * 2)}, "variable time|numbers"),
    ],
)
def test_more_bad_cubes(tmp_path, change, words):
    fails(words, ready, tmp_path, ready_cube().assign(change))


def test_a_short_series_of_a_ready_cube_is_dropped(tmp_path):
    seen = (("series", "step"), np.array([[1, 0, 0], [1, 1, 1]], np.int8))
    cube, dropped, report = ready(tmp_path, ready_cube().assign(observed=seen))
    assert cube["series"].values.tolist() == ["b"]
    assert dropped["name"].tolist() == ["a"] and report["dropped"] == 1


def test_features_that_are_always_0_are_in_the_table_of_what_was_dropped(tmp_path):
    cube = ready_cube()
    cube["counts"][:, :, 1] = 0
    _, dropped, _ = ready(tmp_path, cube)
    assert dropped[["what", "name"]].to_numpy().tolist() == [["feature", "y"]]


@pytest.mark.parametrize("version", [2, 3])
def test_zeros_of_a_zarr_cube_whose_fill_value_is_0_stay_counts(tmp_path, version):
    cube = ready_cube()
    cube["time"] = (("series", "step"), [[0.0, 1, 2]] * 2, {"units": "days since 2000-01-01"})
    options = {"counts": {"_FillValue": 0}}
    cube.to_zarr(tmp_path / "c.zarr", zarr_format=version, encoding=options, consolidated=False)
    ours, _, _ = prepare_cube(tmp_path / "c.zarr", {})
    np.testing.assert_array_equal(ours["counts"], ready_cube()["counts"])
    assert ours["time"].values[0].tolist() == [0, 1, 2]


# ---- event days


@pytest.mark.parametrize("kind", ["f4", "f8"])
@pytest.mark.parametrize("millimetres", [0.1, 0.2, 1, 2.5, 3, 7, 10, 20, 25, 50])
@pytest.mark.parametrize(("units", "divisor"), [("kg m-2 s-1", 86400), ("m", 1000), ("mm", 1)])
def test_rain_of_exactly_the_threshold(tmp_path, kind, millimetres, units, divisor):
    """A value stored as near as its type allows to the threshold is the threshold."""
    data = station(np.full(31, 1.0), days("2001-01-01", 31), units=units)
    data["pr"] = data["pr"].copy(data=np.full(31, millimetres / divisor)).astype(kind)
    data["pr"].attrs["units"] = units
    at_least = WET | {"threshold": millimetres}
    above = at_least | {"name": "above", "op": ">"}
    assert events(tmp_path, data, at_least, above)["counts"].values.tolist() == [[31, 0]]


@pytest.mark.parametrize("kind", ["f4", "f8"])
@pytest.mark.parametrize("celsius", [0, 0.1, 20, 25, -10.3])
def test_kelvin_of_exactly_the_threshold(tmp_path, kind, celsius):
    kelvin = float(f"{celsius + 273.15:.2f}")
    data = station(np.full(31, kelvin), days("2001-01-01", 31), "tasmin", "K")
    data["tasmin"] = data["tasmin"].astype(kind)
    below = FROST | {"threshold": celsius}
    not_above = below | {"name": "not_above", "op": "<="}
    assert events(tmp_path, data, below, not_above)["counts"].values.tolist() == [[0, 31]]


@pytest.mark.parametrize(
    ("value", "name", "units", "event"),
    [
        (-9999, "pr", "mm day-1", WET),
        (1e20, "pr", "kg m-2 s-1", WET),
        (280, "tasmin", "degC", FROST),
        (np.inf, "pr", "mm day-1", WET),
    ],
)
def test_values_that_no_weather_has_are_refused(tmp_path, value, name, units, event):
    data = station(np.zeros(60) + 250 * (units == "K"), days("2001-01-01", 60), name, units)
    data[name][40] = value
    fails("time 2001-02-10|_FillValue", events, tmp_path, data, event)


def test_daily_zarr_whose_fill_value_is_0(tmp_path):
    data = station(np.zeros(60), days("2001-01-01", 60))
    options = {"pr": {"_FillValue": 0.0}}
    data.to_zarr(tmp_path / "d.zarr", zarr_format=2, encoding=options)
    fails("variable pr|fill value 0", read_events, [str(tmp_path / "d.zarr")], {}, [WET])


@pytest.mark.parametrize("freq", ["ME", "QE", "YE", "W", "h", "0D", "5"])
def test_periods_that_do_not_begin_at_a_first_day_are_refused(tmp_path, freq):
    data = station(np.ones(90), days("2001-01-01", 90))
    fails("counts.prepare.freq|MS", events, tmp_path, data, freq=freq, series_by="location")


def test_monthly_means_are_no_days(tmp_path):
    data = station(np.ones(24), xr.date_range("2001-01-01", periods=24, freq="MS"))
    fails("31 days apart|daily", events, tmp_path, data)


def two_sites():
    rng = np.random.default_rng(2)
    values = rng.gamma(0.5, 6, (1095, 2))
    values[:365, 1] = np.nan
    return xr.Dataset(
        {"pr": (("time", "site"), values, {"units": "mm day-1"})},
        {"time": days("1999-01-01", 1095, "noleap"), "site": ["p", "q"]},
    )


TOP = {"name": "top", "var": "pr", "op": ">", "percentile": 90, "units": "mm day-1"}


def test_a_place_without_a_base_period_has_no_event_days_and_no_exposure(tmp_path):
    table = events(tmp_path, two_sites(), TOP, base=[1999, 1999], series_by="location")
    assert np.unique(table["series"]).tolist() == ["p"]
    assert "1 of 2" in table.attrs["note"] and "q" in table.attrs["note"]


def test_a_base_period_that_the_file_does_not_cover(tmp_path):
    fails("1999..2001|1961..1999", events, tmp_path, two_sites(), TOP, base=[1961, 1999])


@pytest.mark.parametrize("units", ["kg m-2 s-1", "mm day-1"])
@pytest.mark.parametrize("wet", [False, True])
def test_percentiles_equal_numpy_in_any_unit(tmp_path, units, wet):
    data = two_sites().isel(site=[0])
    factor = 86400 if units == "kg m-2 s-1" else 1
    values = data["pr"].values[:, 0]
    data["pr"] = (data["pr"] / factor).assign_attrs(units=units)
    table = events(tmp_path, data, TOP | {"wet_only": wet}, base=[2000, 2001])
    base = values[365:]
    threshold = np.percentile(base[base >= 1] if wet else base, 90)
    assert int(table["counts"].sum()) == np.sum(values > threshold) > 10


def field(days_=120):
    values = np.full((days_, 3, 2), 2.0)
    values[:, 0, 0] = np.nan  # ocean
    return xr.Dataset(
        {"pr": (("time", "lat", "lon"), values, {"units": "mm day-1"})},
        {"time": days("2001-01-01", days_), "lat": [0.0, 40, 60], "lon": [0.0, 1]},
    )


def test_cells_that_never_have_a_value_are_left_out(tmp_path):
    for by, size in (("year", 5), ("location", 1)):
        table = events(tmp_path, field(), series_by=by)
        assert (table["observed"] == 1).all()
        assert table.sizes["feature"] == size
        assert "1 of 6" in table.attrs["note"]
        write_dataset(tmp_path / "events.nc", table)
        _, _, report = prepare_cube(tmp_path / "events.nc", {})
        assert any("1 of 6" in w for w in report["warnings"])
    table = events(tmp_path, field(), regions={"all": [-1, 61, -1, 2]})
    assert (table["observed"] == 1).all()
    assert table["exposure"].values.tolist() == [31 * 5, 28 * 5, 31 * 5, 30 * 5]
    empty = field().assign(pr=(field()["pr"] * np.nan).assign_attrs(units="mm day-1"))
    fails("no place with a valid day", events, tmp_path, empty)


def test_area_weights_change_exposure_and_not_counts(tmp_path):
    data = field()
    data["pr"][:10, 2, 1] = np.nan  # ten January days at 60 north
    regions = {"all": [-1, 61, -1, 2]}
    plain = events(tmp_path, data, regions=regions, min_valid=0.5)
    area = events(tmp_path, data, regions=regions, min_valid=0.5, cell_weights="area")
    np.testing.assert_array_equal(area["counts"], plain["counts"])
    assert plain["exposure"].values[0] == 31 * 5 - 10
    # cosines: one cell at the equator, two at 40 and two at 60 degrees
    mean = (1 + 2 * np.cos(np.deg2rad(40)) + 2 * 0.5) / 5
    np.testing.assert_allclose(area["exposure"], [31 * 5 - 10 * 0.5 / mean, 140, 155, 150])


def test_dimensions_that_are_no_places(tmp_path):
    data = field()
    fails("member", events, tmp_path, xr.concat([data, data], "member"))
    lifted = data.expand_dims(height=[2.0])
    xr.testing.assert_equal(events(tmp_path, lifted), events(tmp_path, data))
    fails("regions|a grid", events, tmp_path, two_sites(), regions={"a": [0, 1, 0, 1]})


@pytest.mark.parametrize(
    ("change", "words"),
    [({"op": "=>"}, "'=>'|>="), ({"percentile": 90}, "both threshold and percentile")],
)
def test_events_that_say_too_much_or_nothing(tmp_path, change, words):
    data = station(np.ones(90), days("2001-01-01", 90))
    fails(words, events, tmp_path, data, WET | change)
    nothing = {k: v for k, v in WET.items() if k != "threshold"}
    fails("no threshold", events, tmp_path, data, nothing)
    fails("files|nothing", read_events, [], {}, [WET])
