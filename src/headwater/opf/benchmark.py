"""A model on a set of requests: its answers, their runs, resumed after a stop."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from headwater.core.config import nearest
from headwater.core.errors import InputError
from headwater.core.io import read_json, write_json
from headwater.core.sandbox import available

from .case import Case
from .execute import execute_answer, limits_of
from .parser import answer as parser_answer

Record = Mapping[str, Any]


def parser_answers(records: Sequence[Record], cases: Mapping[str, Case]) -> list[dict[str, Any]]:
    """Return the answers of the built-in parser, which sees the texts and the networks only."""
    return [
        {"id": r["id"], "sample": 0, "text": parser_answer(r["request"], cases)} for r in records
    ]


def predicted_answers(
    records: Sequence[Record], rows: Sequence[Mapping[str, Any]], file: str
) -> list[dict[str, Any]]:
    """Return the answers of a file of predictions, checked.

    Parameters
    ----------
    rows : sequence of mapping
        ``id``, ``text`` and, where there are several, ``sample`` from 0.

    Raises
    ------
    InputError
        For a row without id or text, an unknown id, one sample twice, or a request without
        an answer.
    """
    known = [r["id"] for r in records]
    seen: dict[tuple[str, int], int] = {}
    for number, row in enumerate(rows, start=1):
        where = f"line {number}"
        if not isinstance(row, Mapping) or not isinstance(row.get("text"), str):
            raise InputError(file, where, "no text", '{"id": ..., "sample": 0, "text": ...}')
        if row.get("id") not in known:
            hint = nearest(str(row.get("id")), known)
            raise InputError(file, where, f"id {row.get('id')!r}", "the id of a request", hint)
        key = (row["id"], int(row.get("sample", 0)))
        if key in seen:
            raise InputError(
                file, where, f"id {key[0]!r}, sample {key[1]}, as in line {seen[key]}", "each once"
            )
        seen[key] = number
    missing = [i for i in known if (i, 0) not in seen]
    if missing:
        raise InputError(
            file,
            "",
            f"no answer to {missing[0]!r} ({len(missing)} are missing)",
            "an answer to every request, sample 0",
            "An answer that failed has an empty text.",
        )
    return [
        {"id": r["id"], "sample": int(r.get("sample", 0)), "text": r["text"]}
        for r in sorted(rows, key=lambda r: (known.index(r["id"]), int(r.get("sample", 0))))
    ]


def execute_answers(
    records: Sequence[Record],
    answers: Sequence[Mapping[str, Any]],
    cases: Mapping[str, Case],
    dialect: str,
    limits: Mapping[str, Any],
    work: Path,
    code: str,
    workers: int,
    log: logging.Logger,
) -> list[dict[str, Any]]:
    """Run all answers, each in a sandbox of its own; those that were run before are kept.

    Parameters
    ----------
    work : path
        Folder of one file for every answer that was run; its name is a digest of the answer, the
        request, the limits and the code.
    """
    known = {r["id"]: r for r in records}
    bounds = limits_of(limits)
    missing = {"processes", "network", "files"} - set(available())
    if missing and dialect != "patch":
        log.warning("this machine does not isolate %s of the programs", ", ".join(sorted(missing)))

    def one(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
        record = known[answer["id"]]
        parts = [answer, record, dict(limits), dialect, code]
        text = json.dumps(parts, sort_keys=True, default=str)
        kept = work / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"
        if kept.is_file():
            return read_json(kept)
        rows = execute_answer(record, answer, cases[record["base_system"]], dialect, bounds)
        write_json(kept, rows)
        return rows

    done: list[dict[str, Any]] = []
    # programs run in processes of their own; patches are solved here, one at a time
    with ThreadPoolExecutor(1 if dialect == "patch" else max(1, workers)) as pool:
        for k, rows in enumerate(pool.map(one, answers), start=1):
            done += rows
            if k % 10 == 0 or k == len(answers):
                log.info("%d of %d answers", k, len(answers))
    return done
