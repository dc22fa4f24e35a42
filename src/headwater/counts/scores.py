"""Rows of metrics.tsv: recovery of a known truth, and forecasts of held-out series.

Intervals are over series, the independent units; those inside `recovery` are of the measure on
this data set given the fit (series resampled), not over repeated fits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headwater.core.metrics import (
    Interval,
    bootstrap_interval,
    mean_interval,
    metric_frame,
    metric_row,
)

from . import agreement
from .forecast_scores import series_scores

__all__ = ["recovery", "score_forecasts", "score_reconstruction"]

UNITS = {
    "deviance": "nat per entry",
    "interval_score90": "counts",
    "crps": "counts",
}
MEANS = ("deviance", "mae_log1p", "aitchison")
HORIZON = (*MEANS, "coverage90", "interval_score90", "crps")
BINS = 10
RESAMPLES = 1000


# --------------------------------------------------------------------------- known truth


def recovery(
    cube: xr.Dataset, found: xr.Dataset, dataset: str, method: str, seed: int
) -> pd.DataFrame:
    """Return the scores of a fit or a decomposition against the truth of its cube.

    Parameters
    ----------
    cube : Dataset
        With ``true_mixing``, ``true_sources`` and, for more than one regime, ``true_regimes``.
    found : Dataset
        ``mixing`` (feature, source) and ``source_mean`` (the model's) or ``sources`` (series,
        step, source); of the model also ``regime_map`` and ``ar_coef``.
    seed : int
        Of the null and the bootstrap.

    Returns
    -------
    DataFrame
        mixing_cosine (mean, and _1.._d by true source), mixing_cosine_null (mean of 200 random
        |Gamma| with the signs of the estimate), gram_error, source_mcc, source_mcc_detrended,
        regime_ari and regime_accuracy (mean, and by source), ar_coef_error. The model also
        brings a method ``null``, its own null as a mixing_cosine.
    """
    rows = list(_mixing_rows(cube, found, seed))
    observed = cube["observed"].transpose("series", "step").values == 1
    rows += _source_rows(cube, found, observed, seed)
    order, _, _ = agreement.matched(*_mixings(cube, found))
    tables = _regime_tables(cube, found, observed, order)
    if tables is not None:
        rows += _regime_rows(tables, order, seed)
    rows += _ar_rows(cube, found, order, tables)
    shared = {"setting": {k: found.sizes[v] for k, v in SIZES.items() if v in found.sizes}}
    n = int(observed.any(1).sum())
    result = []
    for metric, value, interval in rows:
        own = shared | {"interval": interval, "n": n if np.isfinite(interval.low) else None}
        result.append(metric_row(dataset, method, metric, value, split="truth", **own))
        if metric == "mixing_cosine_null" and not method.startswith("baseline:"):
            null = metric_row(dataset, "null", "mixing_cosine", value, split="truth", **own)
            result.append(null)
    return metric_frame(result)


SIZES = {"d": "source", "C": "regime"}
NONE = Interval(float("nan"), float("nan"))
Rows = Iterator[tuple[str, float, Interval]]


def _mixing_rows(cube: xr.Dataset, found: xr.Dataset, seed: int) -> Rows:
    true, mixing = _mixings(cube, found)
    _, _, cosines = agreement.matched(true, mixing)
    yield "mixing_cosine", cosines.mean(), NONE
    for i, value in enumerate(cosines, 1):
        yield f"mixing_cosine_{i}", value, NONE
    yield "mixing_cosine_null", agreement.null_cosines(true, mixing, seed).mean(), NONE
    yield "gram_error", agreement.gram_error(true, mixing), NONE


def _source_rows(cube: xr.Dataset, found: xr.Dataset, observed: np.ndarray, seed: int) -> Rows:
    dims = ("series", "step", "source")
    true = cube["true_sources"].transpose(*dims).values.astype(float)
    name = "source_mean" if "source_mean" in found else "sources"
    paths = found[name].transpose(*dims).values.astype(float)
    d = true.shape[-1]
    for metric, both in (
        ("source_mcc", (true, paths)),
        ("source_mcc_detrended", [agreement.detrended(p, observed) for p in (true, paths)]),
    ):
        sums = agreement.source_sums(*both, observed)
        yield (
            metric,
            agreement.source_mcc(sums, d),
            _over_series(sums, lambda s: agreement.source_mcc(s, d), seed),
        )


def _mixings(cube: xr.Dataset, found: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    names = ((cube, "true_mixing"), (found, "mixing"))
    true, mixing = (data[name].transpose("feature", "source").values for data, name in names)
    return true, mixing


def _regime_tables(
    cube: xr.Dataset, found: xr.Dataset, observed: np.ndarray, order: np.ndarray
) -> np.ndarray | None:
    """Return contingency by series and true source, (n, d, C, C'); None without regimes."""
    if "true_regimes" not in cube or "regime_map" not in found:
        return None
    dims = ("series", "step", "source")
    true = cube["true_regimes"].transpose(*dims).values.astype(int)
    path = found["regime_map"].transpose(*dims).values.astype(int)
    sizes = (int(true.max()) + 1, found.sizes["regime"])
    if sizes[0] < 2:
        return None
    tables = np.zeros((len(true), len(order), *sizes))
    for i, j in enumerate(order):
        if j >= 0:
            tables[:, i] = agreement.contingency(true[..., i], path[..., j], observed, sizes)
    return tables


def _regime_rows(tables: np.ndarray, order: np.ndarray, seed: int) -> Rows:
    """Yield accuracy and ARI of sources that were matched by their mixing."""
    measures = {"regime_ari": agreement.adjusted_rand, "regime_accuracy": agreement.accuracy}
    for metric, measure in measures.items():
        yield from _by_source(metric, measure, tables, order, seed)


def _by_source(metric: str, measure: Any, tables: np.ndarray, order: np.ndarray, seed: int) -> Rows:
    def values(part: np.ndarray) -> np.ndarray:
        total = part.sum(0)
        return np.array([measure(t) if j >= 0 else 0.0 for t, j in zip(total, order, strict=True)])

    yield metric, values(tables).mean(), _over_series(tables, lambda t: values(t).mean(), seed)
    for i, value in enumerate(values(tables), 1):
        yield f"{metric}_{i}", value, NONE


def _ar_rows(
    cube: xr.Dataset, found: xr.Dataset, order: np.ndarray, tables: np.ndarray | None
) -> Rows:
    """Yield the mean |error| of the AR coefficients of matched sources and regimes."""
    name = next((n for n in ("true_ar_coef", "ar_coef") if n in cube), None)
    if name is None or "ar_coef" not in found or (order < 0).any():
        return
    true = cube[name].values.reshape(len(order), -1)
    estimate = found["ar_coef"].transpose("source", "regime").values[order]
    if true.shape != estimate.shape:
        return
    if tables is not None:
        labels = [agreement.relabelling(t) for t in tables.sum(0)]
        estimate = np.stack([e[label] for e, label in zip(estimate, labels, strict=True)])
    yield "ar_coef_error", np.abs(true - estimate).mean(), NONE


def _over_series(units: np.ndarray, statistic: Any, seed: int) -> Interval:
    return bootstrap_interval(
        units, statistic, method="percentile", n_resamples=RESAMPLES, seed=seed
    )


# --------------------------------------------------------------------------- forecasts


def score_forecasts(
    cube: xr.Dataset,
    forecasts: Mapping[tuple[str, str], xr.Dataset],
    dataset: str,
    seed: int,
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Score the forecasts of all methods on the series held out.

    Parameters
    ----------
    cube : Dataset
        All series.
    forecasts : mapping of (method, fold) to Dataset
        dims (t0, series, step, feature): mean and, if there, q05, q95, pit, draws.
    dataset : str
    seed : int
        Of bootstrap intervals.

    Returns
    -------
    scores : DataFrame
        Rows of metrics.tsv; split is ``horizon`` or ``paper_protocol``. Each value is the mean
        over series of the mean over origins of the mean over steps and features.
    detail : DataFrame
        One row for each method, fold, series and origin.
    pit : DataFrame
        method, low, high, count: histogram of the randomised PIT.

    Raises
    ------
    ValueError
        If methods were not scored on the same series and origins.
    """
    detail = pd.DataFrame(
        [row for key, forecast in forecasts.items() for row in _details(cube, key, forecast)]
    )
    if detail.empty:
        return metric_frame([]), detail, _pit_table({})
    _check_same(detail)
    pits = _pit_values(forecasts)
    rows: list[dict[str, Any]] = []
    for method, part in detail.groupby("method", sort=False):
        name, setting = _name_and_setting(str(method), str(part["exposure"].iloc[0]))
        for split, metric, value, extra in _method_scores(part, pits.get(str(method)), seed):
            own = {"setting": setting, "split": split, **extra}
            rows.append(metric_row(dataset, name, metric, value, **own))
    return metric_frame(rows), detail, _pit_table(pits)


def _method_scores(
    part: pd.DataFrame, pit: np.ndarray | None, seed: int
) -> Iterator[tuple[str, str, float, dict[str, Any]]]:
    """Yield split, metric, mean over series, and interval, n and unit of one method."""
    for split, metric, column in _columns(part):
        units = part.groupby("series", sort=False)[column].mean().dropna().to_numpy()
        # no score is below 0, no coverage above 1; NaN stays NaN
        top = 1.0 if metric.startswith("coverage") else np.inf
        ends = np.clip(mean_interval(units, seed=seed), 0.0, top)
        value = float(units.mean()) if len(units) else float("nan")
        extra = {"interval": tuple(ends.tolist()), "n": len(units), "unit": UNITS.get(metric, "")}
        yield split, metric, value, extra
    if pit is not None:
        yield "horizon", "pit_misplaced", _misplaced(pit), {}


def score_reconstruction(
    cube: xr.Dataset, posteriors: Mapping[tuple[str, str], xr.Dataset], dataset: str, seed: int
) -> pd.DataFrame:
    """Score ``expected_count`` of series held out, all of whose steps the encoder was given.

    Parameters and result as of `score_forecasts`; split is ``reconstruction``.
    """
    means = {
        key: p[["expected_count"]].rename(expected_count="mean").expand_dims(t0=[0])
        for key, p in posteriors.items()
    }
    scores, _, _ = score_forecasts(cube, means, dataset, seed)
    kept = scores[scores["split"] == "horizon"].assign(split="reconstruction")
    return kept.reset_index(drop=True)


def _details(
    cube: xr.Dataset, key: tuple[str, str], forecast: xr.Dataset
) -> Iterator[dict[str, Any]]:
    method, fold = key
    names = [str(s) for s in forecast["series"].values]
    places = {str(s): i for i, s in enumerate(cube["series"].values)}
    own = cube.isel(series=[places[s] for s in names])
    for i, t0 in enumerate(forecast["t0"].values):
        scores = series_scores(own, forecast.isel(t0=i), int(t0))
        for j, series in enumerate(names):
            yield {
                "method": method,
                "exposure": str(forecast.attrs.get("exposure", "")),
                "fold": fold,
                "series": series,
                "t0": int(t0),
                **{k: v[j] for k, v in scores.items()},
            }


def _check_same(detail: pd.DataFrame) -> None:
    """Refuse methods that were scored on different series, origins or steps, or twice."""
    keys = ["series", "t0", "steps"]
    wanted: list[tuple] | None = None
    for method, part in detail.groupby("method", sort=False):
        found = sorted(map(tuple, part[keys].to_numpy().tolist()))
        if len(set(found)) < len(found):
            raise ValueError(f"{method} forecast a series twice from one origin")
        if wanted is not None and found != wanted:
            raise ValueError(f"{method} was not scored on the series and origins of the others")
        wanted = found


def _name_and_setting(method: str, exposure: str) -> tuple[str, dict[str, str]]:
    """Return ``plnica`` and ``d, C, exposure`` for ``plnica_d3_C2``."""
    found = re.fullmatch(r"(.+)_d(\d+)_C(\d+)", method)
    setting = {"d": found[2], "C": found[3]} if found else {}
    return (found[1] if found else method), setting | ({"exposure": exposure} if exposure else {})


def _columns(part: pd.DataFrame) -> Iterator[tuple[str, str, str]]:
    """Yield split, metric and column of `detail` of every mean."""
    for metric in HORIZON:
        if metric in part and part[metric].notna().any():
            yield "horizon", metric, metric
    for metric in MEANS:
        yield "paper_protocol", metric, f"{metric}_all"


def _pit_values(forecasts: Mapping[tuple[str, str], xr.Dataset]) -> dict[str, np.ndarray]:
    """Return the PIT values of every method that has some."""
    parts: dict[str, list[np.ndarray]] = {}
    for (method, _), forecast in forecasts.items():
        if "pit" in forecast:
            values = forecast["pit"].values
            parts.setdefault(method, []).append(values[np.isfinite(values)])
    return {k: np.concatenate(v) for k, v in parts.items() if sum(map(len, v))}


def _histogram(values: np.ndarray) -> np.ndarray:
    return np.histogram(values, BINS, (0.0, 1.0))[0]


def _misplaced(values: np.ndarray) -> float:
    """Return the share of PIT mass that is in another bin than a flat histogram has it."""
    share = _histogram(values) / len(values)
    return float(0.5 * np.abs(share - 1 / BINS).sum())


def _pit_table(pits: Mapping[str, np.ndarray]) -> pd.DataFrame:
    edges = np.linspace(0, 1, BINS + 1)
    rows = [
        (method, edges[i], edges[i + 1], int(count))
        for method, values in pits.items()
        for i, count in enumerate(_histogram(values))
    ]
    return pd.DataFrame(rows, columns=["method", "low", "high", "count"])
