"""The canonical cube: filter samples and features, lay counts out as series x steps x features.

counts.md §6, §7.1 and §9.1. Holes are unobserved, never zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headwater.core.errors import InputError
from headwater.core.io import read_dataset, sha256

from .climate import LOOSE
from .filters import filter_features, filter_samples, merge_replicates
from .settings import PrepareSettings

REQUIRED = {
    "counts": ("series", "step", "feature"),
    "observed": ("series", "step"),
    "exposure": ("series", "step"),
}


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
        For every case of counts.md §13 that concerns a cube.
    """
    options = PrepareSettings.from_mapping(settings)
    path = Path(path)
    data = xr.open_zarr(path).load() if path.suffix == ".zarr" else read_dataset(path)
    if "sample" in data.dims:
        cube, dropped, report = make_cube(data, options, str(path))
    else:
        cube = complete(data, path)
        dropped = pd.DataFrame(columns=["what", "name", "action", "reason"])
        report = {"warnings": []}
        if options.features:
            cube = _choose(cube, options, path)
    cube.attrs.setdefault("headwater_sha256", sha256(path) if path.is_file() else "")
    report["warnings"] += check_cube(cube, str(path))
    cube, empty = _without_empty(cube)
    report["warnings"] += empty
    return cube, dropped, report


def make_cube(
    table: xr.Dataset, options: PrepareSettings, name: str
) -> tuple[xr.Dataset, pd.DataFrame, dict[str, Any]]:
    """Return cube, table of what was dropped and report of a sample table."""
    warnings: list[str] = []
    events = table.attrs.get("kind") == "events"
    table, merged = merge_replicates(table, options, name)
    if merged and events:
        raise InputError(
            name,
            "",
            f"{merged} samples of the same place and period",
            "places with names of their own",
        )
    if merged:
        warnings.append(f"{merged} samples of the same series and time were merged")
    gone: list[dict[str, str]] = []
    if not events:
        table, lost = filter_samples(table, options, name)
        gone += lost
        if lost:
            warnings.append(f"{len(lost)} samples under {options.min_library} reads were removed")
        table, lost = filter_features(table, options, name)
        gone += lost
    cube, empty = _grid(table, options, events)
    if empty:
        warnings.append(f"{empty} samples without reads or valid days are unobserved")
    few = (cube["observed"] == 1).sum("step") < options.min_steps
    for series in cube["series"].values[few.values]:
        gone.append(_gone("series", str(series), "dropped", f"under {options.min_steps} steps"))
        warnings.append(f"series {series} has under {options.min_steps} observed steps: dropped")
    cube = cube.isel(series=~few.values)
    if cube.sizes["series"] == 0:
        raise InputError(
            name,
            "",
            f"no series with {options.min_steps} observed steps",
            "at least one",
            "Lower prepare min_library or min_valid.",
        )
    dropped = pd.DataFrame(gone, columns=["what", "name", "action", "reason"])
    return cube, dropped, {"warnings": warnings, "dropped": len(gone), "merged": merged}


def _gone(what: str, name: str, action: str, reason: str) -> dict[str, str]:
    return {"what": what, "name": name, "action": action, "reason": reason}


def _grid(table: xr.Dataset, options: PrepareSettings, events: bool) -> tuple[xr.Dataset, int]:
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
            None, f"sample {sample!r}", "counts at an exposure of 0", "a positive exposure"
        )
    seen = seen & (value > 0)
    counts[row[seen], step[seen]] = table["counts"].values[seen]
    observed[row[seen], step[seen]] = 1
    exposure[row[seen], step[seen]] = value[seen]
    _refuse_large(counts, table)
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
    return _with_covariates(cube, table, row), int(empty.sum())


def _refuse_large(counts: np.ndarray, table: xr.Dataset) -> None:
    if counts.max(initial=0) > np.iinfo(np.int32).max:
        feature = str(table["feature"].values[int(counts.max((0, 1)).argmax())])
        raise InputError(
            None,
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
        return np.ones(len(totals)), "constant"
    return table["exposure"].values.astype(float), options.offset


def _with_covariates(cube: xr.Dataset, table: xr.Dataset, row: np.ndarray) -> xr.Dataset:
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
                None,
                f"covariate {str(name).removeprefix('covariate_')!r}, series"
                f" {str(cube['series'].values[j])!r}",
                f"{different[j]} values" if different[j] != 1 else "no number",
                "one number per series",
            )
    cube["covariates"] = (("series", "covariate"), values)
    return cube.assign_coords(covariate=[str(n).removeprefix("covariate_") for n in names])


def complete(data: xr.Dataset, path: Path) -> xr.Dataset:
    """Return a ready cube with what it may leave out filled in.

    Absent ``observed`` means all; absent ``exposure`` is exp(attribute log_offset), else 1.
    """
    if "counts" not in data or set(REQUIRED["counts"]) - set(data["counts"].dims):
        raise InputError(
            path,
            "variable counts",
            f"dimensions {', '.join(map(str, data.dims))}",
            "counts with dimensions series, step, feature (docs: counts, cube layout)",
        )
    data = data.assign(counts=_whole(data["counts"], path))
    n, steps, features = (data.sizes[d] for d in REQUIRED["counts"])
    labels = {
        "series": [f"series{j}" for j in range(n)],
        "step": np.arange(steps, dtype=np.int32),
        "feature": [f"feature{k}" for k in range(features)],
    }
    data = data.assign_coords({k: v for k, v in labels.items() if k not in data.coords})
    if "observed" not in data:
        data["observed"] = (("series", "step"), np.ones((n, steps), dtype=np.int8))
    if "exposure" not in data:
        rate = float(np.exp(data.attrs.get("log_offset", 0.0)))
        data["exposure"] = (("series", "step"), np.full((n, steps), rate))
        data.attrs["exposure_kind"] = "constant"
    if "time" not in data:
        grid = np.tile(np.arange(steps, dtype=float), (n, 1))
        data["time"] = (("series", "step"), grid, {"units": "steps"})
    data.attrs.setdefault("time_units", "steps")
    data.attrs.setdefault("exposure_kind", "given")
    return data


