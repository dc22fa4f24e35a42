"""Where a program that ran went wrong: its patch held against the right one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

SAME = 1e-9
Change = Mapping[str, Any]


def _place(change: Change) -> tuple:
    return change["component"], tuple(change["key"]), change["field"]


def _same(one: float, two: float) -> bool:
    return abs(one - two) <= SAME * max(1.0, abs(two))


def patch_scores(found: Sequence[Change], truth: Sequence[Change]) -> tuple[float, float, float]:
    """Return precision, recall and F1 of a patch as a set of (object, field, value).

    Values count as equal to 1e-9, relative. Of two empty patches all three are 1.
    """
    wanted = {_place(c): c["value"] for c in truth}
    hits = sum(_place(c) in wanted and _same(c["value"], wanted[_place(c)]) for c in found)
    precision = hits / len(found) if found else float(not truth)
    recall = hits / len(truth) if truth else float(not found)
    both = precision + recall
    return precision, recall, 2 * precision * recall / both if both else 0.0


def mistake(found: Sequence[Change] | None, truth: Sequence[Change], base_mva: float) -> str:
    """Return the class of a wrong objective.

    Returns
    -------
    str
        ``unit`` (a value off by the base power or its square), ``sign``, ``value``,
        ``wrong_object`` (right field, elsewhere), ``wrong_field``, ``missing_change``,
        ``extra_change``, ``structure`` (the patch is right) or ``unknown`` (nothing was seen).
    """
    if found is None:
        return "unknown"
    have = {_place(c): c["value"] for c in found}
    want = {_place(c): c["value"] for c in truth}
    for place in (p for p in want if p in have and not _same(have[p], want[p])):
        return _of_value(have[place], want[place], base_mva)
    missing = [p for p in want if p not in have]
    extra = [p for p in have if p not in want]
    if missing and extra:
        fields = {(c, f) for c, _, f in extra}
        if any((c, f) in fields for c, _, f in missing):
            return "wrong_object"
        keys = {(c, k) for c, k, _ in extra}
        return "wrong_field" if any((c, k) in keys for c, k, _ in missing) else "missing_change"
    if missing:
        return "missing_change"
    return "extra_change" if extra else "structure"


def _of_value(have: float, want: float, base_mva: float) -> str:
    for factor in (base_mva, base_mva**2, 1 / base_mva, 1 / base_mva**2):
        if _same(have, want * factor):
            return "unit"
    return "sign" if _same(have, -want) else "value"
