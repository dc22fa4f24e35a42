"""Counts of a synthesis for its figures, its summary and its datasheet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..extensions import REGISTRY
from ..fields import FIELDS
from ..language import bank
from .merge import PARTS, Merged
from .plan import LEVELS, Settings
from .shard import EXHAUSTED
from .structures import MAKERS

if TYPE_CHECKING:
    import pandas as pd

# Edges of |relative change of the objective|, half decades from the smallest accepted one.
EDGES = np.round(10.0 ** np.arange(-4, 1.01, 0.5), 8)


def effect_histogram(manifest: pd.DataFrame) -> pd.DataFrame:
    """Return how many instances move the objective by how much.

    Returns
    -------
    DataFrame
        level, low, high (edges of ``|J - J_plain| / J_plain``; the last bin has no upper edge),
        count.
    """
    import pandas as pd

    edges = np.append(EDGES, np.inf)
    rows = []
    for level, group in manifest.groupby("level", sort=True):
        counts, _ = np.histogram(group["relative_change"].abs(), bins=edges)
        rows += [
            {"level": level, "low": low, "high": high, "count": int(n)}
            for low, high, n in zip(edges[:-1], edges[1:], counts, strict=True)
        ]
    return pd.DataFrame(rows, columns=["level", "low", "high", "count"])


def reject_reasons(rejects: pd.DataFrame) -> pd.DataFrame:
    """Return level, reason, count of rejected attempts, the most frequent reason first."""
    rows = rejects[rejects["reason"] != EXHAUSTED]
    table = rows.groupby(["level", "reason"], sort=True)["count"].sum().reset_index()
    order = table.groupby("reason")["count"].sum()
    table["total"] = table["reason"].map(order)
    table = table.sort_values(["total", "reason", "level"], ascending=[False, True, True])
    return table.drop(columns="total").reset_index(drop=True)


def field_coverage(manifest: pd.DataFrame) -> pd.DataFrame:
    """Return the number of changes by field (rows, all that may be drawn) and base system."""
    return _crossed(manifest, "fields", drawable(), "base_system")


def drawable() -> list[str]:
    """Return the fields that some formulation uses."""
    return [name for (_, name), field in FIELDS.items() if field.used]


def extension_coverage(manifest: pd.DataFrame) -> pd.DataFrame:
    """Return the number of instances by extension (rows) and level."""
    names = [name for name in MAKERS if name in REGISTRY]
    names += ["real_reserve_cost", "ramp_limits", "storage"]
    table = _crossed(manifest, "structure", names, "level")
    return table.reindex(columns=list(LEVELS), fill_value=0)


def _crossed(manifest: pd.DataFrame, column: str, names: list[str], by: str) -> pd.DataFrame:
    import pandas as pd

    parts = manifest[column].fillna("").str.split("+", regex=False)
    long = pd.DataFrame({"name": parts, "by": manifest[by]}).explode("name")
    long = long[long["name"] != ""]
    table = pd.crosstab(long["name"], long["by"])
    extra = [name for name in table.index if name not in names]
    table = table.reindex([*names, *extra], fill_value=0)
    table.index.name, table.columns.name = column, by
    return table


def summary(merged: Merged, settings: Settings) -> dict[str, Any]:
    """Return the head counts of a synthesis as plain data."""
    manifest, rejects = merged.manifest, merged.rejects
    attempts = int(rejects.loc[rejects["reason"] != EXHAUSTED, "count"].sum())
    accepted = len(manifest) + merged.duplicates
    change = manifest["relative_change"].abs()
    return {
        "seed": settings.seed,
        "wanted": settings.instances,
        "accepted": accepted,
        "kept": len(manifest),
        "duplicates": merged.duplicates,
        "exhausted": merged.exhausted,
        "rejected_attempts": attempts,
        "acceptance_rate": _share(accepted, accepted + attempts),
        "all_items_active_share": _share(int((manifest["inactive"] == "").sum()), len(manifest)),
        "parts": {name: int((manifest["part"] == name).sum()) for name in PARTS},
        "levels": {str(k): int((manifest["level"] == k).sum()) for k in LEVELS},
        "systems": _counts(manifest["base_system"]),
        "formulations": _counts(manifest["formulation"]),
        "scenarios_used": int((manifest["scenario"].replace("", np.nan)).nunique()),
        "scenarios": len(bank.scenarios()),
        "changes_mean": _number(manifest["changes"].mean()),
        "relative_change_median": _number(change.median()),
        "with_matpower_program": int(manifest["matpower"].sum()),
    }


def _counts(column: pd.Series) -> dict[str, int]:
    return {str(k): int(v) for k, v in column.value_counts().sort_index().items()}


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 6) if whole else None


def _number(value: float) -> float | None:
    return None if value != value else float(f"{value:.6g}")
