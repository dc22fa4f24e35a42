"""Count tables of samples: text (long or wide), BIOM v1 and v2.1, QIIME 2, NetCDF, Zarr.

All become one `sample table`: ``counts`` (sample, feature) with the coordinates ``series`` and
``time`` of each sample, ``exposure`` (reads of the sample over all features, before any filter)
and covariates. See counts.md §9.1.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headwater.core.errors import InputError
from headwater.core.io import sha256

from .metadata import attach_metadata, choose_samples, read_metadata
from .qiime import from_biom, from_qza, is_hdf5
from .settings import PrepareSettings
from .taxonomy import aggregate, read_taxonomy

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
    path = Path(counts)
    for file in filter(None, (counts, metadata, taxonomy)):
        if not Path(file).exists():
            raise InputError(file, "", "no such file", "a file")
    about = None if metadata is None else read_metadata(metadata, options)
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
    about = choose_samples(about, options, metadata or path)
    if options.id_prefix:
        table.index = [str(i).removeprefix(options.id_prefix) for i in table.index]
    check_counts(table, path)
    exposure = table.sum(axis=1)
    if taxonomy is not None:
        table = aggregate(table, read_taxonomy(taxonomy), options, taxonomy)
    result = attach_metadata(table, exposure, about, options, path)
    if path.is_file():
        result.attrs["headwater_sha256"] = sha256(path)
    return result


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
    _first(np.isinf(values), table, values, path, None, "finite counts")
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
        return from_qza(path)
    if path.suffix in {".biom", ".hdf5", ".h5", ".json"} or is_hdf5(path):
        return from_biom(path)
    table = _read_text(path)
    if about is None:
        return table
    return table.T if _features_in_rows(table, options, about, path) else table


def _separator(path: Path) -> str:
    return "," if path.name.removesuffix(".gz").endswith(".csv") else "\t"


def _first_line(path: Path) -> str:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as stream:
        return stream.readline()


def _read_text(path: Path) -> pd.DataFrame:
    """Return a wide text table as numbers, whichever way it lies."""
    try:
        skip = int(_first_line(path).startswith("# Constructed from"))  # by biom convert
        options = {"sep": _separator(path), "dtype": str, "skiprows": skip}
        names = pd.read_csv(path, header=None, nrows=1, **options).iloc[0, 1:].astype(str)
        table = pd.read_csv(path, index_col=0, **options)
    except (OSError, ValueError) as error:
        raise InputError(path, "", f"no table ({error})", "tab-separated text") from None
    if names.duplicated().any():
        name = names[names.duplicated()].iloc[0]
        raise InputError(path, f"header, column {name!r}", "a second column", "each name once")
    if len(names) != table.shape[1]:
        raise InputError(path, "header", f"{len(names)} names", f"{table.shape[1]} names")
    table.columns = names.to_numpy()
    empty = table.index.isna()
    if empty.any():
        row = int(np.flatnonzero(empty)[0]) + 2 + skip
        raise InputError(path, f"row {row}", "no name in the first column", "a name")
    table.index = table.index.astype(str)
    return _numbers(table, path)


def _numbers(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return text as numbers; an empty cell becomes NaN.

    Raises
    ------
    InputError
        Naming the first cell that is no number.
    """
    numbers = table.apply(pd.to_numeric, errors="coerce")
    bad = (numbers.isna() & table.notna()).to_numpy()
    if bad.any():
        i, k = np.argwhere(bad)[0]
        where = f"row {table.index[i]!r}, column {table.columns[k]!r}"
        raise InputError(path, where, repr(table.iat[i, k]), "a number")
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


def _looks_long(path: Path, options: PrepareSettings) -> bool:
    if path.suffix in {".biom", ".qza", ".json"} or is_hdf5(path):
        return False
    header = pd.read_csv(path, sep=_separator(path), nrows=0).columns
    return {options.series, options.time, options.feature, options.count} <= set(header)


def _from_long(path: Path, options: PrepareSettings) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return samples x features and metadata of a long table, one count a row."""
    try:
        long = pd.read_csv(path, sep=_separator(path), dtype=str)
    except (OSError, ValueError) as error:
        raise InputError(path, "", f"no table ({error})", "tab-separated text") from None
    wanted = [options.series, options.time, options.feature, options.count]
    missing = [c for c in wanted if c not in long]
    if missing:
        raise InputError(
            path, "header", f"no column {missing[0]!r}", "columns " + ", ".join(wanted)
        )
    for column in wanted:
        _first_row(long[column].isna(), long, column, path, "a value in every row")
    for column in (options.time, options.count):
        number = pd.to_numeric(long[column], errors="coerce")
        _first_row(~np.isfinite(number), long, column, path, "a number")
        long[column] = number
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
    table = table.fillna(0)  # a long table may leave out zeros
    about = (
        long.drop_duplicates("_id").set_index("_id").drop(columns=[options.feature, options.count])
    )
    table.columns.name = table.index.name = None
    return table, about.loc[table.index]


def _first_row(bad: pd.Series, long: pd.DataFrame, column: str, path: Path, expected: str) -> None:
    """Raise an error that names the first bad row of a long table, if there is one."""
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        value = long[column].iloc[row]
        found = "nothing" if pd.isna(value) else repr(value)
        raise InputError(path, f"row {row + 2}, column {column}", found, expected)


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
