"""The canonical cube: filter samples and features, lay counts out as series x steps x features.

Holes are unobserved, never zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headwater.core.config import nearest
from headwater.core.errors import InputError
from headwater.core.io import sha256

from .checks import check_cube
from .filters import filter_features, filter_samples, merge_replicates
from .plain import open_plain
from .ready import read_cube
from .settings import PrepareSettings

__all__ = ["check_cube", "make_cube", "prepare_cube", "read_cube"]
COLUMNS = ["what", "name", "action", "reason"]  # of the table of what was dropped


def prepare_cube(
    path: str | Path, settings: Mapping[str, Any]
) -> tuple[xr.Dataset, pd.DataFrame, dict[str, Any]]:
    """Return the cube of a sample table, or a ready cube checked and filtered.

    Returns
    -------
    cube : Dataset
    dropped : DataFrame
        feature or sample, what happened to it, why.
    report : dict
        warnings and counts of what was removed.

    Raises
    ------
    InputError
        For every fault that the model would choke on or, worse, not notice.
    """
    options = PrepareSettings.from_mapping(settings)
    path = Path(path)
    with open_plain(path) as data:
        is_table = "sample" in data.dims
        table = data.load() if is_table else None
    if is_table:
        cube, dropped, report = make_cube(table, options, str(path))
    else:
        cube = read_cube(path)
        if options.features:
            cube = _choose(cube, options, path)
        cube, gone = _long_enough(cube, options, str(path))
        dropped = pd.DataFrame(gone, columns=COLUMNS)
        report = {"warnings": _about_series(gone, options), "dropped": len(gone), "merged": 0}
    cube.attrs.setdefault("headwater_sha256", sha256(path) if path.is_file() else "")
    report["warnings"] += check_cube(cube, str(path))
    cube, empty = _without_empty(cube)
    if empty:
        shown = ", ".join(empty[:5]) + (", ..." if len(empty) > 5 else "")
        report["warnings"].append(f"features that are always 0 were dropped: {shown}")
        more = pd.DataFrame([_gone("feature", n, "dropped", "always 0") for n in empty])
        dropped = pd.concat([dropped, more], ignore_index=True) if len(dropped) else more
        report["dropped"] += len(empty)
    return cube, dropped, report


def make_cube(
    table: xr.Dataset,
    settings: Mapping[str, Any] | PrepareSettings,
    name: str = "sample table",
) -> tuple[xr.Dataset, pd.DataFrame, dict[str, Any]]:
    """Return cube, table of what was dropped and report of a sample table.

    `name` stands for the table in errors.
    """
    given = isinstance(settings, PrepareSettings)
    options = settings if given else PrepareSettings.from_mapping(settings)
    warnings = [table.attrs["note"]] if table.attrs.get("note") else []
    events = table.attrs.get("kind") == "events"
    table, merged = merge_replicates(table, options, name)
    if merged and events:
        raise InputError(
            name,
            "",
            f"{merged} samples of the same place and period",
            "places with names of their own",
            "Rename the places in the daily file.",
        )
    if merged:
        warnings.append(f"{merged} samples of the same series and time were merged")
    gone: list[dict[str, str]] = []
    if not events:
        table, gone = filter_samples(table, options, name)
        if gone:
            warnings.append(f"{len(gone)} samples under {options.min_library} reads were removed")
    if not events or options.features:
        table, lost = filter_features(table, options, name)
        gone += lost
    cube, empty = _grid(table, options, events, name)
    if empty:
        warnings.append(f"{empty} samples without reads or valid days are unobserved")
    cube, short = _long_enough(cube, options, name)
    warnings += _about_series(short, options)
    gone += short
    dropped = pd.DataFrame(gone, columns=COLUMNS)
    return cube, dropped, {"warnings": warnings, "dropped": len(gone), "merged": merged}


def _long_enough(
    cube: xr.Dataset, options: PrepareSettings, name: str
) -> tuple[xr.Dataset, list[dict[str, str]]]:
    """Return the series with enough observed steps, and what is said of the others."""
    few = ((cube["observed"] == 1).sum("step") < options.min_steps).values
    if few.all():
        longest = int((cube["observed"] == 1).sum("step").max())
        raise InputError(
            name,
            "",
            f"no series with {options.min_steps} observed steps (the longest has {longest})",
            "at least one",
            "Bring longer series, or lower prepare min_library or min_valid.",
        )
    names = cube["series"].values[few]
    gone = [_gone("series", str(s), "dropped", f"under {options.min_steps} steps") for s in names]
    return (cube.isel(series=~few) if gone else cube), gone


def _about_series(gone: list[dict[str, str]], options: PrepareSettings) -> list[str]:
    if not gone:
        return []
    shown = ", ".join(g["name"] for g in gone[:3]) + (", ..." if len(gone) > 3 else "")
    return [f"{len(gone)} series with under {options.min_steps} observed steps dropped: {shown}"]


def _gone(what: str, name: str, action: str, reason: str) -> dict[str, str]:
    return {"what": what, "name": name, "action": action, "reason": reason}


def _grid(
    table: xr.Dataset, options: PrepareSettings, events: bool, name: str
) -> tuple[xr.Dataset, int]:
    """Lay samples out on the union of observed times; count the empty ones left out."""
    times, step = np.unique(table["time"].values, return_inverse=True)
    names = list(dict.fromkeys(table["series"].values.tolist()))
    place = {name: j for j, name in enumerate(names)}
    row = np.array([place[s] for s in table["series"].values.tolist()])
    shape = (len(names), len(times))
    counts = np.full((*shape, table.sizes["feature"]), -1, dtype=np.int64)
    observed = np.zeros(shape, dtype=np.int8)
    exposure = np.full(shape, np.nan)
    seen = table["observed"].values == 1 if "observed" in table else np.ones(len(row), bool)
    totals = table["counts"].values.sum(1)
    value, kind = _exposure(table, options, totals, events)
    empty = seen & (value <= 0)
    if (empty & (totals > 0)).any():
        sample = str(table["sample"].values[empty & (totals > 0)][0])
        raise InputError(
            name,
            f"sample {sample!r}",
            "counts at an exposure of 0",
            "a positive exposure",
            "Correct the exposure, or remove the sample.",
        )
    if empty.all():
        hint = "Look at the counts of the table."
        raise InputError(name, "", "no count above 0 in any sample", "counts above 0", hint)
    seen = seen & (value > 0)
    counts[row[seen], step[seen]] = table["counts"].values[seen]
    observed[row[seen], step[seen]] = 1
    exposure[row[seen], step[seen]] = value[seen]
    _refuse_large(counts, table, name)
    cube = xr.Dataset(
        {
            "counts": (("series", "step", "feature"), counts.astype(np.int32)),
            "observed": (("series", "step"), observed),
            "time": (("series", "step"), np.tile(times, (shape[0], 1))),
            "exposure": (("series", "step"), exposure),
        },
        coords={
            "series": np.array(names, dtype=str),
            "step": np.arange(len(times), dtype=np.int32),
            "feature": table["feature"].values.astype(str),
        },
        attrs={
            "source": table.attrs.get("source", ""),
            "time_units": table.attrs.get("time_units", "") or "steps",
            "exposure_kind": kind,
        },
    )
    cube["time"].attrs["units"] = cube.attrs["time_units"]
    for key in ("licence", "headwater_sha256"):
        if table.attrs.get(key):
            cube.attrs[key] = table.attrs[key]
    return _with_covariates(cube, table, row, name), int(empty.sum())


def _refuse_large(counts: np.ndarray, table: xr.Dataset, name: str) -> None:
    if counts.max(initial=0) > np.iinfo(np.int32).max:
        feature = str(table["feature"].values[int(counts.max((0, 1)).argmax())])
        raise InputError(
            name,
            f"feature {feature!r}",
            f"a count of {counts.max()} after replicates were summed",
            "counts below 2^31",
            "Set prepare replicates=first, or thin the counts.",
        )


def _exposure(
    table: xr.Dataset, options: PrepareSettings, totals: np.ndarray, events: bool
) -> tuple[np.ndarray, str]:
    if events:
        return table["exposure"].values.astype(float), str(table.attrs["exposure_kind"])
    if options.offset == "logsum":
        return totals + 1.0, "logsum"
    if options.offset == "constant":
        # replicates that were summed make one sample of twice the effort
        return table["merged"].values.astype(float), "constant"
    return table["exposure"].values.astype(float), options.offset


def _with_covariates(cube: xr.Dataset, table: xr.Dataset, row: np.ndarray, file: str) -> xr.Dataset:
    """Add covariates: one value per series, the same in all of its samples."""
    names = [n for n in table.data_vars if str(n).startswith("covariate_")]
    if not names:
        return cube
    values = np.empty((cube.sizes["series"], len(names)))
    for k, name in enumerate(names):
        groups = pd.Series(table[name].values).groupby(row)
        different = groups.nunique(dropna=False).to_numpy()
        values[:, k] = groups.first(skipna=False).to_numpy()
        bad = (different != 1) | ~np.isfinite(values[:, k])
        if bad.any():
            j = int(np.flatnonzero(bad)[0])
            raise InputError(
                file,
                f"covariate {str(name).removeprefix('covariate_')!r}, series"
                f" {str(cube['series'].values[j])!r}",
                f"{different[j]} values" if different[j] != 1 else "no number",
                "one number per series",
                "Correct the column of the metadata, or leave the covariate out.",
            )
    cube["covariates"] = (("series", "covariate"), values)
    return cube.assign_coords(covariate=[str(n).removeprefix("covariate_") for n in names])


def _choose(cube: xr.Dataset, options: PrepareSettings, path: Path) -> xr.Dataset:
    names = [str(f) for f in cube["feature"].values]
    lacking = [f for f in options.features if f not in names]
    if lacking:
        hint = nearest(lacking[0], names)
        raise InputError(path, "prepare features", f"no feature {lacking[0]!r}", "one there", hint)
    return cube.isel(feature=[names.index(f) for f in options.features])


def _without_empty(cube: xr.Dataset) -> tuple[xr.Dataset, list[str]]:
    """Return the cube without features that are zero at every observation, and their names."""
    seen = (cube["observed"].values == 1)[..., None]
    total = np.where(seen, cube["counts"].values, 0).sum((0, 1), dtype=np.int64)
    if (total == 0).all():
        raise InputError(
            str(cube.attrs.get("title", "cube")),
            "",
            "only zeros",
            "counts above 0 somewhere",
            "Choose other events or features.",
        )
    names = [str(f) for f in cube["feature"].values[total == 0]]
    return (cube.isel(feature=total > 0) if names else cube), names
