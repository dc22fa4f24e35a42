"""Amounts in a clause: set to a number with a unit, scaled by a factor or a share."""

from __future__ import annotations

import re

from .lexicon import DOWN, NUMBER, UP, WORDS, number

_WORD = "|".join(sorted(map(re.escape, WORDS), key=len, reverse=True))
_FACTOR = re.compile(
    rf"(?:multipl\w+|scal\w+|times)[^.;\d]{{0,40}}?(?:by |a factor of |with )?({NUMBER})"
    rf"|\bby (?:a )?factor (?:of )?({NUMBER})|\bto ({NUMBER}) times",
    re.I,
)
_SHARE = re.compile(rf"\b(?:by )?({NUMBER}|{_WORD})\s*(?:%|percent|per cent)", re.I)
_PART = re.compile(rf"\bby ({_WORD})\b", re.I)
_AMOUNT = re.compile(
    rf"({NUMBER})\s*(?:MWh?|MVAr|Mvar|MVA|p\.?u\.?|per unit|\$/MWh|dollars|degrees?|deg)?(?![\w/])",
    re.I,
)
_TO_SHARE = re.compile(rf"\bto ({NUMBER})\s*(?:%|percent|per cent)", re.I)


def amount(clause: str, after: int = 0) -> tuple[str, float] | None:
    """Return (op, value) of a clause: ``scale`` or ``set``; None where there is no amount.

    Parameters
    ----------
    clause : str
        Without the numbers that name buses.
    after : int
        Where the field word ends: the first plain number behind it is taken before others.
    """
    if re.search(r"\bdoubl", clause, re.I):
        return "scale", 2.0
    if re.search(r"\bhalv", clause, re.I):
        return "scale", 0.5
    if re.search(r"\btripl", clause, re.I):
        return "scale", 3.0
    found = _FACTOR.search(clause)
    if found:
        return "scale", number(next(g for g in found.groups() if g))
    found = _TO_SHARE.search(clause)
    if found:
        return "scale", number(found.group(1)) / 100
    for pattern, unit in ((_SHARE, 0.01), (_PART, 1.0)):
        found = pattern.search(clause)
        if found:
            size = unit * _value(found.group(1))
            down = re.search(DOWN, clause, re.I) and not re.search(UP, clause, re.I)
            return "scale", round(1 - size if down else 1 + size, 12)
    behind = _AMOUNT.search(clause, after) or _AMOUNT.search(clause)
    return ("set", number(behind.group(1))) if behind else None


def _value(text: str) -> float:
    return WORDS.get(text.lower()) or number(text)
