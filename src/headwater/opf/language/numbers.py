"""Numbers in requests: written with their unit, and found again with what they count.

The kind of a number is its unit (``MW``, ``$/MWh``, ``percent``), or ``bus``, ``circuit``,
``count``, or empty for a bare number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

# Units as they stand in a text; the column of the case file may say more ("MW at 1 p.u.").
SHOWN = {"MW at 1 p.u.": "MW", "MVAr at 1 p.u.": "MVAr"}
UNITS = (
    "MWh",
    "MW/min",
    "MW",
    "MVAr",
    "MVA",
    "p.u.",
    "degrees",
    "$/MW^3 per hour",
    "$/MW^2 per hour",
    "$/MWh",
    "$/MW",
    "$/MVAr^2",
    "$/MVAr",
    "$/MVA",
    "$/rad^2",
    "$/p.u.^2",
    "$/h",
    "$/t",
    "t/MWh",
    "t/h",
    "h",
    "$",
)
WORDS = {10: ("tenth",), 20: ("fifth",), 25: ("quarter",)}
_FRACTION = re.compile(r"\b(?:one|a) (tenth|fifth|quarter)\b")
_PLACEHOLDER = re.compile(r"\b(?:bus|gen|branch)_[A-Z][A-Z0-9_]*_\d+(?:_c?\d+)*\b")
_PAIR = re.compile(r"(?<![\w.^-])(\d+)-(\d+)(?![\w.]*\d)")
_POWER = re.compile(r"10\^(-?\d+)")
_NUMBER = re.compile(
    r"(?<![\w.^])(?<![A-Za-z]-)"
    r"(-?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?)"
    r"(?![\w^]*\d)"
)
_PERCENT = re.compile(r"\s*(?:%|percent\b|per cent\b)")
_UNIT = re.compile("|".join(rf"\s*{re.escape(u)}(?![\w^/])" for u in UNITS))
_BUS_BEFORE = re.compile(
    r"(?:\b[Bb]us(?:es)?|\b[Nn]odes?)(?: no\.| number)? (?:\d+(?:, | and | to ))*$"
    r"|\b[Bb]us(?:es)? \d+ to bus $"
)
_CIRCUIT_BEFORE = re.compile(r"\b[Cc]ircuit $")


class Number(NamedTuple):
    """A number of a text: its value, what it counts, where it begins."""

    value: float
    kind: str
    start: int


def plain(value: float) -> str:
    """Return the shortest decimal text of a number, without an exponent."""
    text = format(Decimal(repr(float(value))).normalize(), "f")
    return "0" if text in ("-0", "0") else text


def percent(value: float, rng: np.random.Generator) -> str:
    """Return a share in percent, `value` 12 for 12 %, now and then as a fraction in words."""
    whole = round(value)
    if whole in WORDS and abs(value - whole) < 1e-9 and rng.random() < 0.2:
        return f"{('a', 'one')[int(rng.integers(2))]} {WORDS[whole][0]}"
    style = ("{} percent", "{} percent", "{} %", "{}%", "{} per cent")[int(rng.integers(5))]
    return style.format(plain(value))


def with_unit(value: float, unit: str, rng: np.random.Generator) -> str:
    """Return a value with its unit; large ones now and then with a comma for the thousands."""
    text = plain(value)
    if abs(value) >= 1000 and rng.random() < 0.25:
        whole, _, rest = text.partition(".")
        text = f"{int(whole):,}" + (f".{rest}" if rest else "")
    unit = SHOWN.get(unit, unit)
    return f"{text} {unit}" if unit else text


def tolerance(value: float, rng: np.random.Generator) -> str:
    """Return a small number in one of the ways people write it."""
    mantissa, exponent = f"{value:e}".split("e")
    if float(mantissa) != 1.0:
        return f"{float(mantissa):g}e{int(exponent)}"
    style = ("1e{}", "1e{}", "1e{:03d}", "10^{}")[int(rng.integers(4))]
    return style.format(int(exponent))


def listed(values: Sequence[Any]) -> str:
    """Return numbers one after the other."""
    return ", ".join(plain(v) for v in values)


def together(values: Sequence[Any]) -> str:
    """Return numbers joined in words: 3, 7 and 9."""
    texts = [plain(v) for v in values]
    return texts[0] if len(texts) == 1 else ", ".join(texts[:-1]) + " and " + texts[-1]


def placeholders(text: str) -> list[str]:
    """Return the placeholder names that stand in a text."""
    return _PLACEHOLDER.findall(text)


def _blank(text: str, start: int, end: int) -> str:
    return text[:start] + " " * (end - start) + text[end:]


def numbers(text: str, without: Sequence[str] = ()) -> list[Number]:
    """Return the numbers of a text, in its order.

    Parameters
    ----------
    text : str
    without : sequence of str
        Passages that are no numbers although they hold digits, for example names of networks.
    """
    for name in sorted(without, key=len, reverse=True):
        text = text.replace(name, "_" * len(name))
    found: list[Number] = []
    for match in _PLACEHOLDER.finditer(text):
        text = _blank(text, *match.span())
    for match in _FRACTION.finditer(text):
        share = next(k for k, words in WORDS.items() if match.group(1) in words)
        found.append(Number(float(share), "percent", match.start()))
    for match in _POWER.finditer(text):
        found.append(Number(10.0 ** int(match.group(1)), "", match.start()))
        text = _blank(text, *match.span())
    for match in _PAIR.finditer(text):
        found += [Number(float(match.group(k)), "bus", match.start(k)) for k in (1, 2)]
        text = _blank(text, *match.span())
    for match in _NUMBER.finditer(text):
        value = float(match.group(1).replace(",", ""))
        found.append(Number(value, _kind(text, *match.span(1)), match.start(1)))
    return sorted(found, key=lambda n: n.start)


def _kind(text: str, start: int, end: int) -> str:
    before, after = text[:start], text[end:]
    if after.startswith("-bus"):
        return "size"
    if _PERCENT.match(after):
        return "percent"
    unit = _UNIT.match(after)
    if unit:
        return unit.group(0).strip()
    if _CIRCUIT_BEFORE.search(before):
        return "circuit"
    return "bus" if text[start:end].isdigit() and _BUS_BEFORE.search(before) else ""
