"""Long tables, one count a row: columns series, time, feature, count, or sample, feature, count."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from headwater.core.config import nearest
from headwater.core.errors import InputError

from .metadata import read_text
from .settings import PrepareSettings


def looks_long(path: Path, options: PrepareSettings) -> bool:
    """Return whether the header of a text table has the columns of a long one."""
    if options.orientation != "auto":
        return False
    return {options.feature, options.count} <= set(read_text(path, nrows=0).columns)


def from_long(
    path: Path, options: PrepareSettings, about: pd.DataFrame | None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return samples x features and the metadata of a long table.

    A sample is a row's id where there is such a column (so replicates of a series and time may
    stand side by side), else its series and time. Without metadata these two are columns of
    the table itself. A feature without a row in a sample counts 0 there; a sample without any
    row is no sample.

    Raises
    ------
    InputError
        For an absent column or value, a count that is no number, or a count given twice.
    """
    named = options.sample in read_text(path, nrows=0).columns
    own = (options.series, options.time) if about is None else ()
    ids = (options.sample,) if named or about is not None else ()
    # only an empty cell is empty: a taxon may be called NA
    long = read_text(path, keep_default_na=False, na_values=[""])
    _check(long, path, (*ids, *own, options.feature, options.count), (*own[1:], options.count))
    key = list(ids or own)
    again = long.duplicated([*key, options.feature])
    if again.any():
        row = int(np.flatnonzero(again)[0])
        what = "/".join(map(str, long[[*key, options.feature]].iloc[row]))
        raise InputError(
            path,
            f"row {row + 2}",
            f"{what} a second time",
            f"one row per {', '.join(key)} and feature",
            f"Sum the rows, or tell replicates apart by a column {options.sample}.",
        )
    long["_id"] = long[options.sample] if ids else _joined(long, own)
    table = long.pivot(index="_id", columns=options.feature, values=options.count).fillna(0)
    table.columns.name = table.index.name = None
    if about is None:
        about = _own_metadata(long, own, options, path).loc[table.index]
    return table, about


def _joined(long: pd.DataFrame, own: tuple[str, ...]) -> pd.Series:
    return long[own[0]] + "@" + long[own[1]].astype(str)


def _own_metadata(
    long: pd.DataFrame, own: tuple[str, ...], options: PrepareSettings, path: Path
) -> pd.DataFrame:
    """Return one row per sample; refuse samples that say two things about themselves."""
    columns = [*own, *(c for c in (*options.covariates, *options.keep) if c in long)]
    if options.offset in long:
        columns.append(options.offset)
    columns = list(dict.fromkeys(columns))
    first = long.groupby("_id", sort=False)[columns].transform("first")
    different = (long[columns] != first) & ~(long[columns].isna() & first.isna())
    if different.to_numpy().any():
        i, k = np.argwhere(different.to_numpy())[0]
        raise InputError(
            path,
            f"row {i + 2}, column {columns[k]}",
            f"{long[columns[k]].iloc[i]!r} for sample {long['_id'].iloc[i]!r}",
            f"{first[columns[k]].iloc[i]!r} as in the rows before",
            "Say the same in all rows of a sample.",
        )
    return long.drop_duplicates("_id").set_index("_id")[columns]


def _check(
    long: pd.DataFrame, path: Path, wanted: tuple[str, ...], numbers: tuple[str, ...]
) -> None:
    """Refuse absent columns and values; make numbers of the columns `numbers`, in place."""
    for column in wanted:
        if column not in long:
            raise InputError(
                path,
                "header",
                f"no column {column!r}",
                "columns " + ", ".join(wanted),
                nearest(column, list(long.columns)),
            )
        _first_row(long[column].isna(), long, column, path, "a value in every row")
    for column in numbers:
        number = pd.to_numeric(long[column], errors="coerce")
        _first_row(~np.isfinite(number), long, column, path, "a number")
        long[column] = number


def _first_row(bad: pd.Series, long: pd.DataFrame, column: str, path: Path, expected: str) -> None:
    """Raise an error that names the first bad row, if there is one."""
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        value = long[column].iloc[row]
        found = "nothing" if pd.isna(value) else repr(value)
        raise InputError(
            path, f"row {row + 2}, column {column}", found, expected, "Correct or remove the row."
        )
