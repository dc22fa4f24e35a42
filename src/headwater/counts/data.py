"""A cube as tensors: what the model reads of one."""

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
        Time since the step before in base steps; 1 at the first step.
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


def cube_tensors(cube: xr.Dataset, intercept: bool, base_step: float | None = None) -> CubeTensors:
    """Return the tensors of a cube.

    Parameters
    ----------
    base_step : float, optional
        What dt counts in, in the cube's unit of time; the median step where it is not given.

    Raises
    ------
    InputError
        If covariates hold NaN, an exposure is not positive or times do not increase.
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
        dt=torch.as_tensor(_intervals(cube, base_step)),
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
            _check_covariate(name, column, cube)
            columns.append(column)
    return np.stack(columns, axis=1) if columns else np.zeros((n, 0))


def _check_covariate(name: str, column: np.ndarray, cube: xr.Dataset) -> None:
    if not np.isfinite(column).all():
        series = str(cube["series"].values[~np.isfinite(column)][0])
        raise InputError(
            None,
            f"covariate {name!r}, series {series!r}",
            "no finite number",
            "a number for every series",
            "Fill it or leave the covariate out.",
        )


def check_collinear(covariates: torch.Tensor, names: Sequence[str]) -> None:
    """Refuse covariates (n, Q) whose effects cannot be told apart; for training data only.

    Raises
    ------
    InputError
        If a column is constant beside an intercept, or a combination of those before it.
    """
    kept: list[np.ndarray] = []
    for name, column in zip(names, covariates.numpy().T, strict=True):
        size = np.abs(column).max(initial=0.0)
        if names[0] == "intercept" and name != names[0] and np.ptp(column) <= 1e-12 * size:
            raise InputError(
                None,
                f"covariate {name!r}",
                f"the same value {column[0]:g} in every series",
                "a covariate that varies, as an intercept is fitted too",
                "Leave the covariate out, or set model.intercept to false.",
            )
        # columns are centred, so that a large mean does not hide how they vary
        level = column.mean() if names[0] == "intercept" and kept else 0.0
        unit = (column - level) / max(np.linalg.norm(column - level), 1e-300)
        if np.linalg.matrix_rank(np.stack([*kept, unit], 1), tol=1e-8) <= len(kept):
            raise InputError(
                None,
                f"covariate {name!r}",
                "a combination of the covariates before it",
                "covariates that are linearly independent over the series",
                "Leave it out.",
            )
        kept.append(unit)


def median_step(cube: xr.Dataset) -> float:
    """Return the median time between steps, in the cube's unit; 1 where it has no times."""
    if "time" not in cube or cube.sizes["step"] < 2:
        return 1.0
    return float(np.median(np.diff(_times(cube), axis=1)))


def _times(cube: xr.Dataset) -> np.ndarray:
    time = cube["time"].transpose("series", "step").values.astype(np.float64)
    bad = ~(np.diff(time, axis=1) > 0)
    if bad.any():
        j, t = np.argwhere(bad)[0]
        raise InputError(
            None,
            f"variable time, series {str(cube['series'].values[j])!r}, step {t + 1}",
            f"{time[j, t + 1]:g} after {time[j, t]:g}",
            "finite times that increase",
            "Sort the samples by time, or merge those of the same time.",
        )
    return time


def _intervals(cube: xr.Dataset, base_step: float | None) -> np.ndarray:
    dt = np.ones((cube.sizes["series"], cube.sizes["step"]))
    if "time" in cube and dt.shape[1] > 1:
        base = median_step(cube) if base_step is None else base_step
        dt[:, 1:] = np.diff(_times(cube), axis=1) / base
    return dt