def _whole(counts: xr.DataArray, path: Path) -> xr.DataArray:
    """Return counts as int32, NaN as -1 (unobserved)."""
    values = counts.values.astype(float)
    bad = np.isfinite(values) & ((values != np.rint(values)) | (values > np.iinfo(np.int32).max))
    bad |= np.isinf(values)
    if bad.any():
        place = tuple(np.argwhere(bad)[0])
        where = ", ".join(f"{d} {i}" for d, i in zip(counts.dims, place, strict=True))
        raise InputError(
            path,
            f"variable counts, {where}",
            f"{values[place]:.12g}",
            "whole numbers below 2^31",
            "Give raw counts, not transformed ones.",
        )
    whole = counts.copy(data=np.where(np.isnan(values), -1, values).astype(np.int32))
    return whole.transpose(*REQUIRED["counts"])


def _choose(cube: xr.Dataset, options: PrepareSettings, path: Path) -> xr.Dataset:
    names = [str(f) for f in cube["feature"].values]
    lacking = [f for f in options.features if f not in names]
    if lacking:
        raise InputError(path, "coordinate feature", f"no {lacking[0]!r}", "the features asked for")
    return cube.isel(feature=[names.index(f) for f in options.features])


def _without_empty(cube: xr.Dataset) -> tuple[xr.Dataset, list[str]]:
    """Drop features that are zero at every observation; say which."""
    seen = (cube["observed"].values == 1)[..., None]
    total = np.where(seen, cube["counts"].values, 0).sum((0, 1))
    if (total == 0).all():
        raise InputError(
            str(cube.attrs.get("title", "cube")), "", "only zeros", "counts above 0 somewhere"
        )
    names = [str(f) for f in cube["feature"].values[total == 0]]
    if not names:
        return cube, []
    shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
    return cube.isel(feature=total > 0), [f"features that are always 0 were dropped: {shown}"]


def check_cube(cube: xr.Dataset, name: str) -> list[str]:
    """Return warnings about a cube.

    Raises
    ------
    InputError
        For negative counts, exposures that are not positive, too few steps, or times that do
        not increase.
    """
    seen = cube["observed"].values == 1
    counts = cube["counts"].transpose("series", "step", "feature").values
    bad = seen[..., None] & (counts < 0)
    if bad.any():
        j, t, k = np.argwhere(bad)[0]
        raise InputError(
            name,
            f"series {cube['series'].values[j]}, step {t}, feature {cube['feature'].values[k]}",
            str(counts[j, t, k]),
            "counts of 0 or more where observed",
        )
    exposure = cube["exposure"].transpose("series", "step").values
    wrong = seen & ~(exposure > 0)
    if wrong.any():
        j, t = np.argwhere(wrong)[0]
        raise InputError(
            name,
            f"series {cube['series'].values[j]}, step {t}",
            f"exposure {exposure[j, t]:g}",
            "a positive exposure where observed",
        )
    for dim in ("series", "feature"):
        labels = cube[dim].to_index()
        if labels.has_duplicates:
            again = labels[labels.duplicated()][0]
            raise InputError(name, f"coordinate {dim}", f"{str(again)!r} twice", "each name once")
    if cube.sizes["step"] < 3:
        raise InputError(name, "dimension step", f"{cube.sizes['step']} steps", "at least 3")
    time = cube["time"].transpose("series", "step").values
    if not np.isfinite(time).all():
        raise InputError(name, "variable time", "times that are no numbers", "finite times")
    if (np.diff(time, axis=1) <= 0).any():
        raise InputError(name, "variable time", "times that do not increase", "increasing times")
    return _cube_warnings(cube, seen, counts, exposure)


def _cube_warnings(
    cube: xr.Dataset, seen: np.ndarray, counts: np.ndarray, exposure: np.ndarray
) -> list[str]:
    warnings = []
    positive = (np.where(seen[..., None], counts, 0) > 0).sum((0, 1))
    rare = [str(f) for f in cube["feature"].values[positive == 1]]
    if rare:
        warnings.append(f"features seen once only: {', '.join(rare[:5])}")
    if cube.attrs.get("exposure_kind") == "valid_days":
        share = np.where(seen[..., None], counts / exposure[..., None], np.nan)
        mean = np.nanmean(share, axis=(0, 1))
        loose = [str(f) for f in cube["feature"].values[mean > LOOSE]]
        if loose:
            warnings.append(
                f"event days are bounded by the days there are; mean share above {LOOSE} for"
                f" {', '.join(loose[:5])}: the Poisson law is loose there, rarer events fit better"
            )
    return warnings
