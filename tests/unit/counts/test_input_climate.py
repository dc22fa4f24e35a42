"""Event days: calendars, gaps, units, percentiles, regions and grids larger than memory."""

import cftime
import numpy as np
import pytest
import xarray as xr
from clear_error import fails

from headwater.core.io import write_dataset
from headwater.counts import climate, daily
from headwater.counts.climate import read_events
from headwater.counts.cube import prepare_cube
from headwater.counts.regions import box_mask
from headwater.counts.weather import embedded_weather

WET = {"name": "wet_days", "var": "pr", "op": ">=", "threshold": 1, "units": "mm day-1"}
FROST = {"name": "frost_days", "var": "tasmin", "op": "<", "threshold": 0, "units": "degC"}


def days(first, count, calendar="standard"):
    return xr.date_range(first, periods=count, calendar=calendar, use_cftime=calendar != "standard")


def station(values, time, name="pr", units="mm day-1"):
    return xr.Dataset({name: ("time", np.asarray(values, float), {"units": units})}, {"time": time})


def events(folder, data, *catalogue, **settings):
    data.to_netcdf(folder / "daily.nc")
    return read_events([str(folder / "daily.nc")], settings, catalogue or [WET])


def observed(table):
    return {
        (s, int(t)): bool(o)
        for s, t, o in zip(
            table["series"].values, table["time"].values, table["observed"].values, strict=True
        )
    }


@pytest.mark.parametrize(
    ("calendar", "february"), [("360_day", 30), ("noleap", 28), ("standard", 29), ("all_leap", 29)]
)
def test_days_are_counted_in_the_calendar_of_the_file(tmp_path, calendar, february):
    length = {"360_day": 360, "noleap": 365, "standard": 366, "all_leap": 366}[calendar]
    table = events(tmp_path, station(np.full(length, 2), days("2000-01-01", length, calendar)))
    assert table.sizes["sample"] == 12
    assert table["exposure"].values[1] == february
    assert table["counts"].values[1, 0] == february
    assert table["counts"].sum() == length
    assert (table["observed"] == 1).all()


def test_a_month_or_year_of_empty_days_is_unobserved(tmp_path):
    data = station(np.full(1096, 2.0), days("2001-01-01", 1096))
    month = data["time"].dt.month
    year = data["time"].dt.year
    data["pr"] = data["pr"].where(~((year == 2001) & (month == 3)) & (year != 2002))
    seen = observed(events(tmp_path, data))
    assert not seen["2001", 3] and seen["2001", 4]
    assert not any(seen["2002", m] for m in range(1, 13))
    assert all(seen["2003", m] for m in range(1, 13))


def test_periods_without_rows_are_unobserved(tmp_path):
    data = station(np.full(1400, 2.0), days("2001-01-01", 1400))  # ends mid-month in 2004
    year, month = data["time"].dt.year, data["time"].dt.month
    data = data.isel(time=((year != 2002) & ~((year == 2001) & (month == 7))).values)
    table = events(tmp_path, data)
    seen = observed(table)
    assert not seen["2001", 7] and not seen["2002", 1] and not seen["2002", 12]
    assert seen["2001", 6] and seen["2004", 10] == ((1400 - 1369) / 31 >= 0.8)
    write_dataset(tmp_path / "events.nc", table)
    cube, _, _ = prepare_cube(tmp_path / "events.nc", {})
    assert cube["series"].values.tolist() == ["2001", "2003", "2004"]
    assert (cube["counts"].sel(series="2004").values[10:] == -1).all()  # no rows
    assert np.isnan(cube["exposure"].sel(series="2004").values[10:]).all()


def test_a_month_is_observed_from_the_share_of_valid_days_on(tmp_path):
    time = days("2001-01-01", 365)
    data = station(np.full(365, 2.0), time)
    position = data["time"].dt.day.values
    # February: 23 of 28 valid (0.821); April: 24 of 30 (0.8 exactly); June: 23 of 30 (0.767)
    last = {2: 23, 4: 24, 6: 23}
    month = data["time"].dt.month.values
    keep = np.array([position[i] <= last.get(month[i], 31) for i in range(365)])
    data["pr"] = data["pr"].where(xr.DataArray(keep, dims="time"))
    table = events(tmp_path, data)
    seen = observed(table)
    assert (seen["2001", 2], seen["2001", 4], seen["2001", 6]) == (True, True, False)
    assert table["counts"].values[1, 0] == table["exposure"].values[1] == 23  # never rescaled
    assert observed(events(tmp_path, data, min_valid=0.75))["2001", 6]


