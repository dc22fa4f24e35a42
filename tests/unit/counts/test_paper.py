"""The pages that put published numbers next to ours."""

import math

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from headwater.core.metrics import metric_frame, metric_row
from headwater.core.page import render_page
from headwater.counts.paper import (
    NOT_PUBLISHED,
    NOT_RUN,
    design_table,
    mice_table,
    published,
    recovery_scores,
    recovery_table,
)
from headwater.counts.paper_page import mice_page, recovery_page
from headwater.counts.simulate import simulate_scenario


def recovered():
    rows = []
    for scenario, value in (("moderate_coherence", 0.76), ("low_excitation", 0.61)):
        shared = {"dataset": f"sim_paper_{scenario}", "split": "truth"}
        for method, setting, cosine in (
            ("plnica", {"d": 5, "C": 2}, value),
            ("baseline:picard", {"d": 5}, 0.66),
            ("baseline:pln_pca", {"d": 5}, 0.72),
        ):
            for metric, v in (("mixing_cosine", cosine), ("mixing_cosine_null", 0.5)):
                rows.append(
                    metric_row(method=method, setting=setting, metric=metric, value=v, **shared)
                )
        rows.append(
            metric_row(
                method="null", setting={"d": 5, "C": 2}, metric="mixing_cosine", value=0.5, **shared
            )
        )
    return metric_frame(rows)


def test_recovery_puts_each_scenario_beside_its_own_numbers():
    table = recovery_table(recovered()).set_index(["scenario", "method"])
    ours = table.loc[("low_excitation", "plnica")]
    assert ours["published"] == 0.584 and ours["difference"] == pytest.approx(0.026)
    assert ours["null"] == 0.5 and "C=2 here, C=1 there" in ours["note"]
    # Picard is compared with its own scenario, not with the notebook's low-excitation matrix
    picard = table.xs("baseline:picard", level="method")["published"]
    assert picard["moderate_coherence"] == 0.672 and picard["low_excitation"] == 0.600
    assert table.loc[("moderate_coherence", "null"), "published"] == 0.693
    assert table.loc[("moderate_coherence", "baseline:pln_pca"), "note"] == NOT_PUBLISHED


def test_published_methods_that_we_do_not_run_are_listed_without_a_value_of_ours():
    table = recovery_table(recovered()).set_index(["scenario", "method"])
    uwedge = table.loc[("moderate_coherence", "baseline:uwedge_ica")]
    assert uwedge["published"] == 0.664 and NOT_RUN in uwedge["note"]
    assert uwedge["value"] is None or math.isnan(uwedge["value"])
    # a scenario that did not run shows what was published, and nothing of ours
    high = table.loc["high_coherence"]
    assert high["value"].isna().all() and len(high) == 6


def forecast(method, setting, value, split="horizon"):
    return metric_row(
        "mice13", method, "deviance", value, setting=setting, split=split, interval=(1, 9e3)
    )


def test_mice_meet_their_counterparts_by_method_d_and_C():
    true = {"exposure": "true"}
    metrics = metric_frame(
        [
            forecast("plnica", {"d": 7, "C": 2} | true, 1300.0),
            forecast("plnica", {"d": 3, "C": 2} | true, 1500.0),
            forecast("baseline:training_mean", true, 981.9),
            forecast("baseline:seasonal_mean", true, 990.0),
            forecast("baseline:persistence", {"exposure": "last"}, 5000.0),
            forecast("plnica", {"d": 4, "C": 2}, 800.0, "reconstruction"),
        ]
    )
    table = mice_table(metrics, "mice13", list(range(2, 21)))
    horizon = table[(table["part"] == "horizon") & (table["metric"] == "deviance")]
    by_setting = horizon.set_index("setting")
    assert by_setting.loc["d=7;C=2;exposure=true", "published"] == 1332
    three = by_setting.loc["d=3;C=2;exposure=true"]
    assert math.isnan(three["published"]) and three["note"] == NOT_PUBLISHED
    by_method = horizon.set_index("method")
    mean = by_method.loc["baseline:training_mean"]
    assert mean["difference"] == pytest.approx(-0.1) and mean["note"] == ""
    assert "exposure last here" in by_method.loc["baseline:persistence", "note"]
    # the VAR did not run: its published number stands alone
    var = by_method.loc["baseline:var"]
    assert var["published"] == 2681 and math.isnan(var["value"]) and NOT_RUN in var["note"]
    rebuilt = table[(table["part"] == "reconstruction") & (table["metric"] == "deviance")]
    assert rebuilt.set_index("setting").loc["d=4;C=2", "published"] == 816.4


def test_other_origins_are_said():
    metrics = metric_frame([forecast("baseline:training_mean", {"exposure": "true"}, 1000.0)])
    table = mice_table(metrics, "mice13", [5, 10])
    row = table[table["value"].notna()].iloc[0]
    assert row["note"] == "2 origins here, 2 to 20 there"


