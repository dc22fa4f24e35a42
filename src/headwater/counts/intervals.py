"""Dynamics at unequal intervals: the exact skeleton of AR(1) and regime chain.

Regimes follow a chain in continuous time with generator Q (rows sum to 0, off-diagonal rates
not negative), so that A = expm(Q) and the kernel of an interval dt is expm(Q dt), stochastic
for every dt. Powers of A by eigenvalues would not be: they turn negative or complex for chains
that no continuous one passes through.
"""

from __future__ import annotations

import numpy as np
import torch
from scipy.linalg import logm

from .parameters import Parameters

SAME = 1e-6  # of expm(generator) and A


def at_intervals(
    p: Parameters, dt: torch.Tensor, generator: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return a, b, v (n, T, d, C) and regime kernels (n, T, d, C, C) at intervals dt (n, T).

    a^dt, b (1 - a^dt)/(1 - a), v (1 - a^2dt)/(1 - a^2) and A^dt; dt is in base steps.

    Parameters
    ----------
    generator : (d, C, C), optional
        Q with A = expm(Q); found from A where it is not given.

    Raises
    ------
    ValueError
        If dt is not whole and a coefficient lies outside (0, 1) or A has no generator: then
        there is nothing between two steps. If a coefficient is not inside (-1, 1).
    """
    whole = bool((dt == dt.round()).all())
    low = -1.0 if whole else 0.0
    if not bool(((p.ar_coef > low) & (p.ar_coef < 1)).all()):
        raise ValueError(
            f"time_model gap needs every AR coefficient in ({low:g}, 1)"
            + ("" if whole else " as intervals are not whole")
        )
    power = dt[..., None, None]
    a = p.ar_coef**power
    b = p.ar_bias * (1 - a) / (1 - p.ar_coef)
    v = p.ar_var * (1 - a**2) / (1 - p.ar_coef**2)
    unique, place = torch.unique(dt, return_inverse=True)
    return a, b, v, _kernels(p.regime_transition, unique, generator)[place]


def _kernels(
    matrix: torch.Tensor, powers: torch.Tensor, generator: torch.Tensor | None
) -> torch.Tensor:
    """Return A to each power, (U, d, C, C)."""
    if matrix.shape[-1] == 1:
        return torch.ones(len(powers), *matrix.shape, dtype=matrix.dtype)
    if generator is None and bool((powers == powers.round()).all()):
        return torch.stack([torch.linalg.matrix_power(matrix, int(u)) for u in powers])
    if generator is None:
        generator = nearest_generator(matrix)
        if float((torch.linalg.matrix_exp(generator) - matrix).abs().max()) > SAME:
            raise ValueError(
                "time_model gap: a regime chain that no chain in continuous time passes through"
                " has no kernel for intervals that are not whole"
            )
    kernels = torch.linalg.matrix_exp(powers[:, None, None, None] * generator)
    return kernels.clamp(min=1e-12)  # rounding must not give a negative probability


def nearest_generator(matrix: torch.Tensor) -> torch.Tensor:
    """Return Q (d, C, C) with expm(Q) = A, or near A where there is no such Q.

    The real matrix logarithm with negative rates cut off (Israel, Rosenthal and Wei 2001); a
    chain whose logarithm is not real is first made lazier.
    """
    result = torch.zeros_like(matrix)
    for i, rows in enumerate(matrix.detach().numpy()):
        lazy = rows
        # eigenvalues near or left of 0 have no real logarithm
        while np.linalg.eigvals(lazy).real.min() < 1e-6:
            lazy = 0.5 * (lazy + np.eye(len(rows)))
        rates = torch.as_tensor(logm(lazy).real.copy()).clamp(min=0)
        result[i] = rates_to_generator(rates)
    return result


def rates_to_generator(rates: torch.Tensor) -> torch.Tensor:
    """Return Q from rates (..., C, C), whose diagonal is not used: rows sum to 0."""
    off = rates - torch.diag_embed(torch.diagonal(rates, dim1=-2, dim2=-1))
    return off - torch.diag_embed(off.sum(-1))
