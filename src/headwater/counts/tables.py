"""Count tables of samples: text (long or wide), BIOM v1 and v2.1, QIIME 2, NetCDF, Zarr.

All become one `sample table`: ``counts`` (sample, feature) with the coordinates ``series`` and
``time`` of each sample, ``exposure`` (reads of the sample over all features, before any filter)
and covariates.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headwater.core.errors import InputError
from headwater.core.io import sha256

from .long import from_long, looks_long
from .metadata import attach_metadata, choose_samples, read_metadata, read_text
from .plain import open_plain
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
        Naming file, row or column of the first fault.
    """
    options = PrepareSettings.from_mapping(settings)
    path = Path(counts)
    for file in filter(None, (counts, metadata, taxonomy)):
        _check_file(Path(file))
    about = None if metadata is None else read_metadata(metadata, options)
    if path.suffix in {".nc", ".zarr"}:
        table, about = _from_netcdf(path, options, about)
    elif _is_text(path) and (options.orientation == "long" or looks_long(path, options)):
        table, about = from_long(path, options, about)
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
    units = about.attrs.get("time_units", "")
    about = choose_samples(about, options, metadata or path)
    if options.id_prefix:
        table.index = [str(i).removeprefix(options.id_prefix) for i in table.index]
    check_counts(table, path)
    exposure = table.sum(axis=1)
    if taxonomy is not None:
        table = aggregate(table, read_taxonomy(taxonomy), options, taxonomy)
    elif options.rank:
        raise InputError(
            path,
            "counts.prepare.rank",
            f"{options.rank!r} without a taxonomy",
            "a taxonomy file",
            "Name it in the column taxonomy of the data set's row, or leave rank out.",
        )
    result = attach_metadata(table, exposure, about, options, path, metadata or path)
    result.attrs["time_units"] = options.time_units or units
    if path.is_file():
        result.attrs["headwater_sha256"] = sha256(path)
    return result


def _check_file(path: Path) -> None:
    if not path.exists():
        raise InputError(
            path, "", "no such file", "a file", "Correct the path in the data set's row."
        )
    if path.is_dir() and path.suffix != ".zarr":
        raise InputError(path, "", "a folder", "a file", "Name the file inside it.")


def _is_text(path: Path) -> bool:
    return path.suffix not in {".biom", ".qza", ".json", ".hdf5", ".h5"} and not is_hdf5(path)


def check_counts(table: pd.DataFrame, path: Path) -> None:
    """Raise an `InputError` for what is no count; cast floats that are whole numbers.

    `table` is samples x features and is changed in place to int64.
    """
    if table.shape[0] == 0 or table.shape[1] == 0:
        found = f"{table.shape[0]} samples and {table.shape[1]} features"
        hint = "Look at the file, and at its separator."
        raise InputError(path, "", found, "at least one of each", hint)
    _check_names(table, path)
    values = table.to_numpy(dtype=float, na_value=np.nan)
    empty = "Write 0 where nothing was counted; leave out samples that failed."
    _first(np.isnan(values), table, values, path, "nothing", "a count in every cell", empty)
    raw = "Give raw counts, not transformed ones."
    _first(values < 0, table, values, path, None, "counts of 0 or more", raw)
    _first(np.isinf(values), table, values, path, None, "finite counts", raw)
    fraction = np.abs(values - np.rint(values)) > WHOLE
    if fraction.any():
        sums = values.sum(1)
        relative = np.allclose(sums, 1, atol=1e-3) or np.allclose(sums, 100, atol=0.1)
        hint = (
            "Rows sum to 1 or 100: these are relative abundances; raw counts are needed."
            if relative
            else raw
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
                path,
                f"{what} {name!r}",
                f"a second {what} of this name",
                "each name once",
                "Rename or sum the two.",
            )


def _first(
    bad: np.ndarray,
    table: pd.DataFrame,
    values: np.ndarray,
    path: Path,
    found: str | None,
    expected: str,
    hint: str,
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
    if not _is_text(path):
        return from_biom(path)
    table = _read_text(path)
    if about is None:
        return table
    return table.T if _features_in_rows(table, options, about, path) else table


def _first_line(path: Path) -> str:
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8") as stream:
            return stream.readline()
    except (OSError, ValueError, EOFError, zlib.error):
        return ""  # read_text says what is wrong


def _read_text(path: Path) -> pd.DataFrame:
    """Return a wide text table as numbers, whichever way it lies."""
    skip = int(_first_line(path).startswith("# Constructed from"))  # by biom convert
    # only an empty cell is empty: a taxon may be called NA
    options = {"skiprows": skip, "keep_default_na": False, "na_values": [""]}
    names = read_text(path, header=None, nrows=1, **options).iloc[0, 1:].astype(str)
    table = read_text(path, index_col=0, **options)
    if names.duplicated().any():
        name = names[names.duplicated()].iloc[0]
        raise InputError(
            path,
            f"header, column {name!r}",
            "a second column",
            "each name once",
            "Rename or sum the two.",
        )
    if len(names) != table.shape[1]:
        raise InputError(
            path,
            "header",
            f"{len(names)} names for {table.shape[1]} columns",
            "a name for every column",
            "Write a name above the first column, too.",
        )
    table.columns = names.to_numpy()
    empty = table.index.isna()
    if empty.any():
        row = int(np.flatnonzero(empty)[0]) + 2 + skip
        hint = "Give the row a name or remove it."
        raise InputError(path, f"row {row}", "no name in the first column", "a name", hint)
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
        hint = "Correct the cell; keep text such as a taxonomy in a file of its own."
        raise InputError(path, where, repr(table.iat[i, k]), "a number", hint)
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
    columns, rows = (
        len(ids & {str(n).removeprefix(options.id_prefix) for n in names})
        for names in (table.columns, table.index)
    )
    if columns == rows:
        raise InputError(
            path,
            "",
            f"{columns} ids of the metadata among the columns and {rows} among the rows",
            "sample ids on one side",
            "Is the table separated by tabs (.csv: by commas)?"
            if table.shape[1] < 2
            else "Set prepare orientation=features_by_samples or samples_by_features.",
        )
    return columns > rows


def _from_netcdf(
    path: Path, options: PrepareSettings, about: pd.DataFrame | None
) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """Return samples x features of a NetCDF or Zarr table with dims sample and feature."""
    with open_plain(path) as data:
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
            if options.time in names:
                about.attrs["time_units"] = str(data[options.time].attrs.get("units", ""))
    return table, about