def test_published_numbers_say_where_they_are_from():
    for part in published().values():
        assert part["source"] and part["what"] and part["notes"]
    scenarios = published()["recovery"]["scenarios"]
    assert all(0 < m["value"] < 1 for s in scenarios.values() for m in s["methods"].values())
    # the paper's protocol dilutes: each of its scores is below that of the horizon
    for entry in published()["mice"]["forecast"].values():
        ratio = [entry["paper_protocol"][m] / entry["horizon"][m] for m in entry["horizon"]]
        np.testing.assert_allclose(ratio, np.mean([(26 - t) / 26 for t in range(2, 21)]), atol=0.05)


def draw_of(noise, seed):
    """Return a cube with a known mixing, and decompositions that are exact and noisy."""
    rng = np.random.default_rng(seed)
    mixing = np.linalg.qr(rng.standard_normal((6, 2)))[0]
    sources = rng.standard_normal((5, 8, 2))
    cube = xr.Dataset(
        {
            "counts": (("series", "step", "feature"), rng.poisson(3.0, (5, 8, 6))),
            "observed": (("series", "step"), np.ones((5, 8), int)),
            "true_mixing": (("feature", "source"), mixing),
            "true_sources": (("series", "step", "source"), sources),
        }
    )
    spoilt = mixing + noise * rng.standard_normal(mixing.shape)
    found = {
        name: xr.Dataset(
            {
                "mixing": (("feature", "source"), gamma / np.linalg.norm(gamma, axis=0)),
                "sources": (("series", "step", "source"), sources),
            }
        )
        for name, gamma in (("plnica", mixing[:, ::-1] * [-1, 1]), ("baseline:pca", spoilt))
    }
    return cube, found


def test_draws_of_a_scenario_are_pooled_and_each_is_held_against_its_own_truth():
    parts = [
        recovery_scores(*draw_of(0.5, seed), "high_coherence", draw, 3)
        for draw, seed in ((1, 11), (2, 12))
    ]
    table = recovery_table(metric_frame(pd.concat(parts).to_dict("records")))
    rows = table[table["scenario"] == "high_coherence"].set_index("method")
    # exact up to order and sign in both draws, although the two truths differ
    assert rows.loc["plnica", "value"] == pytest.approx(1.0)
    assert rows.loc["plnica", "draws"] == 2 and rows.loc["plnica", "sd_draws"] < 1e-9
    by_draw = [
        p[(p["method"] == "baseline:pca") & (p["metric"] == "mixing_cosine")]["value"].iloc[0]
        for p in parts
    ]
    assert rows.loc["baseline:pca", "value"] == pytest.approx(np.mean(by_draw))
    gap = abs(by_draw[0] - by_draw[1])
    assert rows.loc["baseline:pca", "sd_draws"] == pytest.approx(gap / np.sqrt(2))
    assert list(table["method"]).count("null") == 1


def test_null_and_facts_of_the_papers_own_mixing_are_the_published_ones():
    scenarios = published()["recovery"]["scenarios"]
    parts = []
    for name in scenarios:
        cube = simulate_scenario(f"paper_{name}", 1)
        exact = xr.Dataset({"mixing": cube["true_mixing"], "sources": cube["true_sources"]})
        parts.append(recovery_scores(cube, {"plnica": exact}, name, 1, 0))
    scores = pd.concat(parts, ignore_index=True)
    table = recovery_table(scores)
    nulls = table[table["method"] == "null"].set_index("scenario")
    for name, known in scenarios.items():
        assert nulls.loc[name, "value"] == pytest.approx(known["null"], abs=0.01)
    facts = design_table(scores).set_index(["scenario", "fact"])
    for fact in ("largest_gram", "condition_number"):
        for name, known in scenarios.items():
            assert facts.loc[(name, fact), "mean"] == pytest.approx(known["facts"][fact], abs=0.01)


def test_pages_say_who_won_and_show_published_numbers_apart_from_ours():
    table = recovery_table(recovered())
    html = render_page(recovery_page(table, recovered(), "snakemake paper_counts_recovery", 1))
    assert "0.746" in html and "best baseline pln pca" in html
    assert NOT_RUN in html and "Simulated data" in html
    true = {"exposure": "true"}
    metrics = metric_frame(
        [
            forecast("plnica", {"d": 7, "C": 2} | true, 1300.0),
            forecast("baseline:training_mean", true, 900.0),
        ]
    )
    table = mice_table(metrics, "mice13", list(range(2, 21)))
    html = render_page(mice_page(table, metrics, "snakemake paper_counts_mice", 1))
    assert "best of ours training mean with 900, the model 1300" in html
    assert "best of published training mean with 982, the model 1332" in html