@pytest.mark.parametrize(
    ("name", "units", "event", "factor"),
    [
        ("pr", "kg m-2 s-1", WET, 1 / 86400),
        ("pr", "mm s-1", WET, 1 / 86400),
        ("pr", "m", WET, 1e-3),
        ("pr", "mm/day", WET, 1),
        ("tasmin", "degC", FROST, 1),
        ("tasmin", "K", FROST, None),
    ],
)
def test_units_are_converted(tmp_path, name, units, event, factor):
    values = np.resize([-3.0, 0.5, 4.0], 90)
    stored = values + 273.15 if factor is None else values * factor
    table = events(tmp_path, station(stored, days("2001-01-01", 90), name, units), event)
    assert int(table["counts"].sum()) == 30


@pytest.mark.parametrize("units", ["", "inch", "K", "mm h-1"])
def test_other_units_are_refused_with_the_way_out(tmp_path, units):
    data = station(np.zeros(90), days("2001-01-01", 90), units=units)
    if not units:
        del data["pr"].attrs["units"]
    fails(f"variable pr|{units}|mm day-1|kg m-2 s-1", events, tmp_path, data)


def test_at_least_is_not_more_than(tmp_path):
    data = station(np.resize([0.999, 1.0, 1.001], 90), days("2001-01-01", 90))
    above = WET | {"name": "above", "op": ">"}
    table = events(tmp_path, data, WET, above)
    assert table["counts"].sum("sample").values.tolist() == [60, 30]


def test_percentiles_of_the_base_period_by_sorting(tmp_path):
    rng = np.random.default_rng(5)
    time = days("1999-01-01", 3 * 365, "noleap")
    data = xr.Dataset(
        {"pr": (("time", "site"), rng.gamma(0.5, 6, (1095, 2)), {"units": "mm day-1"})},
        {"time": time, "site": ["p", "q"]},
    )
    data["pr"][7:40, 0] = np.nan
    event = {"name": "top", "var": "pr", "op": ">", "percentile": 90, "units": "mm day-1"}
    wet = event | {"name": "top_wet", "wet_only": True}
    table = events(tmp_path, data, event, wet, base=[1999, 2000], series_by="year")
    values = data["pr"].values
    for j, name in enumerate(("top p", "top q", "top_wet p", "top_wet q")):
        base = values[:730, j % 2]
        base = np.sort(base[~np.isnan(base)])
        if j > 1:
            base = base[base >= 1]
        rank = 0.9 * (len(base) - 1)  # linear between order statistics
        low = int(rank)
        threshold = base[low] + (rank - low) * (base[low + 1] - base[low])
        wanted = np.sum(values[:, j % 2] > threshold)
        assert int(table["counts"].sel(feature=name).sum()) == wanted
    fails(
        "event top|base period 1961..1990|1999..2001",
        events,
        tmp_path,
        data,
        event,
        base=[1961, 1990],
    )


def grid(seed=0, n=59, units="mm day-1"):
    rng = np.random.default_rng(seed)
    lat, lon = np.array([-10.0, 0, 10, 20]), np.arange(0.0, 360, 45)
    values = rng.gamma(0.4, 4, (n, 4, 8))
    values[rng.random(values.shape) < 0.05] = np.nan
    return xr.Dataset(
        {"pr": (("time", "lat", "lon"), values, {"units": units})},
        {"time": days("2001-01-01", n, "noleap"), "lat": lat, "lon": lon},
    )


def test_regions_pool_days_and_cell_days(tmp_path):
    data = grid()
    data["land"] = (("lat", "lon"), (np.arange(32).reshape(4, 8) % 3 == 0).astype(float))
    regions = {"west": [0, 20, -100, 50], "mask": "land"}
    table = events(tmp_path, data, regions=regions, series_by="location", min_valid=0.5)
    values = data["pr"].values
    # longitudes -100..50 are 270, 315, 0 and 45; latitudes 0..20 the last three
    inside = {
        "west": np.isin(data["lon"].values, [270, 315, 0, 45])[None]
        & (data["lat"].values >= 0)[:, None],
        "mask": data["land"].values == 1,
    }
    for name, cells in inside.items():
        here = table["series"].values == name
        for k, part in enumerate((slice(0, 31), slice(31, 59))):
            block = values[part][:, cells]
            assert table["counts"].values[here, 0][k] == np.sum(block >= 1)
            assert table["exposure"].values[here][k] == np.sum(~np.isnan(block))
    # fully valid needs every cell-day of the calendar
    share = np.mean(~np.isnan(values[:31][:, inside["west"]]))
    limit = float(np.nextafter(share, 1))
    strict = events(tmp_path, data, regions=regions, series_by="location", min_valid=limit)
    assert not observed(strict)["west", 0]
    fails("region 'arctic'|no cell", events, tmp_path, data, regions={"arctic": [80, 90, 0, 360]})
    fails("regions.sea|'lnd'|'land'", events, tmp_path, data, regions={"sea": "lnd"})
    fails("regions.sea|south,north", events, tmp_path, data, regions={"sea": [1, 2, 3]})
    fails("regions.a|Set prepare regions.a=SOUTH", events, tmp_path, grid(), regions={"a": "sea"})


