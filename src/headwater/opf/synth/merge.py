"""Shards put together: duplicates out, parts dealt by hash, one row for every instance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..language import bank
from ..record import canonical_hash
from ..structure import items
from .plan import Settings
from .shard import EXHAUSTED

if TYPE_CHECKING:
    import pandas as pd

Record = dict[str, Any]
PARTS = ("train", "dev", "test", "ood_system", "ood_scenario")
DEV_SHARE = TEST_SHARE = 0.1
MANIFEST = (
    "id",
    "n",
    "part",
    "level",
    "regime",
    "base_system",
    "formulation",
    "structure",
    "scenario",
    "changes",
    "fields",
    "objective",
    "objective_2",
    "relative_change",
    "strict",
    "inactive",
    "attempt",
    "solver",
    "matpower",
    "hash",
)


@dataclass(frozen=True)
class Merged:
    """The accepted instances of all shards.

    Attributes
    ----------
    parts : dict of str to list
        Records by part, see `PARTS`.
    manifest : DataFrame
        One row for every record, columns `MANIFEST`.
    rejects : DataFrame
        level, base_system, structure, reason, count.
    duplicates : int
        Accepted instances that ask the same as an earlier one, left out.
    exhausted : int
        Instances of which every attempt was rejected.
    """

    parts: dict[str, list[Record]]
    manifest: pd.DataFrame
    rejects: pd.DataFrame
    duplicates: int
    exhausted: int


def part_of(record: Mapping[str, Any], key: str, settings: Settings) -> str:
    """Return the part of a record.

    A network or a scenario that is held out decides; all others are dealt by their hash, so that
    what asks the same is never in two parts.
    """
    if record["base_system"] in settings.ood_systems:
        return "ood_system"
    scenario = record["synthesis"]["scenario"]
    if scenario and bank.scenarios()[scenario].held_out:
        return "ood_scenario"
    place = int(key[:13], 16) / 16.0**13
    if place < TEST_SHARE:
        return "test"
    return "dev" if place < TEST_SHARE + DEV_SHARE else "train"


def merge(
    records: Iterable[Record], rejected: Iterable[Mapping[str, Any]], settings: Settings
) -> Merged:
    """Put the records and rejected attempts of all shards together.

    Raises
    ------
    ValueError
        If two records have one number: a shard was given twice.
    """
    import pandas as pd

    ordered = sorted(records, key=lambda r: r["synthesis"]["n"])
    numbers = [r["synthesis"]["n"] for r in ordered]
    if len(set(numbers)) < len(numbers):
        raise ValueError("two records have the same number: a shard was given twice")
    parts: dict[str, list[Record]] = {name: [] for name in PARTS}
    rows, seen, duplicates = [], set(), 0
    for record in ordered:
        key = canonical_hash(record)
        if key in seen:
            duplicates += 1
            continue
        seen.add(key)
        part = part_of(record, key, settings)
        parts[part].append(record)
        rows.append(_row(record, part, key))
    table = pd.DataFrame(list(rejected), columns=_REJECTED)
    table["structure"] = table["structure"].fillna("")
    exhausted = int((table["reason"] == EXHAUSTED).sum())
    counts = table.groupby(_COUNTED, sort=True, dropna=False).size().rename("count").reset_index()
    return Merged(parts, pd.DataFrame(rows, columns=list(MANIFEST)), counts, duplicates, exhausted)


_REJECTED = ["n", "attempt", "level", "base_system", "formulation", "structure", "reason"]
_COUNTED = ["level", "base_system", "formulation", "structure", "reason"]


def _row(record: Record, part: str, key: str) -> dict[str, Any]:
    made, answers = record["synthesis"], record["expected"]
    changes = [*record["parameters"], *record["bindings"]]
    return {
        "id": record["id"],
        "n": made["n"],
        "part": part,
        "level": record["level"],
        "regime": record["regime"],
        "base_system": record["base_system"],
        "formulation": record["structure"]["formulation"],
        "structure": "+".join(item["name"] for _, item in items(record["structure"])),
        "scenario": made["scenario"],
        "changes": len(changes),
        "fields": "+".join(c["field"] for c in changes),
        "objective": answers[0]["objective"],
        "objective_2": answers[1]["objective"] if len(answers) > 1 else None,
        "relative_change": made["relative_change"],
        "strict": made["strict"],
        "inactive": "+".join(made["inactive"]),
        "attempt": made["attempt"],
        "solver": next(iter(answers[0]["computed_with"])),
        "matpower": "reference_matpower_code" in record,
        "hash": key,
    }


def cross_check_sample(
    records: Sequence[Record], share: float, least: int, seed: int
) -> list[Record]:
    """Return a random share of the records that MATPOWER can solve, at least `least` of them.

    The order is that of the records; the draw depends on their ids and the seed alone.
    """
    able = [r for r in records if "reference_matpower_code" in r]
    count = min(len(able), max(least, int(np.ceil(share * len(records)))))
    rng = np.random.default_rng(np.random.SeedSequence((seed, len(records))))
    chosen = sorted(rng.choice(len(able), size=count, replace=False).tolist()) if count else []
    return [able[k] for k in chosen]


def agreement(
    manifest: pd.DataFrame, executions: Iterable[Mapping[str, Any]], tolerance: float = 1e-4
) -> pd.DataFrame:
    """Return the objectives of MATPOWER beside ours, one row for each execution.

    Parameters
    ----------
    executions : iterable of mapping
        ``id, strategy`` (from 0), ``objective``, ``converged``.

    Returns
    -------
    DataFrame
        id, strategy, level, base_system, formulation, structure, objective, matpower, converged,
        relative_difference, agrees.
    """
    import pandas as pd

    known = manifest.set_index("id")
    rows = []
    for run in executions:
        ours = known.loc[run["id"]]
        objective = ours["objective_2" if run["strategy"] else "objective"]
        theirs = run["objective"] if run.get("converged") else None
        off = None if theirs is None else (theirs - objective) / (abs(objective) + 1e-10)
        about = {k: ours[k] for k in ("level", "base_system", "formulation", "structure")}
        rows.append(
            {"id": run["id"], "strategy": run["strategy"] + 1}
            | about
            | {
                "objective": objective,
                "matpower": theirs,
                "converged": bool(run.get("converged")),
                "relative_difference": off,
                "agrees": off is not None and abs(off) <= tolerance,
            }
        )
    columns = "id strategy level base_system formulation structure objective matpower converged"
    return pd.DataFrame(rows, columns=[*columns.split(), "relative_difference", "agrees"])
