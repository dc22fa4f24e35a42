"""A cube as tensors: what the model reads of counts.md §7.1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
import xarray as xr

from headwater.core.errors import InputError


@dataclass(frozen=True)
class CubeTensors:
    """One batch of series (float64).

    Attributes
    ----------
    counts : (n, T, K)
        x; 0 where unobserved.
    observed : (n, T)
        w; 1 where observed.
    offset : (n, T)
        o = log exposure, nat; 0 where unobserved.
    covariates : (n, Q)
        c; a column of ones first where an intercept is fitted.
    dt : (n, T)
        Time since the step before in units of the median step; 1 at the first step.
    log_factorial : (n, T)
        sum_k log x_tk!, the constant of the emission term.
    """

    counts: torch.Tensor
    observed: torch.Tensor
    offset: torch.Tensor
    covariates: torch.Tensor
    dt: torch.Tensor
    log_factorial: torch.Tensor

    def part(self, index: torch.Tensor | slice) -> CubeTensors:
        """Return the chosen series."""
        return CubeTensors(*(getattr(self, f.name)[index] for f in fields(self)))

    @property
    def n_entries(self) -> int:
        """Number of observed counts."""
        return int(self.observed.sum().item()) * self.counts.shape[2]


def cube_tensors(cube: xr.Dataset, intercept: bool) -> CubeTensors:
    """Return the tensors of a cube.

    Raises
    ------
    InputError
        If covariates hold NaN, or one is constant beside an intercept.
    """
    observed = cube["observed"].transpose("series", "step").values == 1
    counts = cube["counts"].transpose("series", "step", "feature").values.astype(np.float64)
    counts = np.where(observed[..., None], counts, 0.0)
    exposure = cube["exposure"].transpose("series", "step").values
    offset = np.log(np.where(observed, exposure, 1.0))
    if not np.isfinite(offset).all():
        raise InputError(
            None,
            "variable exposure",
            "a value that is not above 0 at an observed step",
            "positive exposure",
            "Mark the step as unobserved or correct its exposure.",
        )
    x = torch.as_tensor(counts)
    return CubeTensors(
        counts=x,
        observed=torch.as_tensor(observed.astype(np.float64)),
        offset=torch.as_tensor(offset),
        covariates=torch.as_tensor(_covariates(cube, intercept)),
        dt=torch.as_tensor(_intervals(cube)),
        log_factorial=torch.lgamma(x + 1).sum(-1),
    )


def covariate_names(cube: xr.Dataset, intercept: bool) -> list[str]:
    """Return the names of the columns of `CubeTensors.covariates`."""
    names = ["intercept"] if intercept else []
    if "covariates" in cube:
        names += [str(v) for v in cube["covariate"].values]
    return names


def _covariates(cube: xr.Dataset, intercept: bool) -> np.ndarray:
    n = cube.sizes["series"]
    columns: list[np.ndarray] = [np.ones(n)] if intercept else []
    names: Sequence[str] = covariate_names(cube, False)
    if names:
        values = cube["covariates"].transpose("series", "covariate").values.astype(np.float64)
        for name, column in zip(names, values.T, strict=True):
            _check_covariate(name, column, cube, intercept)
            columns.append(column)
    return np.stack(columns, axis=1) if columns else np.zeros((n, 0))


def _check_covariate(name: str, column: np.ndarray, cube: xr.Dataset, intercept: bool) -> None:
    if not np.isfinite(column).all():
        series = str(cube["series"].values[~np.isfinite(column)][0])
        raise InputError(
            None,
            f"covariate {name!r}, series {series!r}",
            "no finite number",
            "a number for every series",
            "Fill it or leave the covariate out.",
        )
    if intercept and np.ptp(column) <= 1e-12 * max(1.0, np.abs(column).max()):
        raise InputError(
            None,
            f"covariate {name!r}",
            f"the same value {column[0]:g} in every series",
            "a covariate that varies, as an intercept is fitted too",
            "Leave the covariate out, or set model.intercept to false.",
        )


def _intervals(cube: xr.Dataset) -> np.ndarray:
    shape = (cube.sizes["series"], cube.sizes["step"])
    dt = np.ones(shape)
    if "time" not in cube or shape[1] < 2:
        return dt
    time = cube["time"].transpose("series", "step").values.astype(np.float64)
    steps = np.diff(time, axis=1)
    known = steps[np.isfinite(steps) & (steps > 0)]
    if known.size:
        dt[:, 1:] = np.where(np.isfinite(steps) & (steps > 0), steps / np.median(known), 1.0)
    return dt
