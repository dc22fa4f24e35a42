"""Choice of the number of sources and regimes by the bound of series held out.

The smallest model that is not worse than the best by more than one standard error. The error is
that of the difference on the same folds: folds differ from each other (deep and shallow
libraries) far more than models do on one fold, and a rule with the error of the mean itself
would then take the smallest model whatever the data say. That rule's choice is reported beside.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headwater.core.errors import InputError
from headwater.core.metrics import metric_frame, metric_row, t_interval

from .model import Model
from .posterior import bound
from .split import held_out_part, training_part

COLUMNS = (
    "d",
    "C",
    "fold",
    "seed",
    "elbo_train",
    "heldout",
    "n_train",
    "n_heldout",
    "n_param",
    "bic_like",
)
RULES = ("paired", "classical")


def n_parameters(K: int, d: int, C: int, Q: int) -> int:
    """Return the number of free parameters.

    K d - d of Gamma (unit columns), K Q of M, d (C - 1) of pi, d C (C - 1) of A and 5 d C of
    the dynamics.
    """
    return K * d - d + K * Q + d * (C - 1) + d * C * (C - 1) + 5 * d * C


def held_out_bounds(
    cube: xr.Dataset,
    folds: Mapping[str, Any],
    fits: Iterable[tuple[Mapping[str, Any], str, int]],
) -> pd.DataFrame:
    """Return the bounds of all fits on their own training series and on those held out.

    Parameters
    ----------
    cube : Dataset
    folds : mapping
        Of `split.make_folds`.
    fits : iterable of (state, fold, seed)
        Of `batch.read_fits`. The encoder is applied to the held-out series, no parameter moves.

    Returns
    -------
    DataFrame
        d, C, fold, seed, elbo_train and heldout (nat per observed count), n_train and n_heldout
        (counts), n_param, bic_like (elbo_train less n_param log(n_train) / 2, per count).
    """
    rows = []
    for state, fold, seed in fits:
        model = Model.from_state(state)
        train = bound(model, training_part(cube, folds, fold))
        test = bound(model, held_out_part(cube, folds, fold))
        n_train, n_test = int(train["n_observed"].sum()), int(test["n_observed"].sum())
        p = model.parameters
        free = n_parameters(cube.sizes["feature"], p.d, p.C, len(model.covariates))
        elbo = float(train["elbo"].sum()) / n_train
        penalty = 0.5 * free * np.log(n_train) / n_train
        heldout = float(test["elbo"].sum()) / n_test if n_test else float("nan")
        rows.append(
            (p.d, p.C, fold, int(seed), elbo, heldout, n_train, n_test, free, elbo - penalty)
        )
    return pd.DataFrame(rows, columns=list(COLUMNS))


def select(
    table: pd.DataFrame, grid: Sequence[tuple[int, int]], rule: str = "paired"
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Choose d and C.

    Parameters
    ----------
    table : DataFrame
        Of `held_out_bounds`; may be empty where the grid has one point.
    grid : sequence of (d, C)
    rule : paired | classical
        Standard error of the difference to the best over folds, or of the best itself.

    Returns
    -------
    table : DataFrame
        The same, sorted by d, C, fold, seed.
    selected : dict
        d, C, rule; with a choice also best (d, C of the highest bound), heldout of the choice,
        difference and its standard_error, and other_rule (the other rule's d, C).

    Raises
    ------
    InputError
        If a grid point has no finite bound, folds or seeds are missing, or the rule is unknown.
    """
    if rule not in RULES:
        raise InputError(None, "rule of selection", repr(rule), "one of " + ", ".join(RULES))
    points = sorted({(int(d), int(c)) for d, c in grid})
    table = table.sort_values(["d", "C", "fold", "seed"], ignore_index=True)
    if len(points) == 1 and table.empty:
        return table, {"d": points[0][0], "C": points[0][1], "rule": "only one point in the grid"}
    wide = _by_fold(table, points)
    best = max(points, key=lambda p: (wide[p].mean(), -p[0], -p[1]))
    chosen = {name: _smallest(wide, points, best, name) for name in RULES}
    d, c = chosen[rule]
    other = chosen[RULES[1 - RULES.index(rule)]]
    gap = wide[best] - wide[(d, c)]
    selected = {
        "d": d,
        "C": c,
        "rule": f"{rule} one-standard-error rule over {len(wide)} folds",
        "heldout": float(wide[(d, c)].mean()),
        "best": {"d": best[0], "C": best[1]},
        "difference": float(gap.mean()),
        "standard_error": float(gap.sem()) if len(wide) > 1 else None,
        "other_rule": {"d": other[0], "C": other[1]},
    }
    return table, selected


def held_out_scores(table: pd.DataFrame, selected: Mapping[str, Any], dataset: str) -> pd.DataFrame:
    """Return rows of metrics.tsv: the bounds of every grid point, intervals over folds."""
    rows = []
    for (d, c), part in table.groupby(["d", "C"]):
        setting = {"d": d, "C": c}
        if (d, c) == (selected["d"], selected["C"]):
            setting["selected"] = "yes"
        means = part.groupby("fold")[["heldout", "elbo_train", "bic_like"]].mean()
        for column, metric, split in (
            ("heldout", "elbo", "held_out"),
            ("elbo_train", "elbo", "training"),
            ("bic_like", "bic_like", "training"),
        ):
            values = means[column].to_numpy()
            rows.append(
                metric_row(
                    dataset,
                    "plnica",
                    metric,
                    values.mean(),
                    setting=setting,
                    split=split,
                    interval=t_interval(values),
                    n=len(values),
                    unit="nat per count",
                )
            )
    return metric_frame(rows)


def _by_fold(table: pd.DataFrame, points: Sequence[tuple[int, int]]) -> pd.DataFrame:
    """Return held-out bounds, folds down and grid points across, seeds averaged.

    Averaged and not the best seed: the best one would be chosen on the series held out.
    """
    wide = table.pivot_table(index="fold", columns=["d", "C"], values="heldout")
    for point in points:
        full = point in wide.columns and np.isfinite(wide[point]).all()
        if not full:
            raise InputError(
                None,
                f"grid point d={point[0]}, C={point[1]}",
                "no finite held-out bound in some fold",
                "one in every fold",
                "Look at the log of its fits, or take the point out of counts.select.",
            )
    return wide


def _smallest(
    wide: pd.DataFrame, points: Sequence[tuple[int, int]], best: tuple[int, int], rule: str
) -> tuple[int, int]:
    """Return the smallest (d, then C) within one standard error of the best."""
    for point in points:
        gap = wide[best] - wide[point]
        error = gap.sem() if rule == "paired" else wide[best].sem()
        # with one fold there is no error: only the best itself passes
        if gap.mean() <= (error if np.isfinite(error) else 0.0):
            return point
    return best
