"""Every row of the table of data sets becomes a cube with the settings that it names."""

from pathlib import Path

import numpy as np
import pytest

from headwater.core.config import load_schema, with_defaults
from headwater.core.errors import InputError
from headwater.core.io import write_dataset
from headwater.counts.catalogue import read_catalogue, settings_of
from headwater.counts.climate import read_events
from headwater.counts.cube import prepare_cube
from headwater.counts.simulate import SCENARIOS
from headwater.counts.tables import read_sample_table
from headwater.counts.weather import embedded_weather

ROOT = Path(__file__).parents[3]
ROWS = read_catalogue([ROOT / "config/counts/datasets.tsv"])
SCHEMA = load_schema(ROOT / "workflow/schemas/counts.schema.yaml")
PART = with_defaults({"datasets": list(ROWS)}, SCHEMA)
# series, steps and features after filtering
SHAPES = {
    "seattle_weather": (4, 12, None),
    "gnotobiotic": (5, 26, 13),
    "gnotobiotic_biom": (5, 26, 13),
    "artificial_gut_daily": (4, 17, None),
    "artificial_gut_hourly": (4, 121, None),
    "stations_ca": (63, 12, None),  # Amos has valid records in 2 months of 2013: under 3
    "snow_grid": (20, 12, None),
    "sim_two_regimes": (100, 40, 12),
    "sim_easy_one_regime": (100, 40, 12),
    "sim_paper_moderate_coherence": (150, 20, 12),
    "sim_paper_high_coherence": (150, 20, 12),
    "sim_paper_low_excitation": (150, 20, 12),
}


def source(row, settings, folder, mirror):
    """Write what the cube is prepared from, as the rule scripts do."""
    files = [str(mirror / f) for f in row.files]
    if row.reader == "cube":
        return files[0]
    if row.reader == "table":
        others = [n and mirror / n for n in (row.metadata, row.taxonomy)]
        table = read_sample_table(files[0], *(o or None for o in others), settings["prepare"])
    else:
        if row.reader == "weather":
            files = [str(folder / "weather.nc")]
            write_dataset(files[0], embedded_weather())
        table = read_events(files, settings["prepare"], settings["events"])
    write_dataset(folder / "table.nc", table)
    return folder / "table.nc"


def test_rows_are_the_ones_that_have_a_known_shape_and_the_scenarios():
    simulations = {n for n, r in ROWS.items() if r.reader == "simulation"}
    assert set(ROWS) == set(SHAPES) | simulations
    for name in simulations:
        settings = settings_of(ROWS[name], PART, SCHEMA)
        assert settings["simulation"] in SCENARIOS


def test_tables_of_other_programs_are_read(tmp_path):
    text = "dataset\treader\r\n\r\nwarm\tweather\r\n"
    path = tmp_path / "t.tsv"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert list(read_catalogue([path])) == ["warm"]
    path.write_bytes("dataset\treader\ttitle\nw\tweather\tWärme\n".encode("latin-1"))
    with pytest.raises(InputError, match="no text in UTF-8"):
        read_catalogue([path])
    path.write_text("dataset\treader\n\n\nw\twether\n")
    with pytest.raises(InputError, match="row 4, column reader"):
        read_catalogue([path])


def test_the_configuration_of_one_data_set_goes_before_its_row():
    mark = {"time": 28.0, "label": "C. difficile"}
    part = {**PART, "per_dataset": {"gnotobiotic": {"marks": [mark], "select": {"d": [2]}}}}
    own, other = (settings_of(ROWS[n], part, SCHEMA) for n in ("gnotobiotic", "stations_ca"))
    assert own["marks"] == [mark] and other["marks"] == []
    assert own["select"]["d"] == [2] and own["select"]["C"] == [1, 2]


@pytest.mark.parametrize("name", SHAPES)
def test_a_row_becomes_a_cube(name, tmp_path, mirror):
    row = ROWS[name]
    settings = settings_of(row, PART, SCHEMA)
    cube, _, report = prepare_cube(source(row, settings, tmp_path, mirror), settings["prepare"])
    series, steps, features = SHAPES[name]
    assert (cube.sizes["series"], cube.sizes["step"]) == (series, steps)
    assert features is None or cube.sizes["feature"] == features
    assert isinstance(report["warnings"], list)
    seen = cube["observed"].values == 1
    assert cube["counts"].dtype == np.int32
    assert (cube["counts"].values[seen] >= 0).all() and (cube["counts"].values[~seen] == -1).all()
    assert (cube["exposure"].values[seen] > 0).all()
    assert np.isnan(cube["exposure"].values[~seen]).all()
    assert len(cube.attrs["headwater_sha256"]) == 64
    if settings["truth"]:
        assert {"true_mixing", "true_sources"} <= set(cube.data_vars)
    written = tmp_path / "cube.nc"
    write_dataset(written, cube)
    again, _, _ = prepare_cube(written, {})
    assert again.identical(cube)  # nothing left to complete or drop
    folds = settings["split"]["folds"]
    assert isinstance(folds, int) and 2 <= folds <= series
