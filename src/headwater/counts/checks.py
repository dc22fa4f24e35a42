"""What a cube must hold, and what one should know about it."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headwater.core.errors import InputError

LOOSE = 0.3  # mean share of event days above which Poisson is a loose law


def check_cube(cube: xr.Dataset, name: str) -> list[str]:
    """Return warnings about a cube.

    Raises
    ------
    InputError
        For negative counts, exposures that are not positive, too few steps, times that do not
        increase, names that stand twice, or covariates that are no numbers.
    """
    for dim in ("series", "feature"):
        _check_labels(cube, dim, name)
    if cube.sizes["step"] < 3:
        hint = "Give longer series, or lower prepare min_library or min_valid."
        raise InputError(name, "dimension step", f"{cube.sizes['step']} steps", "at least 3", hint)
    seen = cube["observed"].transpose("series", "step").values == 1
    counts = cube["counts"].transpose("series", "step", "feature").values
    exposure = cube["exposure"].transpose("series", "step").values
    _check_counts(cube, seen, counts, name)
    _check_exposure(cube, seen, exposure, name)
    _check_time(cube, name)
    if "covariates" in cube:
        _check_covariates(cube, name)
    return _warnings(cube, seen, counts, exposure)


def _check_labels(cube: xr.Dataset, dim: str, name: str) -> None:
    labels = cube[dim].to_index()
    if labels.has_duplicates:
        again = labels[labels.duplicated()][0]
        raise InputError(
            name,
            f"coordinate {dim}",
            f"{str(again)!r} twice",
            "each name once",
            "Rename one of the two.",
        )


def _check_counts(cube: xr.Dataset, seen: np.ndarray, counts: np.ndarray, name: str) -> None:
    bad = seen[..., None] & (counts < 0)
    if bad.any():
        j, t, k = np.argwhere(bad)[0]
        raise InputError(
            name,
            f"series {cube['series'].values[j]}, step {t}, feature {cube['feature'].values[k]}",
            str(counts[j, t, k]),
            "counts of 0 or more where observed",
            "Set observed to 0 at steps that were not counted.",
        )


def _check_exposure(cube: xr.Dataset, seen: np.ndarray, exposure: np.ndarray, name: str) -> None:
    wrong = seen & ~((exposure > 0) & np.isfinite(exposure))
    if wrong.any():
        j, t = np.argwhere(wrong)[0]
        raise InputError(
            name,
            f"series {cube['series'].values[j]}, step {t}",
            f"exposure {exposure[j, t]:g}",
            "a positive finite exposure where observed",
            "Correct it (it is no logarithm), or set observed to 0 there.",
        )


def _check_time(cube: xr.Dataset, name: str) -> None:
    time = cube["time"].transpose("series", "step").values
    for bad, found, expected in (
        (~np.isfinite(time), "no number", "a finite time"),
        (np.diff(time, axis=1, prepend=-np.inf) <= 0, "a time not after the one before", "order"),
    ):
        if bad.any():
            j, t = np.argwhere(bad)[0]
            place = f"variable time, series {cube['series'].values[j]}, step {t}"
            expected = {"order": "increasing times"}.get(expected, expected)
            raise InputError(name, place, found, expected, "Sort the steps of the cube by time.")


def _check_covariates(cube: xr.Dataset, name: str) -> None:
    values = cube["covariates"].transpose("series", "covariate").values
    if not np.isfinite(values).all():
        j, q = np.argwhere(~np.isfinite(values))[0]
        covariate, series = cube["covariate"].values[q], cube["series"].values[j]
        raise InputError(
            name,
            f"covariate {str(covariate)!r}, series {str(series)!r}",
            f"{values[j, q]}",
            "a finite number",
            "Fill it, or leave the covariate or the series out.",
        )


def _warnings(
    cube: xr.Dataset, seen: np.ndarray, counts: np.ndarray, exposure: np.ndarray
) -> list[str]:
    warnings = []
    positive = (np.where(seen[..., None], counts, 0) > 0).sum((0, 1))
    rare = [str(f) for f in cube["feature"].values[positive == 1]]
    if rare:
        warnings.append(f"features seen once only: {', '.join(rare[:5])}")
    if cube.attrs.get("exposure_kind") == "valid_days" and seen.any():
        share = np.where(seen[..., None], counts / exposure[..., None], np.nan)
        mean = np.nanmean(share, axis=(0, 1))
        loose = [str(f) for f in cube["feature"].values[mean > LOOSE]]
        if loose:
            warnings.append(
                f"event days are bounded by the days there are; mean share above {LOOSE} for"
                f" {', '.join(loose[:5])}: the Poisson law is loose there, rarer events fit better"
            )
    return warnings
