"""Selection by held-out bounds, on tables whose answer is known, and on real fits."""

import numpy as np
import pandas as pd
import pytest

from headwater.core.errors import InputError
from headwater.counts.fit import FitConfig, fit_plnica
from headwater.counts.model import Model
from headwater.counts.posterior import bound
from headwater.counts.select import held_out_bounds, held_out_scores, n_parameters, select
from headwater.counts.simulate import random_design
from headwater.counts.split import held_out_part, make_folds, training_part

# what folds have in common, far larger than what models differ by
FOLDS = np.array([-2.0, -3.5, -1.0, -2.8, -1.9])


def table_of(gains, seeds=1, noise=0.0):
    """Return a table in which model (d, C) is better by its gain on every fold."""
    rng = np.random.default_rng(0)
    rows = [
        (d, c, f"fold{k:02d}", s, level + gain + 0.1, level + gain + noise * rng.normal())
        for (d, c), gain in gains.items()
        for k, level in enumerate(FOLDS)
        for s in range(seeds)
    ]
    table = pd.DataFrame(rows, columns=["d", "C", "fold", "seed", "elbo_train", "heldout"])
    return table.assign(n_train=400, n_heldout=100, n_param=20, bic_like=table["elbo_train"] - 0.1)


def test_number_of_free_parameters_by_hand():
    # K d - d = 8, K Q = 10, pi 2, A 4, dynamics 20
    assert n_parameters(K=5, d=2, C=2, Q=2) == 8 + 10 + 2 + 4 + 20
    # one regime has neither pi nor A to learn
    assert n_parameters(K=12, d=5, C=1, Q=0) == 55 + 25


def test_a_clear_winner_is_taken():
    gains = {(1, 1): 0.0, (2, 1): 0.2, (2, 2): 0.5, (3, 2): 0.4}
    _, selected = select(table_of(gains, noise=0.01), list(gains))
    assert (selected["d"], selected["C"]) == (2, 2) and selected["best"] == {"d": 2, "C": 2}
    assert selected["difference"] == 0


def test_what_folds_share_does_not_hide_a_difference():
    gains = {(1, 1): 0.0, (2, 1): 0.3}
    _, selected = select(table_of(gains, noise=0.01), list(gains))
    assert (selected["d"], selected["C"]) == (2, 1)
    # the error of the mean over folds is 0.42: the classical rule sees no difference
    assert selected["other_rule"] == {"d": 1, "C": 1}
    _, classical = select(table_of(gains, noise=0.01), list(gains), rule="classical")
    assert (classical["d"], classical["C"]) == (1, 1)


def test_within_one_standard_error_the_smaller_model_is_taken():
    table = table_of({(2, 1): 0.0, (2, 2): 0.0, (3, 1): 0.0})
    ups = {
        (2, 1): [0.0] * 5,
        (2, 2): [0.3, -0.2, 0.3, -0.3, 0.1],
        (3, 1): [0.5, -0.3, 0.2, -0.3, 0.2],
    }
    for (d, c), values in ups.items():
        place = (table["d"] == d) & (table["C"] == c)
        table.loc[place, "heldout"] = FOLDS + values
    _, selected = select(table, list(ups))
    assert selected["best"] == {"d": 3, "C": 1}
    # mean 0.06 over sem 0.156 of the five differences
    assert (selected["d"], selected["C"]) == (2, 1)
    assert selected["difference"] == pytest.approx(0.06)
    assert selected["standard_error"] == pytest.approx(np.std(ups[3, 1], ddof=1) / np.sqrt(5))


def test_d_is_made_small_before_C():
    gains = {(2, 3): 0.0, (3, 1): 0.0}
    _, selected = select(table_of(gains), list(gains))
    assert (selected["d"], selected["C"]) == (2, 3)


def test_seeds_are_averaged_before_folds_are_compared():
    one, many = table_of({(1, 1): 0.0, (2, 1): 0.1}), table_of({(1, 1): 0.0, (2, 1): 0.1}, seeds=4)
    for table in (one, many):
        table["heldout"] += np.where(
            table["d"] == 2, 0.2 * (FOLDS[table["fold"].str[-1].astype(int)]), 0
        )
    results = [select(t, [(1, 1), (2, 1)])[1] for t in (one, many)]
    assert results[0]["standard_error"] == pytest.approx(results[1]["standard_error"])
    assert results[0]["d"] == results[1]["d"] == 1


def test_one_point_needs_no_fit():
    empty = held_out_bounds(None, None, [])
    table, selected = select(empty, [(3, 2)])
    assert (selected["d"], selected["C"]) == (3, 2) and table.empty
    assert held_out_scores(table, selected, "x").empty


def test_missing_points_and_bounds_are_named():
    gains = {(1, 1): 0.0, (2, 1): 0.2}
    with pytest.raises(InputError, match="grid point d=3, C=1"):
        select(table_of(gains), [*gains, (3, 1)])
    table = table_of(gains)
    table.loc[7, "heldout"] = np.nan
    with pytest.raises(InputError, match="grid point d=2, C=1"):
        select(table, list(gains))
    with pytest.raises(InputError, match="one of paired, classical"):
        select(table_of(gains), list(gains), rule="best")


def test_scores_are_rows_of_the_contract():
    gains = {(1, 1): 0.0, (2, 1): 0.3}
    table, selected = select(table_of(gains, seeds=2), list(gains))
    rows = held_out_scores(table, selected, "mice")
    held = rows[rows["split"] == "held_out"].set_index("setting")
    assert held.loc["d=2;C=1;selected=yes", "value"] == pytest.approx(FOLDS.mean() + 0.3)
    assert held.loc["d=1;C=1", "n"] == 5


def test_bounds_of_real_fits():
    cube = random_design(9, 8, 4, 1, 1, seed=2)
    folds = make_folds(cube, "kfold", 3, seed=0)
    config = FitConfig.from_mapping({"d": 1, "C": 1, "epochs": 12, "warmup": 4, "init_epochs": 3})
    fits = []
    for fold in ("fold00", "fold01", "fold02"):
        fit = fit_plnica(training_part(cube, folds, fold), config, seed=1)
        fits.append((fit.model.state(), fold, 0))
    table = held_out_bounds(cube, folds, fits)
    assert (
        table["n_heldout"].tolist() == [3 * 8 * 4] * 3
        and table["n_train"].tolist() == [6 * 8 * 4] * 3
    )
    model = Model.from_state(fit.model.state())
    peer = bound(model, held_out_part(cube, folds, "fold02"))["elbo"].sum() / 96
    assert table["heldout"].iloc[2] == pytest.approx(peer, rel=1e-12)
    assert table["n_param"].unique() == n_parameters(4, 1, 1, 1)
    penalty = (table["elbo_train"] - table["bic_like"]) * 192
    np.testing.assert_allclose(penalty, 0.5 * table["n_param"] * np.log(192))
    assert select(table, [(1, 1)])[1]["d"] == 1
