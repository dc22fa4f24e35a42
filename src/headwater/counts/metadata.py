"""Which sample is which: series, time and covariates of the samples of a table."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headwater.core.config import nearest
from headwater.core.errors import InputError

from .settings import PrepareSettings


def read_text(path: str | Path, **options: Any) -> pd.DataFrame:
    """Return a comma- or tab-separated table, all of it as text.

    Raises
    ------
    InputError
        If the file cannot be read as one.
    """
    path = Path(path)
    separator = "," if path.name.removesuffix(".gz").endswith(".csv") else "\t"
    try:
        return pd.read_csv(path, sep=separator, dtype=str, **options)
    except UnicodeDecodeError:
        raise InputError(
            path,
            "",
            "no text in UTF-8",
            "tab-separated text (.csv: commas), plain or .gz",
            "Save it as UTF-8; a spreadsheet must be exported as tab-separated text.",
        ) from None
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise InputError(
            path,
            "",
            f"no table ({error})",
            "tab-separated text (.csv: commas), plain or .gz",
            "Export the table as tab-separated text; fetch the file again if it is damaged.",
        ) from None


def read_metadata(path: str | Path, options: PrepareSettings) -> pd.DataFrame:
    """Return the metadata as text, indexed by sample id.

    Raises
    ------
    InputError
        For an absent column or a sample id that stands twice.
    """
    path = Path(path)
    table = read_text(path)
    _check_columns(table, (options.sample,), path)
    ids = table[options.sample]
    for bad, found in ((ids.isna(), "no sample id"), (ids.duplicated(), "a second time")):
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            text = found if pd.isna(ids[row]) else f"sample {ids[row]!r} {found}"
            hint = "Correct or remove the row."
            raise InputError(path, f"row {row + 2}", text, "each sample once", hint)
    return table.set_index(options.sample)


def choose_samples(about: pd.DataFrame, options: PrepareSettings, path: str | Path) -> pd.DataFrame:
    """Return the rows that ``keep`` asks for.

    Raises
    ------
    InputError
        For an absent column, or where no sample is left.
    """
    _check_columns(about, _wanted(options), path)
    for column, value in options.keep.items():
        wanted = list(value) if isinstance(value, (list, tuple)) else [value]
        there = about[column]
        about = about[np.logical_or.reduce([_same(there, v) for v in wanted])]
        if about.empty:
            found = ", ".join(there.dropna().astype(str).unique()[:5])
            raise InputError(
                path,
                f"column {column}",
                f"no sample with {' or '.join(map(str, wanted))}",
                "at least one",
                f"Correct prepare keep.{column}; values there: {found}.",
            )
    return about


def _same(column: pd.Series, value: Any) -> np.ndarray:
    """Return where a column says `value`, as text, number or truth value."""
    if isinstance(value, bool):
        return (column.astype(str).str.casefold() == str(value).casefold()).to_numpy()
    same = (column.astype(str) == str(value)) & column.notna()
    if isinstance(value, (int, float)):
        same |= pd.to_numeric(column, errors="coerce") == value
    return same.to_numpy()


def _wanted(options: PrepareSettings) -> tuple[str, ...]:
    return (options.series, options.time, *options.covariates, *options.keep)


def _check_columns(about: pd.DataFrame, names: tuple[str, ...], path: str | Path) -> None:
    for name in names:
        if name not in about:
            raise InputError(
                path,
                "header",
                f"no column {name!r}",
                "columns " + ", ".join(names),
                nearest(name, [str(c) for c in about.columns]),
            )


def attach_metadata(
    table: pd.DataFrame,
    exposure: pd.Series,
    about: pd.DataFrame,
    options: PrepareSettings,
    path: Path,
    source: str | Path,
) -> xr.Dataset:
    """Return the sample table of counts (samples x features) and metadata.

    Faults of the metadata name the file `source`, those of the table `path`.

    Raises
    ------
    InputError
        If ids do not match both ways, or a time is no number.
    """
    table.index = table.index.astype(str)
    exposure.index = table.index
    about = about.set_axis(about.index.astype(str))
    _check_ids(table, about, bool(options.keep), path)
    nameless = about[options.series].isna()
    if nameless.any():
        row = str(about.index[nameless][0])
        place = f"sample {row!r}, column {options.series}"
        hint = "Fill it, or choose samples with prepare keep.COLUMN=VALUE."
        raise InputError(source, place, "nothing", "a series", hint)
    about = about.loc[about.index.isin(table.index)]
    table, exposure = table.loc[about.index], exposure.loc[about.index]
    time = pd.to_numeric(about[options.time], errors="coerce")
    bad = ~np.isfinite(time)
    if bad.any():
        row = str(time.index[bad][0])
        raise InputError(
            source,
            f"sample {row!r}, column {options.time}",
            "nothing" if pd.isna(value := about.loc[row, options.time]) else repr(value),
            "a number (days, hours, steps since a start)",
            "Give times as numbers.",
        )
    if options.offset not in {"library", "logsum", "constant"}:
        exposure = _exposure_column(about, options, source)
    result = xr.Dataset(
        {
            "counts": (("sample", "feature"), table.to_numpy(dtype=np.int64)),
            "exposure": ("sample", exposure.to_numpy(dtype=float)),
        },
        coords={
            "sample": table.index.to_numpy(dtype=str),
            "feature": table.columns.to_numpy(dtype=str),
            "series": ("sample", about[options.series].astype(str).to_numpy(dtype=str)),
            "time": ("sample", time.to_numpy(dtype=float)),
        },
        attrs={"source": path.name},
    )
    for name in options.covariates:
        values = pd.to_numeric(about[name], errors="coerce")
        result[f"covariate_{name}"] = ("sample", values.to_numpy(dtype=float))
    return result


def _exposure_column(about: pd.DataFrame, options: PrepareSettings, path: str | Path) -> pd.Series:
    if options.offset not in about:
        raise InputError(
            path,
            "counts.prepare.offset",
            repr(options.offset),
            "library, logsum, constant or a metadata column",
            nearest(options.offset, ["library", "logsum", "constant", *map(str, about.columns)]),
        )
    values = pd.to_numeric(about[options.offset], errors="coerce")
    if not (values > 0).all():
        row = str(values.index[~(values > 0)][0])
        raise InputError(
            path,
            f"sample {row!r}, column {options.offset}",
            repr(about.loc[row, options.offset]),
            "an exposure above 0",
            "Correct it, or set prepare offset=library.",
        )
    return values


def _check_ids(table: pd.DataFrame, about: pd.DataFrame, chosen: bool, path: Path) -> None:
    """Raise an error when ids differ; samples without metadata are fine when some were chosen."""
    only_about = list(about.index[~about.index.isin(table.index)])
    only_table = [] if chosen else list(table.index[~table.index.isin(about.index)])
    if not only_about and not only_table:
        return
    parts = []
    for names, where in ((only_about, "metadata"), (only_table, "table")):
        if names:
            parts.append(f"{len(names)} samples only in the {where} ({', '.join(names[:3])})")
    hint = "Correct the ids, or choose samples with prepare keep.COLUMN=VALUE."
    if _shifted(only_about, only_table):
        hint = "The ids of the table may have a prefix: set prepare id_prefix. " + hint
    raise InputError(path, "sample ids", " and ".join(parts), "the same ids in both", hint)


def _shifted(a: list[str], b: list[str]) -> bool:
    return bool(a and b) and any(x.endswith(a[0]) or a[0].endswith(x) for x in b)
