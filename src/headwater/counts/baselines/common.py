"""What the baselines share: log-rates, proportions, and the frame of a decomposition."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import xarray as xr

from headwater.core.errors import InputError

PSEUDO = 0.5  # added to every count before a logarithm


class Decomposition(Protocol):
    """A method that gives a mixing matrix and sources.

    `decompose` takes a cube, the number of components and a seed, and returns ``mixing``
    (feature, source; unit columns) and ``sources`` (series, step, source; NaN where unobserved).
    """

    def decompose(self, cube: xr.Dataset, d: int, seed: int) -> xr.Dataset:
        """Return mixing and sources of a cube."""
        ...


def observed_of(cube: xr.Dataset) -> np.ndarray:
    """Return w as booleans, (n, T)."""
    return cube["observed"].transpose("series", "step").values == 1


def counts_of(cube: xr.Dataset) -> np.ndarray:
    """Return x as float64, NaN where unobserved, (n, T, K)."""
    counts = cube["counts"].transpose("series", "step", "feature").values.astype(float)
    return np.where(observed_of(cube)[..., None], counts, np.nan)


def exposure_of(cube: xr.Dataset) -> np.ndarray:
    """Return the exposure, NaN where unobserved, (n, T)."""
    exposure = cube["exposure"].transpose("series", "step").values.astype(float)
    return np.where(observed_of(cube), exposure, np.nan)


def rates_of(cube: xr.Dataset) -> np.ndarray:
    """Return counts per unit of exposure, NaN where unobserved, (n, T, K)."""
    return counts_of(cube) / exposure_of(cube)[..., None]


def log_rates(cube: xr.Dataset) -> np.ndarray:
    """Return log(x + 0.5) - o, NaN where unobserved, (n, T, K)."""
    return np.log(counts_of(cube) + PSEUDO) - np.log(exposure_of(cube))[..., None]


def pooled_log_rates(cube: xr.Dataset, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return centred log-rates of all observed steps, (N, K), and the mask (n, T).

    Raises
    ------
    InputError
        If they have fewer than d directions of variance.
    """
    observed = observed_of(cube)
    z = log_rates(cube)[observed]
    z = z - z.mean(0)
    rank = int(np.linalg.matrix_rank(z))
    if d < 1 or d > rank:
        raise InputError(
            None,
            "number of components",
            f"d = {d}",
            f"1 to {rank}, the directions in which the log counts vary",
        )
    return z, observed


def as_dataset(
    cube: xr.Dataset, mixing: np.ndarray, sources: np.ndarray, **attrs: float | str
) -> xr.Dataset:
    """Return a decomposition in the frame of the model's posterior.

    Columns of unit norm, their largest entry positive, sources by decreasing variance.

    Parameters
    ----------
    mixing : (K, d)
    sources : (N, d)
        At the observed steps, in the order of (series, step).
    """
    norm = np.linalg.norm(mixing, axis=0)
    mixing, sources = mixing / norm, sources * norm
    sign = np.sign(mixing[np.abs(mixing).argmax(0), np.arange(mixing.shape[1])])
    order = np.argsort(-sources.var(0), kind="stable")
    observed = observed_of(cube)
    paths = np.full((*observed.shape, mixing.shape[1]), np.nan)
    paths[observed] = (sources * sign)[:, order]
    return xr.Dataset(
        {
            "mixing": (("feature", "source"), (mixing * sign)[:, order]),
            "sources": (("series", "step", "source"), paths),
        },
        coords={name: cube[name].values for name in ("series", "step", "feature")},
        attrs=attrs,
    )
