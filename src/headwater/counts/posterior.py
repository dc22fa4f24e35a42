"""What a model says about a cube: sources, regimes, fitted counts, bound."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
import xarray as xr

from .data import CubeTensors
from .elbo import bound_terms, fixed_log_rate
from .hmm import viterbi
from .model import Model

CHUNK = 500  # series at once


@torch.no_grad()
def posterior(model: Model, cube: xr.Dataset) -> xr.Dataset:
    """Return the posterior of a cube as named arrays.

    Returns
    -------
    Dataset
        source_mean, source_var (series, step, source; nat, nat^2), regime_prob (..., regime),
        regime_map (Viterbi; in predictive mode the most probable filtered regime),
        expected_count and fitted_log_rate (series, step, feature), and the parameters.
        In predictive mode nothing at a step depends on later ones.
    """
    data = model.tensors(cube)
    parts = [_part(model, data.part(s)) for s in _slices(len(data.observed))]
    joined = {k: np.concatenate([p[k] for p in parts]) for k in parts[0]}
    dims = {
        "source_mean": ("series", "step", "source"),
        "source_var": ("series", "step", "source"),
        "regime_prob": ("series", "step", "source", "regime"),
        "regime_map": ("series", "step", "source"),
        "expected_count": ("series", "step", "feature"),
        "fitted_log_rate": ("series", "step", "feature"),
    }
    result = xr.Dataset(
        {name: (dims[name], values) for name, values in joined.items()},
        coords={name: cube[name].values for name in ("series", "step", "feature")},
    )
    return xr.merge([result, model.parameters.to_dataset(model.features, model.covariates)])


def bound(model: Model, cube: xr.Dataset) -> pd.DataFrame:
    """Return the bound of every series of a cube under a model whose parameters stay fixed.

    Returns
    -------
    DataFrame
        series, elbo, emission, dynamics, entropy (nats), n_observed (counts observed).
    """
    data = model.tensors(cube)
    rows = []
    with torch.no_grad():
        for part in _slices(len(data.observed)):
            batch = data.part(part)
            terms = bound_terms(model.prior(batch), model.encode(batch), model.parameters, batch)
            rows.append(
                pd.DataFrame(
                    {
                        "series": [str(s) for s in cube["series"].values[part]],
                        "elbo": terms.elbo.numpy(),
                        "emission": terms.emission.numpy(),
                        "dynamics": terms.dynamics.numpy(),
                        "entropy": terms.entropy.numpy(),
                        "n_observed": batch.observed.sum(1).numpy().astype(int)
                        * batch.counts.shape[2],
                    }
                )
            )
    return pd.concat(rows, ignore_index=True)


def _slices(n: int) -> list[slice]:
    return [slice(start, min(start + CHUNK, n)) for start in range(0, n, CHUNK)]


def _part(model: Model, data: CubeTensors) -> dict[str, np.ndarray]:
    p = model.parameters
    q = model.encode(data)
    prior = model.prior(data)
    mu, var = q.moments()
    potentials = prior.potentials(mu, var, q.alpha)
    chain = prior.chain(potentials)
    if model.config.mode == "predictive":
        probability = chain.filtered
        path = probability.argmax(-1)
    else:
        probability = chain.marginal
        path = viterbi(potentials, p.regime_init, prior.dynamics()[3])
    eta = fixed_log_rate(p, data) + mu @ p.mixing.T
    rate = torch.exp((eta + 0.5 * var @ (p.mixing**2).T).clamp(max=50.0))
    unseen = data.observed[..., None] == 0
    return {
        "source_mean": mu.numpy(),
        "source_var": var.numpy(),
        "regime_prob": probability.numpy(),
        "regime_map": path.numpy().astype(np.int8),
        "expected_count": rate.masked_fill(unseen, torch.nan).numpy(),
        "fitted_log_rate": eta.numpy(),
    }