@pytest.mark.parametrize(
    ("box", "wanted"),
    [
        ([-90, 90, 170, -170], [180]),
        ([-90, 90, -10, 10], [0]),
        ([-90, 90, 350, 10], [0]),
        ([-90, 90, 0, 360], [0, 90, 180, 270]),
        ([-90, 90, -180, 180], [0, 90, 180, 270]),
        ([-90, 90, 90, 90], [90]),
    ],
)
def test_boxes_wrap_around(box, wanted):
    for shift in (0, -360):
        lon = np.array([0.0, 90, 180, 270])
        lon = np.where(lon >= 180, lon + shift, lon)
        inside = box_mask(np.array([0.0]), lon, box)[0]
        assert (lon[inside] % 360).tolist() == wanted


@pytest.mark.parametrize("block", [1, 4000, 9000])
def test_blocks_do_not_change_counts(tmp_path, monkeypatch, block):
    data = grid(n=150)
    percentile = {"name": "top", "var": "pr", "op": ">", "percentile": 80, "units": "mm day-1"}
    settings = {"base": [2001, 2001], "series_by": "location"}
    whole = events(tmp_path, data, WET, percentile, **settings)
    monkeypatch.setattr(climate, "BLOCK_BYTES", block)
    monkeypatch.setattr(daily, "BLOCK_BYTES", block)
    xr.testing.assert_identical(events(tmp_path, data, WET, percentile, **settings), whole)


