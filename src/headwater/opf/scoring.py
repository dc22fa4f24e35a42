"""Scores of answers to requests, beside answers that need no reading of the request.

The published rule (``compat``): an answer is right iff |o - g| / (|g| + 1e-10) <= 1e-4 on the first
strategy, whether it converged or not. Ours (``strict``): right on all strategies, converged, and a
function refuses values that go the wrong way.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headwater.core.metrics import metric_frame, metric_row, wilson_interval

from .case import Case
from .difference import patch_of
from .engine import Options, solve
from .mistakes import mistake, patch_scores
from .record import patched

if TYPE_CHECKING:
    import pandas as pd

TOLERANCE = 1e-4
EFFECT = 1e-4
Row = Mapping[str, Any]
COLUMNS = (
    "id",
    "sample",
    "level",
    "regime",
    "base_system",
    "structure",
    "discriminating",
    "extracted",
    "ran",
    "converged",
    "compat",
    "strict",
    "refused_wrong_direction",
    "positional",
    "silent",
    "patch_f1",
    "error",
    "message",
    "seconds",
)
SHARES = {
    "compat_accuracy": "compat",
    "strict_accuracy": "strict",
    "executability": "ran",
    "feasible_but_wrong_rate": "silent",
}
NULLS = {
    "baseline:null_unmodified_network": None,
    "baseline:null_ac_only": "ACOPF",
    "baseline:null_dc_only": "DCOPF",
}


def matches(objective: float | None, expected: float | None) -> bool:
    """Return whether an objective is right by the published rule."""
    if objective is None or expected is None or not math.isfinite(objective):
        return False
    return abs(objective - expected) / (abs(expected) + 1e-10) <= TOLERANCE


def discriminating(record: Row) -> bool:
    """Return whether leaving out any item of the request would be seen in its optimum."""
    effects = record.get("drop_one_relative_effect") or {}
    return bool(effects) and all(e is None or abs(e) > EFFECT for e in effects.values())


def per_record(
    records: Sequence[Row], executions: Iterable[Row], cases: Mapping[str, Case]
) -> pd.DataFrame:
    """Return one row for each request and sample.

    Parameters
    ----------
    records : sequence of mapping
        Requests with ``expected`` answers.
    executions : iterable of mapping
        As `headwater.opf.execute.execute_answer` gives them, every strategy.
    cases : mapping of name to Case
        Base systems.
    """
    import pandas as pd

    runs: dict[tuple[str, int], list[Row]] = {}
    for row in executions:
        runs.setdefault((row["id"], row.get("sample", 0)), []).append(row)
    known = {r["id"]: r for r in records}
    rows = [
        _scored(known[name], sample, found, cases[known[name]["base_system"]])
        for (name, sample), found in runs.items()
        if name in known
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _scored(record: Row, sample: int, runs: Sequence[Row], case: Case) -> dict[str, Any]:
    runs = sorted(runs, key=lambda r: r["strategy"])
    expected = [e.get("objective") for e in record["expected"]]
    right = [matches(r["objective"], g) for r, g in zip(runs, expected, strict=False)]
    converged = all(r["converged"] for r in runs)
    refused = runs[0]["refused_wrong_direction"]
    complete = len(right) == len(expected) and all(right)
    strict = complete and converged and refused is not False
    truth = patch_of(case, patched(case, record)[0])["changes"]
    seen = runs[0]["recovered_patch"]
    found = None if seen is None else seen["changes"]
    error = next((r["error_class"] for r in runs if r["error_class"]), "")
    if not error and not complete:
        error = f"wrong: {mistake(found, truth, case.base_mva)}"
    elif not error and refused is False:
        error = "wrong direction accepted"
    return {
        "id": record["id"],
        "sample": sample,
        "level": record["level"],
        "regime": record["regime"],
        "base_system": record["base_system"],
        "structure": "+".join(_names(record["structure"])),
        "discriminating": discriminating(record),
        "extracted": all(r["extracted"] for r in runs),
        "ran": all(r["ran"] for r in runs),
        "converged": converged,
        "compat": bool(right and right[0]),
        "strict": strict,
        "refused_wrong_direction": refused,
        "positional": any(r["binding"] == "positional" for r in runs),
        "silent": converged and not complete,
        "patch_f1": patch_scores(found or [], truth)[2],
        "error": error,
        "message": next((r["message"] for r in runs if r["message"]), ""),
        "seconds": sum(r["sandbox_s"] for r in runs),
    }


def _names(structure: Row) -> list[str]:
    groups = ("objective", "constraints", "variables")
    return [item["name"] for g in groups for item in structure.get(g) or []]


def null_rows(records: Sequence[Row], cases: Mapping[str, Case]) -> dict[str, pd.DataFrame]:
    """Return per-record rows of models that solve the network as it is, whatever is asked.

    The first knows the right formulation; the others always take AC or DC. Abstract requests
    get the same number on every strategy and no refusal, so they cannot be strictly right.
    """
    import pandas as pd

    plain: dict[tuple[str, str], float | None] = {}
    found = {}
    for method, formulation in NULLS.items():
        rows = []
        for record in records:
            form = formulation or record["structure"]["formulation"]
            key = (record["base_system"], form)
            if key not in plain:
                solution = solve(cases[key[0]], {"formulation": form}, Options())
                plain[key] = solution.objective
            rows.append(_null_row(record, plain[key]))
        found[method] = pd.DataFrame(rows, columns=list(COLUMNS))
    return found


def _null_row(record: Row, objective: float | None) -> dict[str, Any]:
    right = [matches(objective, e.get("objective")) for e in record["expected"]]
    solved, abstract = objective is not None, bool(record.get("bindings"))
    strict = solved and all(right) and not abstract
    return {
        "id": record["id"],
        "sample": 0,
        "level": record["level"],
        "regime": record["regime"],
        "base_system": record["base_system"],
        "structure": "+".join(_names(record["structure"])),
        "discriminating": discriminating(record),
        "extracted": True,
        "ran": True,
        "converged": solved,
        "compat": right[0],
        "strict": strict,
        "refused_wrong_direction": False if abstract else None,
        "positional": False,
        "silent": solved and not all(right),
        "patch_f1": 0.0,
        "error": "" if strict else "wrong: missing_change",
        "message": "",
        "seconds": 0.0,
    }


def score_rows(dataset: str, method: str, table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of metrics.tsv of one model on one set, with Wilson intervals.

    Splits are ``all``, ``level1`` to ``level4``, ``concrete``, ``abstract`` and
    ``discriminating``; shares count the first sample, ``pass_at_k`` all.
    """
    first = table[table["sample"] == 0]
    parts = {"all": first}
    parts |= {f"level{k}": part for k, part in first.groupby("level")}
    parts |= {str(k): part for k, part in first.groupby("regime")}
    parts["discriminating"] = first[first["discriminating"]]
    rows = []
    for split, part in parts.items():
        if not len(part):
            continue
        for metric, column in SHARES.items():
            count = int(part[column].sum())
            interval = wilson_interval(count, len(part))
            share = count / len(part)
            rows.append(
                metric_row(
                    dataset, method, metric, share, split=split, interval=interval, n=len(part)
                )
            )
        f1 = float(part["patch_f1"].mean())
        rows.append(metric_row(dataset, method, "patch_f1", f1, split=split, n=len(part)))
    samples = int(table["sample"].max()) + 1 if len(table) else 1
    for k in range(2, samples + 1):
        value = float(table.groupby("id")["strict"].apply(lambda s, k=k: pass_at_k(s, k)).mean())
        n = table["id"].nunique()
        rows.append(
            metric_row(dataset, method, "pass_at_k", value, setting={"k": k}, split="all", n=n)
        )
    return metric_frame(rows)


def pass_at_k(right: Iterable[bool], k: int) -> float:
    """Return the unbiased estimate 1 - C(n - c, k) / C(n, k) (Chen et al., arXiv 2107.03374)."""
    right = list(right)
    n, c = len(right), sum(right)
    if k > n:
        return float("nan")
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)


def mcnemar(one: Sequence[bool], two: Sequence[bool]) -> float:
    """Return the exact two-sided p of McNemar's test of two models on the same requests."""
    from scipy.stats import binomtest

    b = sum(x and not y for x, y in zip(one, two, strict=True))
    c = sum(y and not x for x, y in zip(one, two, strict=True))
    return 1.0 if b + c == 0 else float(binomtest(b, b + c).pvalue)
