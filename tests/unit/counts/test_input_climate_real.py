"""Event days of real daily data against totals computed by others."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from headwater.counts.climate import read_events

STATION_EVENTS = [
    {"name": "wet_days", "var": "pr", "op": ">=", "threshold": 1, "units": "mm day-1"},
    {"name": "heavy_rain_days", "var": "pr", "op": ">=", "threshold": 10, "units": "mm day-1"},
    {"name": "very_heavy_rain_days", "var": "pr", "op": ">=", "threshold": 20, "units": "mm day-1"},
    {"name": "frost_max_days", "var": "tasmax", "op": "<", "threshold": 0, "units": "degC"},
    {"name": "warm_days", "var": "tasmax", "op": ">=", "threshold": 20, "units": "degC"},
    {"name": "hot_days", "var": "tasmax", "op": ">=", "threshold": 25, "units": "degC"},
]
SNOW = [{"name": "snow_days", "var": "prsn", "op": ">=", "threshold": 1, "units": "mm day-1"}]
# counted by others
SNOW_BY_MONTH = [5108, 4537, 3703, 1594, 530, 137, 7, 1, 132, 1774, 4106, 5227]


@pytest.fixture(scope="module")
def grid(mirror):
    return mirror / "counts/climate_grid"


@pytest.fixture(scope="module")
def stations(mirror):
    return mirror / "counts/climate_stations"


def test_snow_days_of_the_grid_have_the_published_totals(grid):
    table = read_events([str(grid / "prsn_day_canesm5_1991-2010.nc")], {"series_by": "year"}, SNOW)
    assert int(table["counts"].sum()) == 26856
    by_month = table["counts"].sum("feature").groupby("time").sum()
    np.testing.assert_array_equal(by_month.values, SNOW_BY_MONTH)
    days = table["exposure"].groupby("series").sum()
    assert (days == 365).all() and days.size == 20  # noleap
    assert (table["observed"] == 1).all()


def test_snow_days_of_every_cell_equal_the_expected_file(grid):
    table = read_events(
        [str(grid / "prsn_day_canesm5_1991-2010.nc")], {"series_by": "location"}, SNOW
    )
    with xr.open_dataset(grid / "snow_days_monthly_expected.nc") as expected:
        wanted = expected["snow_days"].transpose("lat", "lon", "year", "month").values
    # places are stacked latitude first, periods run from January 1991
    np.testing.assert_array_equal(table["counts"].values.ravel(), wanted.ravel())


def test_station_events_equal_all_13824_rows(stations):
    expected = pd.read_csv(stations / "events_monthly.csv")
    assert len(expected) == 13824
    table = read_events([str(stations / "ahccd_daily.nc")], {"series_by": "year"}, STATION_EVENTS)
    wide = pd.DataFrame(
        table["counts"].values,
        index=pd.MultiIndex.from_arrays(
            [table["series"].values.astype(int), table["time"].values.astype(int)],
            names=["year", "month"],
        ),
        columns=table["feature"].values,
    )
    assert wide.size == 13824
    expected["feature"] = expected["event"] + " " + expected["location"]
    wanted = expected.pivot(index=["year", "month"], columns="feature", values="count")
    pd.testing.assert_frame_equal(
        wide[wanted.columns].sort_index(), wanted, check_dtype=False, check_names=False
    )


def test_valid_days_of_stations_equal_all_rows(stations):
    expected = pd.read_csv(stations / "events_monthly.csv")
    for event in STATION_EVENTS:
        table = read_events([str(stations / "ahccd_daily.nc")], {"series_by": "location"}, [event])
        wanted = expected[expected["event"] == event["name"]].sort_values(["year", "month"])
        for place, rows in wanted.groupby("location"):
            here = table["series"].values == place
            np.testing.assert_array_equal(table["exposure"].values[here], rows["valid_days"])
            share = rows["valid_days"].to_numpy() / rows["days"].to_numpy()
            np.testing.assert_array_equal(table["observed"].values[here] == 1, share >= 0.8)
            np.testing.assert_array_equal(table["counts"].values[here, 0], rows["count"].to_numpy())


def test_missing_days_of_amos_are_no_exposure(stations):
    for event, missing in ((STATION_EVENTS[0], 682), (STATION_EVENTS[3], 1101)):
        table = read_events([str(stations / "ahccd_daily.nc")], {"series_by": "location"}, [event])
        here = table["series"].values == "Amos"
        assert 64 * 365 - table["exposure"].values[here].sum() == missing
