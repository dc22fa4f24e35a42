"""Count tables of samples: text (long or wide), BIOM v1 and v2.1, QIIME 2, NetCDF, Zarr.

All become one `sample table`: ``counts`` (sample, feature) with the coordinates ``series`` and
``time`` of each sample, ``exposure`` (reads of the sample over all features, before any filter)
and covariates. See counts.md §9.1.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headwater.core.errors import InputError

from .metadata import attach_metadata, read_metadata
from .settings import PrepareSettings
from .taxonomy import aggregate, read_taxonomy

MAX_UNPACKED = 4 * 2**30  # bytes of a table inside a QIIME 2 artifact
WHOLE = 1e-6  # a float this near to a whole number is one


def read_sample_table(
    counts: str | Path,
    metadata: str | Path | None,
    taxonomy: str | Path | None,
    settings: Mapping[str, Any],
) -> xr.Dataset:
    """Return the sample table of a data set.

    Raises
    ------
    InputError
        Naming file, row or column of the first fault (counts.md §13).
    """
    options = PrepareSettings.from_mapping(settings)
    about = None if metadata is None else read_metadata(metadata, options)
    path = Path(counts)
    if path.suffix in {".nc", ".zarr"}:
        table, about = _from_netcdf(path, options, about)
    elif options.orientation == "long" or (about is None and _looks_long(path, options)):
        table, about = _from_long(path, options)
    else:
        table = _wide(path, options, about)
    if about is None:
        raise InputError(
            path,
            "",
            "a table without metadata",
            f"a metadata file with columns {options.sample}, {options.series}, {options.time}",
            "Name it in the column metadata of the data set's row.",
        )
    check_counts(table, path)
    exposure = table.sum(axis=1)
    if taxonomy is not None:
        table = aggregate(table, read_taxonomy(taxonomy), options, taxonomy)
    return attach_metadata(table, exposure, about, options, path)


def check_counts(table: pd.DataFrame, path: Path) -> None:
    """Raise an `InputError` for what is no count; cast floats that are whole numbers.

    `table` is samples x features and is changed in place to int64.
    """
    if table.shape[0] == 0 or table.shape[1] == 0:
        raise InputError(path, "", "a table without samples or features", "counts")
    _check_names(table, path)
    values = table.to_numpy(dtype=float, na_value=np.nan)
    _first(np.isnan(values), table, values, path, "nothing", "a count in every cell")
    _first(values < 0, table, values, path, None, "counts of 0 or more")
    fraction = np.abs(values - np.rint(values)) > WHOLE
    if fraction.any():
        sums = values.sum(1)
        relative = np.allclose(sums, 1, atol=1e-3) or np.allclose(sums, 100, atol=0.1)
        hint = (
            "Rows sum to 1 or 100: these are relative abundances; raw counts are needed."
            if relative
            else "Give raw counts, not transformed ones."
        )
        _first(fraction, table, values, path, None, "whole numbers", hint)
    large = values > np.iinfo(np.int32).max
    _first(large, table, values, path, None, "counts below 2^31", "Thin or rescale the counts.")
    table[:] = np.rint(values).astype(np.int64)


def _check_names(table: pd.DataFrame, path: Path) -> None:
    for axis, what in ((table.index, "sample"), (table.columns, "feature")):
        if axis.has_duplicates:
            name = axis[axis.duplicated()][0]
            raise InputError(
                path, f"{what} {name!r}", f"a second {what} of this name", "each name once"
            )


def _first(
    bad: np.ndarray,
    table: pd.DataFrame,
    values: np.ndarray,
    path: Path,
    found: str | None,
    expected: str,
    hint: str = "",
) -> None:
    """Raise an error that names the first bad cell, if there is one."""
    if not bad.any():
        return
    i, k = np.argwhere(bad)[0]
    more = f" (and {int(bad.sum()) - 1} more)" if bad.sum() > 1 else ""
    text = found or f"{values[i, k]:.12g}"
    where = f"sample {table.index[i]!r}, feature {table.columns[k]!r}"
    raise InputError(path, where, text + more, expected, hint)


def _wide(path: Path, options: PrepareSettings, about: pd.DataFrame | None) -> pd.DataFrame:
    """Return samples x features from a wide text table, BIOM or QIIME 2 artifact."""
    if path.suffix == ".qza":
        return _from_qza(path)
    if path.suffix in {".biom", ".hdf5", ".h5"} or _is_hdf5(path):
        return _from_biom(path)
    table = _read_text(path)
    if about is None:
        return table
    return table.T if _features_in_rows(table, options, about, path) else table


def _read_text(path: Path) -> pd.DataFrame:
    separator = "," if path.name.removesuffix(".gz").endswith(".csv") else "\t"
    try:
        table = pd.read_csv(path, sep=separator, index_col=0, dtype=str, comment=None)
    except (OSError, ValueError, UnicodeDecodeError) as error:
        raise InputError(path, "", f"no table ({error})", "tab-separated text") from None
    if table.columns.has_duplicates or any(".1" in c and c[:-2] in table for c in table.columns):
        raise InputError(path, "header", "two columns of one name", "each name once")
    table.index = table.index.astype(str)
    numbers = table.apply(pd.to_numeric, errors="coerce")
    bad = numbers.isna() & table.notna()
    if bad.to_numpy().any():
        i, k = np.argwhere(bad.to_numpy())[0]
        raise InputError(
            path,
            f"row {table.index[i]!r}, column {table.columns[k]!r}",
            repr(table.iat[i, k]),
            "a number",
        )
    return numbers


def _features_in_rows(
    table: pd.DataFrame, options: PrepareSettings, about: pd.DataFrame, path: Path
) -> bool:
    """Return whether samples are the columns, told by where the ids of the metadata stand."""
    if options.orientation == "features_by_samples":
        return True
    if options.orientation == "samples_by_features":
        return False
    ids = set(about.index)
    columns = len(ids & set(table.columns.astype(str)))
    rows = len(ids & set(table.index.astype(str)))
    if columns == rows:
        raise InputError(
            path,
            "",
            f"{columns} ids of the metadata among the columns and {rows} among the rows",
            "sample ids on one side",
            "Set prepare orientation=features_by_samples or samples_by_features.",
        )
    return columns > rows


def _is_hdf5(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(8) == b"\x89HDF\r\n\x1a\n"


def _from_biom(path: Path | io.BytesIO, name: Path | None = None) -> pd.DataFrame:
    """Return samples x features of a BIOM table, v1 (JSON) or v2.1 (HDF5)."""
    import biom
    import h5py

    shown = name or path
    try:
        if isinstance(path, io.BytesIO) or _is_hdf5(path):
            with h5py.File(path, "r") as opened:
                table = biom.Table.from_hdf5(opened)
        else:
            table = biom.Table.from_json(json.loads(path.read_text(encoding="utf-8")))
    except Exception as error:
        raise InputError(shown, "", f"no BIOM table ({error})", "BIOM v1 or v2.1") from None
    dense = table.matrix_data.T.toarray()
    return pd.DataFrame(dense, index=table.ids("sample"), columns=table.ids("observation"))


def _from_qza(path: Path) -> pd.DataFrame:
    """Return samples x features of a QIIME 2 artifact FeatureTable[Frequency]."""
    try:
        with zipfile.ZipFile(path) as opened:
            names = opened.namelist()
            _check_semantic_type(path, opened, names)
            inside = [n for n in names if n.endswith("/data/feature-table.biom")]
            if len(inside) != 1 or ".." in inside[0]:
                raise InputError(path, "", "no data/feature-table.biom", "a feature table")
            if opened.getinfo(inside[0]).file_size > MAX_UNPACKED:
                raise InputError(path, inside[0], "more than 4 GiB unpacked", "a smaller table")
            content = io.BytesIO(opened.read(inside[0]))
    except zipfile.BadZipFile as error:
        raise InputError(path, "", f"no zip file ({error})", "a QIIME 2 artifact") from None
    return _from_biom(content, path)


def _check_semantic_type(path: Path, opened: zipfile.ZipFile, names: list[str]) -> None:
    import yaml

    about = [n for n in names if n.count("/") == 1 and n.endswith("/metadata.yaml")]
    kind = yaml.safe_load(opened.read(about[0])).get("type", "") if about else "no metadata.yaml"
    if kind != "FeatureTable[Frequency]":
        raise InputError(
            path,
            "metadata.yaml, type",
            str(kind),
            "FeatureTable[Frequency]",
            "Export the table of raw counts.",
        )


def _looks_long(path: Path, options: PrepareSettings) -> bool:
    if path.suffix in {".biom", ".qza"} or _is_hdf5(path):
        return False
    separator = "," if path.name.removesuffix(".gz").endswith(".csv") else "\t"
    header = pd.read_csv(path, sep=separator, nrows=0).columns
    return {options.series, options.time, options.feature, options.count} <= set(header)


def _from_long(path: Path, options: PrepareSettings) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return samples x features and metadata of a long table, one count a row."""
    separator = "," if path.name.removesuffix(".gz").endswith(".csv") else "\t"
    long = pd.read_csv(path, sep=separator, dtype={options.series: str, options.feature: str})
    wanted = [options.series, options.time, options.feature, options.count]
    missing = [c for c in wanted if c not in long]
    if missing:
        raise InputError(
            path, "header", f"no column {missing[0]!r}", "columns " + ", ".join(wanted)
        )
    keys = long[[options.series, options.time, options.feature]]
    again = keys.duplicated()
    if again.any():
        row = int(np.flatnonzero(again)[0])
        raise InputError(
            path,
            f"row {row + 2}",
            f"{'/'.join(map(str, keys.iloc[row]))} a second time",
            "one row per series, time and feature",
            "Sum the rows, or give replicates as samples of their own.",
        )
    long = long.assign(_id=long[options.series] + "@" + long[options.time].astype(str))
    table = long.pivot(index="_id", columns=options.feature, values=options.count)
    table = table.apply(pd.to_numeric, errors="coerce").fillna(0)
    about = (
        long.drop_duplicates("_id").set_index("_id").drop(columns=[options.feature, options.count])
    )
    table.columns.name = table.index.name = None
    return table, about.loc[table.index]


def _from_netcdf(
    path: Path, options: PrepareSettings, about: pd.DataFrame | None
) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """Return samples x features of a NetCDF or Zarr table with dims sample and feature."""
    opened = xr.open_zarr(path) if path.suffix == ".zarr" else xr.open_dataset(path)
    with opened as data:
        if "counts" not in data or set(data["counts"].dims) != {"sample", "feature"}:
            raise InputError(
                path,
                "variable counts",
                f"variables {', '.join(map(str, data.data_vars))}",
                "counts with dimensions sample and feature",
                "A cube (series, step, feature) is read with reader cube.",
            )
        counts = data["counts"].transpose("sample", "feature")
        table = pd.DataFrame(
            counts.values,
            index=[str(s) for s in data["sample"].values],
            columns=[str(f) for f in data["feature"].values],
        )
        if about is None:
            names = [n for n in data.variables if data[n].dims == ("sample",) and n != "sample"]
            about = pd.DataFrame({n: data[n].values for n in names}, index=table.index)
    return table, about
