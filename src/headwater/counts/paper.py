"""Our numbers beside published ones, for `paper_counts_recovery` and `paper_counts_mice`.

Ours come from metrics.tsv, the others from published.yaml. A note says in each row what is not
comparable; a published number is never shown as a result of ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
import yaml

from headwater.core.metrics import metric_frame, metric_row, parse_setting

from .agreement import null_cosines
from .scores import recovery

METRICS = ("deviance", "mae_log1p", "aitchison")
PARTS = ("paper_protocol", "horizon")
RECOVERY_COLUMNS = (
    "scenario",
    "dataset",
    "method",
    "setting",
    "draws",
    "value",
    "sd_draws",
    "sd_columns",
    "null",
    "published",
    "published_sd",
    "difference",
    "note",
)
MICE_COLUMNS = (
    "part",
    "metric",
    "method",
    "setting",
    "value",
    "ci_low",
    "ci_high",
    "published",
    "published_setting",
    "difference",
    "note",
)
MODEL_NOTE = "another training budget and encoder; forecasts from a particle filter here"
NOT_RUN = "not part of this run"
NOT_PUBLISHED = "no published number"


@cache
def published() -> dict[str, Any]:
    """Return the numbers of published.yaml."""
    text = files("headwater.counts").joinpath("published.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text)


def recovery_scores(
    cube: xr.Dataset,
    found: Mapping[str, xr.Dataset],
    scenario: str,
    draw: int,
    seed: int,
    fits: Mapping[str, Mapping[str, Any]] | None = None,
) -> pd.DataFrame:
    """Return the scores of all methods on one draw of a scenario against its own truth.

    Parameters
    ----------
    cube : Dataset
        With the truth.
    found : mapping of method to Dataset
        As `scores.recovery` takes them.
    scenario, draw : str, int
        Name in published.yaml, and number of the draw (the `seed` of the rows).
    seed : int
        Of nulls and intervals.
    fits : mapping of method to mapping, optional
        ``fit.json`` of the methods that have one: the bound, and whether training converged.

    Returns
    -------
    DataFrame
        Rows of metrics.tsv. Method ``null`` has random unit columns with positive entries, as
        published; method ``data`` has the facts of the draw.
    """
    name = f"paper_{scenario}"
    parts = [recovery(cube, result, name, m, seed) for m, result in found.items()]
    kept = pd.concat(parts, ignore_index=True)
    kept = kept[kept["method"] != "null"]
    true = cube["true_mixing"].transpose("feature", "source").values
    null = float(null_cosines(true, np.ones_like(true), seed).mean())
    setting = {"d": true.shape[1], "signs": "positive"}
    rows = [metric_row(name, "null", "mixing_cosine", null, setting=setting, split="truth")]
    rows += [metric_row(name, "data", k, v, split="truth") for k, v in design_facts(cube).items()]
    for method, info in (fits or {}).items():
        values = {
            "elbo_per_entry": info["elbo_per_entry"],
            "converged": float(info["stopped"].startswith("converged")),
        }
        rows += [metric_row(name, method, k, v, split="training") for k, v in values.items()]
    return pd.concat([kept, metric_frame(rows)], ignore_index=True).assign(seed=draw)


def design_facts(cube: xr.Dataset) -> dict[str, float]:
    """Return what describes a scenario: coherence and condition of the mixing, counts, zeros."""
    true = cube["true_mixing"].transpose("feature", "source").values
    gram = np.abs(true.T @ true)
    counts = cube["counts"].transpose("series", "step", "feature").values
    counts = counts[cube["observed"].transpose("series", "step").values == 1]
    return {
        "largest_gram": float(gram[~np.eye(len(gram), dtype=bool)].max()),
        "condition_number": float(np.linalg.cond(true)),
        "mean_count": float(counts.mean()),
        "zeros": float((counts == 0).mean()),
    }


def design_table(metrics: pd.DataFrame) -> pd.DataFrame:
    """Return the facts of our draws (mean, least and largest) beside the published ones."""
    own = metrics[metrics["method"] == "data"]
    rows = []
    for scenario, known in published()["recovery"]["scenarios"].items():
        part = own[own["dataset"] == f"paper_{scenario}"]
        for fact, theirs in known["facts"].items():
            values = part[part["metric"] == fact]["value"]
            rows.append((scenario, fact, values.mean(), values.min(), values.max(), theirs))
    return pd.DataFrame(rows, columns=["scenario", "fact", "mean", "least", "largest", "published"])


def recovery_table(metrics: pd.DataFrame) -> pd.DataFrame:
    """Return mean matched |cos| of every method on the paper's scenarios beside the published.

    Parameters
    ----------
    metrics : DataFrame
        metrics.tsv of the domain; data sets whose name holds ``paper_<scenario>`` are used.

    Returns
    -------
    DataFrame
        One row for each scenario, data set and method; then the null that was published, and
        published methods that we do not run. `value` is the mean over draws (seeds) of the mean
        over columns, `sd_draws` its sd over draws, `sd_columns` the sd over all columns of all
        draws, `null` what the signs of the estimate alone reach.
    """
    numbers = published()["recovery"]
    rows: list[dict[str, Any]] = []
    for scenario, known in numbers["scenarios"].items():
        part = metrics[metrics["dataset"].str.contains(f"paper_{scenario}", regex=False)]
        for dataset, own in part.groupby("dataset", sort=False):
            rows += _scenario_rows(scenario, str(dataset), own, known, numbers["setting"])
        shown = {row["method"] for row in rows if row["scenario"] == scenario}
        for method, entry in known["methods"].items():
            if method not in shown:
                rows.append(_published_row(scenario, method, entry))
    texts = ("scenario", "dataset", "method", "setting", "note")
    numeric = {c: float for c in RECOVERY_COLUMNS if c not in texts}
    return pd.DataFrame(rows, columns=list(RECOVERY_COLUMNS)).astype(numeric)


def _scenario_rows(
    scenario: str, dataset: str, own: pd.DataFrame, known: Mapping, setting: Mapping
) -> Iterator[dict[str, Any]]:
    cosine = own[own["metric"] == "mixing_cosine"]
    nulls = own[own["metric"] == "mixing_cosine_null"]
    single = own[own["metric"].str.fullmatch(r"mixing_cosine_\d+")]
    for (method, text), part in cosine.groupby(["method", "setting"], sort=False):
        same = nulls[(nulls["method"] == method) & (nulls["setting"] == text)]["value"]
        columns = single[(single["method"] == method) & (single["setting"] == text)]
        null = method == "null"
        entry = {"value": known["null"]} if null else known["methods"].get(method, {})
        value = float(part["value"].mean())
        theirs = entry.get("value")
        yield {
            "scenario": scenario,
            "dataset": dataset,
            "method": method,
            "setting": text,
            "draws": len(part),
            "value": value,
            "sd_draws": _sd(part["value"]),
            "sd_columns": _sd(columns["value"]),
            "null": float(same.mean()) if len(same) else None,
            "published": theirs,
            "published_sd": entry.get("sd"),
            "difference": None if theirs is None else value - theirs,
            "note": _recovery_note(method, parse_setting(text), entry, len(part), setting),
        }


def _sd(values: pd.Series) -> float | None:
    return float(values.std()) if len(values) > 1 else None


def _recovery_note(
    method: str, own: Mapping[str, str], entry: Mapping, runs: int, theirs: Mapping
) -> str:
    if not entry:
        return NOT_PUBLISHED
    if method == "null" and own.get("signs") == "positive":
        return "random columns with positive entries, here and there"
    if method == "null":
        return "ours has the signs of our estimate, theirs only positive entries"
    notes = [
        f"{key}={own[key]} here, {key}={theirs[key]} there"
        for key in ("d", "C")
        if key in own and own[key] != str(theirs[key])
    ]
    draws = "1 draw" if runs == 1 else f"{runs} draws"
    notes.append(f"{draws} here, mean of {theirs['seeds']} other draws there")
    return "; ".join(notes)


def _published_row(scenario: str, method: str, entry: Mapping) -> dict[str, Any]:
    row = dict.fromkeys(RECOVERY_COLUMNS)
    note = "reference with mean-field q" if method == "plnica_mf" else ""
    return row | {
        "scenario": scenario,
        "method": method,
        "published": entry["value"],
        "published_sd": entry.get("sd"),
        "note": "; ".join(n for n in (note, NOT_RUN) if n),
    }


def mice_table(metrics: pd.DataFrame, dataset: str, origins: list[int]) -> pd.DataFrame:
    """Return forecast scores of every method on the mice beside the published.

    Parameters
    ----------
    metrics : DataFrame
        metrics.tsv of the domain.
    dataset : str
        Name of the mice with the paper's 13 taxa.
    origins : list of int
        Origins of this run; the published scores are means over 2 to 20.

    Returns
    -------
    DataFrame
        One row for each protocol, metric, method and setting; then published ones without a
        counterpart. Reconstructions stand under part ``reconstruction``.
    """
    numbers = published()["mice"]
    own = metrics[metrics["dataset"] == dataset]
    first, last = numbers["origins"]["first"], numbers["origins"]["last"]
    other = ""
    if sorted(origins) != list(range(first, last + 1)):
        other = f"{len(origins)} origins here, {first} to {last} there"
    rows: list[dict[str, Any]] = []
    for part in PARTS:
        theirs = [
            {
                "setting": {},
                "note": MODEL_NOTE if m == "plnica" else "",
                **e,
                **e[part],
                "method": m,
            }
            for m, e in numbers["forecast"].items()
        ]
        rows += _part_rows(own, part, theirs, other)
    theirs = [
        {"method": "plnica", "note": _encoder_note(e["setting"]["d"], numbers["setting"]), **e}
        for e in numbers["reconstruction"]
        if e["folds"] == "all"
    ]
    rows += _part_rows(own, "reconstruction", theirs, "")
    return pd.DataFrame(rows, columns=list(MICE_COLUMNS))


def _encoder_note(d: int, setting: Mapping[str, Any]) -> str:
    note = "our encoder corrects a direct estimate from the same counts, theirs reads proportions"
    return note + ("; d = taxa: nothing is reduced" if d == setting["taxa"] else "")


def _part_rows(
    own: pd.DataFrame, part: str, theirs: list[dict[str, Any]], other: str
) -> Iterator[dict[str, Any]]:
    """Yield our rows of one protocol, then published ones that met none of ours."""
    for metric in METRICS:
        met = set()
        here = own[(own["split"] == part) & (own["metric"] == metric)]
        for row in here.itertuples(index=False):
            index = _counterpart(row.method, parse_setting(row.setting), theirs)
            met.add(index)
            entry = theirs[index] if index is not None else None
            yield _mice_row(row, part, metric, entry, other)
        for index, entry in enumerate(theirs):
            if index not in met:
                yield dict.fromkeys(MICE_COLUMNS) | {
                    "part": part,
                    "metric": metric,
                    "method": entry["method"],
                    "published": entry[metric],
                    "published_setting": _text(entry["setting"]) if "setting" in entry else "",
                    "note": "; ".join(n for n in (entry["note"], NOT_RUN) if n),
                }


def _counterpart(method: str, own: Mapping[str, str], theirs: list[dict[str, Any]]) -> int | None:
    """Return the published entry of the same method and, of the model, the same d and C."""
    for index, entry in enumerate(theirs):
        wanted = {k: str(v) for k, v in entry.get("setting", {}).items()}
        if entry["method"] == method and all(own.get(k) == v for k, v in wanted.items()):
            return index
    return None


def _mice_row(
    row: Any, part: str, metric: str, entry: dict[str, Any] | None, other: str
) -> dict[str, Any]:
    exposure = parse_setting(row.setting).get("exposure", "true")
    notes = [NOT_PUBLISHED] if entry is None else [entry["note"], other]
    if entry is not None and exposure != "true":
        notes.append(f"exposure {exposure} here, the true one there")
    theirs = None if entry is None else entry[metric]
    return {
        "part": part,
        "metric": metric,
        "method": row.method,
        "setting": row.setting,
        "value": row.value,
        "ci_low": row.ci_low,
        "ci_high": row.ci_high,
        "published": theirs,
        "published_setting": "" if entry is None else _text(entry.get("setting", {})),
        "difference": None if theirs is None else row.value - theirs,
        "note": "; ".join(n for n in notes if n),
    }


def _text(setting: Mapping[str, Any]) -> str:
    return ", ".join(f"{k}={v}" for k, v in setting.items())