@pytest.mark.slow
def test_memory_is_bounded_by_a_block_and_not_by_the_grid(tmp_path):
    """A field of 1.2 GB is counted in under 600 MB of address space beyond the start."""
    import subprocess
    import sys

    import netCDF4

    path = tmp_path / "large.nc"
    shape = (3650, 200, 200)
    with netCDF4.Dataset(path, "w") as file:
        for name, size in zip(("time", "lat", "lon"), shape, strict=True):
            file.createDimension(name, size)
            file.createVariable(name, "f8", (name,))[:] = np.arange(size) * 0.5 ** (name != "time")
        file["time"].setncatts({"units": "days since 2001-01-01", "calendar": "noleap"})
        options = {"zlib": True, "complevel": 1, "chunksizes": (73, 200, 200)}
        pr = file.createVariable("pr", "f8", ("time", "lat", "lon"), **options)
        pr.units = "mm day-1"
        for t in range(0, 3650, 73):
            pr[t : t + 73] = 2.0
    code = (
        "import resource, sys; from headwater.counts.climate import read_events\n"
        "import dask, netCDF4\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "e = dict(name='w', var='pr', op='>=', threshold=1, units='mm day-1')\n"
        "p = dict(name='p', var='pr', op='>', percentile=90, units='mm day-1')\n"
        "o = dict(regions={'all': [0, 100, 0, 100]}, base=[2001, 2010], series_by='location')\n"
        "t = read_events([sys.argv[1]], o, [e, p])\n"
        "assert t['counts'].sum('sample').values.tolist() == [3650 * 40000, 0]\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 600_000


def test_several_years_and_several_variables(tmp_path):
    data = grid(n=365).merge(
        grid(1, 365, "K")["pr"].rename("tasmin").assign_attrs(units="K") + 270,
        combine_attrs="override",
    )
    data["tasmin"].attrs["units"] = "K"
    whole = events(tmp_path, data, WET, FROST, series_by="location")
    names = []
    for variable in ("pr", "tasmin"):
        for k, part in enumerate((slice(100, None), slice(0, 100))):  # not in order
            data[[variable]].isel(time=part).to_netcdf(tmp_path / f"{variable}{k}.nc")
            names.append(str(tmp_path / f"{variable}{k}.nc"))
    parts = read_events(names, {"series_by": "location"}, [WET, FROST])
    xr.testing.assert_equal(parts, whole)
    data[["pr"]].isel(lat=[0, 1], time=slice(0, 100)).to_netcdf(tmp_path / "pr1.nc")
    fails("do not fit together", read_events, names, {}, [WET, FROST])


def test_station_records_by_year_are_events_times_places(tmp_path):
    values = np.full((365, 2), 2.0)
    data = xr.Dataset(
        {"pr": (("time", "site"), values, {"units": "mm day-1"})},
        {"time": days("2001-01-01", 365), "site": ["p", "q"]},
    )
    table = events(tmp_path, data)
    assert table["feature"].values.tolist() == ["wet_days p", "wet_days q"]
    assert table.sizes["sample"] == 12
    many = xr.concat([data.assign_coords(site=[f"p{k}", f"q{k}"]) for k in range(3)], "site")
    table = events(tmp_path, many)
    assert table["feature"].values.tolist() == ["wet_days"]  # over five places: a series each
    assert table.sizes["sample"] == 72


def test_times_that_are_not_daily_dates(tmp_path):
    fails(
        "second value on this day",
        events,
        tmp_path,
        station(np.ones(48), xr.date_range("2001-01-01", periods=48, freq="h")),
    )
    fails("time|without units", events, tmp_path, station(np.ones(9), np.arange(9)))
    (tmp_path / "x.nc").write_text("no data")
    fails("x.nc|not readable", read_events, [str(tmp_path / "x.nc")], {}, [WET])
    fails("y.nc|no such file", read_events, [str(tmp_path / "y.nc")], {}, [WET])


def test_steps_shorter_than_a_month_need_series_by_location(tmp_path):
    data = station(np.ones(365), days("2001-01-01", 365))
    fails("freq|series_by=location", events, tmp_path, data, freq="7D", series_by="year")
    table = events(tmp_path, data, freq="7D", series_by="location")
    assert table["exposure"].values[:52].tolist() == [7] * 52


def test_fine_cells_and_equal_names(tmp_path):
    data = grid().assign_coords(lat=50 + 0.001 * np.arange(4))
    table = events(tmp_path, data, series_by="location")
    assert len(np.unique(table["series"])) == 32
    twice = xr.concat([station(np.ones(90), days("2001-01-01", 90))] * 2, "site")
    table = events(tmp_path, twice.assign_coords(site=["p", "p"]), series_by="location")
    write_dataset(tmp_path / "events.nc", table)
    fails("3 samples of the same place", prepare_cube, tmp_path / "events.nc", {})


def test_frequencies(tmp_path):
    data = station(np.ones(360 * 3), days("2001-01-01", 360 * 3, "360_day"))
    table = events(tmp_path, data, freq="QS-DEC")
    # January and February 2001 are two thirds of a season that began in December 2000
    assert table["exposure"].values.tolist() == [60, *[90] * 11, 30]
    assert observed(table)["2000", 12] is False
    fails("freq|'monthly'|MS", events, tmp_path, data, freq="monthly")


def test_unknown_events_and_variables(tmp_path):
    data = station(np.ones(90), days("2001-01-01", 90))
    fails("'wet_day'|did you mean 'wet_days'", events, tmp_path, data, events=["wet_day"])
    fails("tasmin|pr", events, tmp_path, data, WET, FROST, events=["frost_days"])
    renamed = data.rename(pr="rain")
    fails("rain|variables.NAME", events, tmp_path, renamed)
    assert events(tmp_path, renamed, variables={"pr": "rain"})["counts"].sum() == 90


def test_frequent_events_are_called_loose(tmp_path):
    table = events(tmp_path, station(np.resize([2.0, 0], 1095), days("2001-01-01", 1095)))
    write_dataset(tmp_path / "events.nc", table)
    _, _, report = prepare_cube(tmp_path / "events.nc", {})
    assert any("Poisson" in w and "wet_days" in w for w in report["warnings"])


def test_embedded_weather_is_four_years_of_days_and_counts_add_up(tmp_path):
    weather = embedded_weather()
    write_dataset(tmp_path / "weather.nc", weather)
    assert weather.sizes["time"] == 1461  # 2012 is a leap year
    table = read_events([str(tmp_path / "weather.nc")], {}, [WET])
    write_dataset(tmp_path / "events.nc", table)
    cube, _, _ = prepare_cube(tmp_path / "events.nc", {})
    assert cube["series"].values.tolist() == ["2012", "2013", "2014", "2015"]
    assert (cube.sizes["step"], float(cube["exposure"].sum())) == (12, 1461)
    assert int(cube["counts"].sum()) == int((weather["pr"] >= 1).sum())


def test_days_of_a_calendar_that_numpy_does_not_have_are_found_by_date(tmp_path):
    """30 February exists in 360_day; its month is February."""
    data = station(np.zeros(360), days("2001-01-01", 360, "360_day"))
    data["pr"].loc[cftime.Datetime360Day(2001, 2, 30)] = 5
    table = events(tmp_path, data)
    assert table["counts"].values[:, 0].tolist() == [0, 1] + [0] * 10
