"""What the configuration asks of the synthesis, and what of it goes into metrics.tsv."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headwater.core.metrics import metric_frame, metric_row, wilson_interval

from .synth.plan import Settings

if TYPE_CHECKING:
    import pandas as pd

DATASET = "synthetic"


def settings_of(block: Mapping[str, Any], seed: int) -> Settings:
    """Return the settings of a synthesis from its block of the configuration."""
    return Settings(
        seed=seed,
        instances=block["instances"],
        systems=tuple(block["cases"]),
        ood_systems=tuple(block["ood_cases"]),
    )


def synthesis_scores(summary: Mapping[str, Any], checked: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of metrics.tsv of a synthesis.

    Parameters
    ----------
    summary : mapping
        As `headwater.opf.synth.statistics.summary` returns it.
    checked : DataFrame
        As `headwater.opf.synth.merge.agreement` returns it; empty where MATPOWER was not asked.
    """
    counts = {
        "instances_accepted": summary["accepted"],
        "instances_kept": summary["kept"],
        "attempts_rejected": summary["rejected_attempts"],
    }
    rows = [metric_row(DATASET, "engine", k, float(v), split="all") for k, v in counts.items()]
    active = summary["all_items_active_share"]
    if active is not None:
        right = round(active * summary["kept"])
        rows.append(_share("all_items_active_share", right, summary["kept"], "all"))
    if len(checked):
        right = int(checked["agrees"].sum())
        rows.append(_share("matpower_agreement_share", right, len(checked), "cross_check"))
        worst = checked["relative_difference"].abs().max()
        if worst == worst:
            rows.append(
                metric_row(
                    DATASET,
                    "engine",
                    "matpower_difference_max",
                    float(worst),
                    split="cross_check",
                    n=len(checked),
                )
            )
    return metric_frame(rows)


def _share(metric: str, right: int, total: int, split: str) -> dict[str, Any]:
    return metric_row(
        DATASET,
        "engine",
        metric,
        right / total,
        split=split,
        interval=wilson_interval(right, total),
        n=total,
    )
