"""The pages that put published numbers next to ours."""

import math

import numpy as np
import pytest

from headwater.core.metrics import metric_frame, metric_row
from headwater.counts.paper import NOT_PUBLISHED, NOT_RUN, mice_table, published, recovery_table


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
