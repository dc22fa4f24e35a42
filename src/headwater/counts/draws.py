"""Whether counts drawn from a fitted model look like the data: sliced Wasserstein-2 distance.

Whole series are drawn from the generative law, not from a posterior: this tells what the model
as such has learnt of the counts, their mixture and their spread.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
import xarray as xr

from headwater.core.metrics import metric_frame, metric_row

from .agreement import sliced_wasserstein2, standardised_rows
from .data import CubeTensors
from .model import Model
from .particles import MAX_LOG_RATE, advance, law_of

DRAWS = 500  # series
MOST_ROWS = 4000  # steps of each of the two samples: bounds the memory
BLOCK = 100  # series at a time


def draw_counts(model: Model, data: CubeTensors, rng: np.random.Generator) -> np.ndarray:
    """Return counts (n, T, K) of series with the exposures and covariates of `data`."""
    law = law_of(model.parameters, data, model.config.time_model == "gap")
    n, steps, features = data.counts.shape
    counts = np.empty((n, steps, features))
    state = None
    for t in range(steps):
        state = advance(law, state, t, n, 1, rng)
        eta = state.source[:, 0] @ law.mixing.T + data.offset[:, t, None].numpy() + law.shift
        counts[:, t] = rng.poisson(np.exp(np.minimum(eta, MAX_LOG_RATE)))
    return counts


def draw_distance(
    model: Model, cube: xr.Dataset, dataset: str, seed: int, draws: int = DRAWS
) -> pd.DataFrame:
    """Return the distance of drawn counts from the data, and that of two halves of the data.

    Each drawn series takes exposures, covariates and holes of a random series of the data.

    Returns
    -------
    DataFrame
        Rows of metrics.tsv: sliced_wasserstein2 of ``plnica``, and of ``null``: random halves
        of the series, what is left where two samples have one law. None for a single series.
    """
    rng = np.random.default_rng(seed)
    data = model.tensors(cube)
    n = len(data.observed)
    seen = data.observed.numpy() > 0
    real = data.counts.numpy()
    parts = []
    picked = rng.integers(n, size=draws)
    for start in range(0, draws, BLOCK):
        index = torch.as_tensor(picked[start : start + BLOCK])
        parts.append(draw_counts(model, data.part(index), rng)[seen[index.numpy()]])
    distance = _distance(np.concatenate(parts), real[seen], rng, seed)
    setting = {"d": model.parameters.d, "C": model.parameters.C}
    shared = {"setting": setting, "split": "draws", "n": n}
    rows = [metric_row(dataset, "plnica", "sliced_wasserstein2", distance, **shared)]
    if n > 1:
        first = np.isin(np.arange(n), rng.permutation(n)[: n // 2])
        halves = _distance(real[first][seen[first]], real[~first][seen[~first]], rng, seed)
        rows.append(metric_row(dataset, "null", "sliced_wasserstein2", halves, **shared))
    return metric_frame(rows)


def _distance(one: np.ndarray, two: np.ndarray, rng: np.random.Generator, seed: int) -> float:
    """Return the distance of rows (steps, features) as shares: log-standardised each."""
    samples = []
    for rows in (one, two):
        if len(rows) > MOST_ROWS:
            rows = rows[rng.choice(len(rows), MOST_ROWS, replace=False)]
        samples.append(standardised_rows(rows))
    return sliced_wasserstein2(*samples, seed=seed)
