"""The instances of one job: made system by system, kept as they are finished, resumed.

An instance depends on (seed, n) and the networks alone: how many shards there are, in which order
they run and whether one was interrupted changes nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from headwater.core.io import write_lines, write_table

from ..case import Case, write_case
from .draw import draw
from .evaluate import Bench, Outcome
from .plan import TRIES_PER_SYSTEM, Settings, Slot, shard_range, slot
from .records import record, rejection

REJECT_COLUMNS = ("n", "attempt", "level", "base_system", "formulation", "structure", "reason")
EXHAUSTED = "all_attempts_rejected"
Made = dict[str, Any]


def make_shard(
    settings: Settings,
    cases: Mapping[str, Case],
    shard: int = 0,
    shards: int = 1,
    work: Path | None = None,
    signature: str = "",
    progress: Callable[[int, int], None] | None = None,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the accepted records of a shard, and its rejected attempts, both by number.

    Parameters
    ----------
    settings : Settings
    cases : mapping of str to Case
        Every network that the settings name.
    shard, shards : int
        Which part of the instances, of how many.
    work : path, optional
        Folder of a file that keeps finished instances; a later call goes on from there.
    signature : str
        Of the code; finished instances of another one are thrown away.
    progress : callable, optional
        Called with the numbers of finished and of all instances.

    Raises
    ------
    KeyError
        If a network is missing.
    """
    wanted = shard_range(settings.instances, shard, shards)
    used = {name: cases[name] for name in settings.names}
    header = _header(settings, used, wanted, signature)
    keeper = _Keeper(work / "instances.jsonl" if work else None, header)
    bench = Bench(used, settings)
    for made in _make(settings, bench, [n for n in wanted if n not in keeper.done]):
        keeper.keep(made)
        if progress:
            progress(len(keeper.done), len(wanted))
    finished = [keeper.done[n] for n in wanted]
    records = [m["record"] for m in finished if m["record"] is not None]
    return records, [row for m in finished for row in m["rejects"]]


def _make(settings: Settings, bench: Bench, numbers: Sequence[int]) -> Iterator[Made]:
    """Yield finished instances, those of one network together so that its engines are used."""
    pending = [slot(settings, n) for n in numbers]
    rejects: dict[int, list[dict[str, Any]]] = {s.n: [] for s in pending}
    turn = 0
    while pending:
        later = []
        for place in sorted(pending, key=lambda s: (s.systems[turn], s.level > 2, s.n)):
            outcome = _attempts(settings, bench, place, turn, rejects[place.n])
            last = turn + 1 == len(place.systems)
            if outcome is not None:
                case = bench.systems[outcome.draft.system].case
                made = record(settings, case, outcome)
                yield {"n": place.n, "record": made, "rejects": rejects[place.n]}
            elif last:
                rejects[place.n].append({**rejects[place.n][-1], "reason": EXHAUSTED})
                yield {"n": place.n, "record": None, "rejects": rejects[place.n]}
            else:
                later.append(place)
        pending, turn = later, turn + 1


def _attempts(
    settings: Settings, bench: Bench, place: Slot, turn: int, rejects: list[dict[str, Any]]
) -> Outcome | None:
    """Try a place on its network of this turn; None where every attempt is rejected."""
    system = bench.systems[place.systems[turn]]
    first = turn * TRIES_PER_SYSTEM
    for attempt in range(first, first + TRIES_PER_SYSTEM):
        outcome = bench.evaluate(draw(settings, system, place, attempt))
        if not outcome.reason:
            return outcome
        rejects.append(rejection(outcome))
    return None


def _header(
    settings: Settings, cases: Mapping[str, Case], wanted: range, signature: str
) -> dict[str, Any]:
    networks = {
        name: hashlib.sha256(write_case(case).encode()).hexdigest() for name, case in cases.items()
    }
    parts = {"settings": asdict(settings), "networks": networks, "code": signature}
    text = json.dumps([parts, wanted.start, wanted.stop], sort_keys=True, default=list)
    return {"header": hashlib.sha256(text.encode()).hexdigest()}


class _Keeper:
    """Finished instances by number, and the file that they are appended to."""

    def __init__(self, path: Path | None, header: dict[str, Any]) -> None:
        self.path = path
        self.done: dict[int, Made] = {}
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = _lines(path) if path.is_file() else []
        if kept[:1] == [header]:
            self.done = {made["n"]: made for made in kept[1:]}
        write_lines(path, [header, *self.done.values()])

    def keep(self, made: Made) -> None:
        """Add a finished instance."""
        self.done[made["n"]] = made
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(made, ensure_ascii=False) + "\n")


def _lines(path: Path) -> list[Any]:
    """Return the lines of a file up to the first that was cut by a kill."""
    found = []
    for line in path.read_bytes().split(b"\n"):
        try:
            found.append(json.loads(line))
        except ValueError:
            break
    return found


def write_shard(
    instances: Path,
    rejects: Path,
    records: Sequence[Mapping[str, Any]],
    rejected: Sequence[Mapping[str, Any]],
) -> None:
    """Write a shard: records as ``.jsonl.gz`` and rejected attempts as ``.csv``."""
    import pandas as pd

    write_table(rejects, pd.DataFrame(rejected, columns=list(REJECT_COLUMNS)))
    write_lines(instances, records)
