"""Optima of networks beside the published ones and MATPOWER's, as a table for the page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from headwater.core.metrics import metric_frame, metric_row, wilson_interval

from .baseline import FIVE_DIGITS, GAP_POINTS, gap
from .solved import relative

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "case",
    "quantity",
    "ours",
    "published",
    "difference",
    "agrees",
    "matpower",
    "matpower_difference",
    "status",
    "solver",
    "source",
)


def published_table(
    published: Mapping[str, Mapping[str, Any]],
    solutions: Mapping[str, Mapping[str, Mapping[str, Any]]],
    matpower: Mapping[str, Mapping[str, Any]],
) -> pd.DataFrame:
    """Return one row for each network and quantity.

    Parameters
    ----------
    published : mapping
        By case: ``ac``, ``dc`` ($/h, infinite for infeasible), ``soc_gap`` (percent),
        ``dc_convention``, ``source``.
    solutions : mapping
        By case: ``ac``, ``dc_matpower``, ``dc_powermodels``, ``socp``, each a solution as plain
        data.
    matpower : mapping
        By case: ``ac`` and ``dc`` (matpower convention), $/h, where MATPOWER was at hand.

    Returns
    -------
    DataFrame
        ``difference`` is relative for objectives and in percentage points for the gap; missing
        where nothing was published; ``agrees`` too.
    """
    import pandas as pd

    rows = [
        row
        for case, found in solutions.items()
        for row in _rows(case, published.get(case, {}), found, matpower.get(case, {}))
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _rows(
    case: str,
    known: Mapping[str, Any],
    found: Mapping[str, Mapping[str, Any]],
    peer: Mapping[str, Any],
) -> Iterator[dict[str, Any]]:
    convention = known.get("dc_convention", "matpower")
    source = known.get("source", "")
    yield _objective(case, "AC", found["ac"], known.get("ac"), peer.get("ac"), source)
    for name in ("matpower", "powermodels"):
        value = known.get("dc") if name == convention else None
        second = peer.get("dc") if name == "matpower" else None
        yield _objective(case, f"DC, {name}", found[f"dc_{name}"], value, second, source)
    ac, soc = found["ac"]["objective"], found["socp"]["objective"]
    ours, wanted = gap(ac, soc), known.get("soc_gap")
    difference = None if ours is None or wanted is None else ours - wanted
    yield {
        "case": case,
        "quantity": "SOC gap, %",
        "ours": ours,
        "published": wanted,
        "difference": difference,
        "agrees": None
        if wanted is None
        else abs(difference or 0) <= GAP_POINTS and ours is not None,
        "matpower": None,
        "matpower_difference": None,
        "status": found["socp"]["status"],
        "solver": found["socp"]["solver"],
        "source": source if wanted is not None else "",
    }


def _objective(
    case: str,
    quantity: str,
    found: Mapping[str, Any],
    published: float | None,
    matpower: float | None,
    source: str,
) -> dict[str, Any]:
    infeasible = published is not None and math.isinf(published)
    difference = None if infeasible else relative(found["objective"], published)
    agrees: bool | None = None
    if infeasible:
        agrees = found["status"] == "infeasible"
    elif published is not None:
        agrees = difference is not None and abs(difference) <= FIVE_DIGITS
    return {
        "case": case,
        "quantity": quantity,
        "ours": found["objective"],
        "published": published,
        "difference": difference,
        "agrees": agrees,
        "matpower": matpower,
        "matpower_difference": relative(found["objective"], matpower),
        "status": found["status"],
        "solver": found["solver"],
        "source": source if published is not None else "",
    }


def case_scores(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of metrics.tsv: every optimum, and how many agree."""
    rows = []
    for row in table[table["ours"].notna()].itertuples(index=False):
        percent = str(row.quantity).endswith("%")
        rows.append(
            metric_row(
                str(row.case),
                "engine",
                "soc_gap" if percent else "objective",
                row.ours,
                setting=_setting(row.quantity),
                split="all",
                unit="%" if percent else "$/h",
            )
        )
    known = table[table["published"].notna()]
    for quantity, part in [("all", known), *known.groupby("quantity", sort=False)]:
        if len(part):
            right, total = int(part["agrees"].sum()), len(part)
            rows.append(
                metric_row(
                    "published_optima",
                    "engine",
                    "agreement_share",
                    right / total,
                    setting=_setting(quantity),
                    split="all",
                    interval=wilson_interval(right, total),
                    n=total,
                )
            )
    return metric_frame(rows)


def _setting(quantity: Any) -> dict[str, str]:
    words = str(quantity).removesuffix(", %").replace(", ", "_").replace(" ", "_")
    return {"model": words}
