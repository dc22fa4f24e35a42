"""Structural extensions in a request: a word that names each, and its numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .lexicon import NUMBER, WORDS, number

Item = dict[str, Any]
_N = f"({NUMBER})"


def _first(text: str, *patterns: str) -> float | None:
    for pattern in patterns:
        found = re.search(pattern, text, re.I)
        if found:
            word = next(g for g in found.groups() if g)
            return WORDS.get(word.lower()) or number(word)
    return None


def _reserve(word: str) -> Callable[[str], Item | None]:
    def read(text: str) -> Item | None:
        if not re.search(word, text, re.I):
            return None
        cap = _first(
            text,
            rf"(?:each|every|per|any|single|no) (?:unit|generator|machine)[^.;\d]{{0,60}}?{_N} ?MW",
            rf"{_N} ?MW (?:per|for each|for every|from each|from any) (?:unit|generator|machine)",
        )
        rest = text if cap is None else re.sub(rf"\b{cap:g} ?MW", " ", text, count=1)
        need = _first(
            rest,
            rf"{_N} ?MW (?:of )?(?:up ?ward )?{word}",
            rf"{word}[^.;\d]{{0,60}}?{_N} ?MW",
            rf"{_N} ?MW (?:in total|altogether|system-wide)",
        )
        if cap is None or need is None:
            return None
        return {"unit_cap_mw": cap, "requirement_mw": need}

    return read


def _angles(text: str) -> Item | None:
    if not re.search(
        r"angle (?:difference|spread|gap)s?[^.;]*(?:penal|squar|cost|charge)|penal[^.;]*"
        r"angle difference",
        text,
        re.I,
    ):
        return None
    beta = _first(
        text,
        rf"{_N} ?\$? ?(?:/|per )(?:squared )?rad",
        rf"\$ ?{_N}[^.;]*rad",
        rf"(?:weight|factor|coefficient|beta)[^.;\d]{{0,20}}{_N}",
    )
    return None if beta is None else {"beta": beta, "unit": "$/rad^2"}


def _voltages(text: str) -> Item | None:
    if not re.search(r"voltage[^.;]*(?:deviation|profile|flat)|deviation[^.;]*voltage", text, re.I):
        return None
    beta = _first(
        text,
        rf"(?:weight|factor|coefficient|beta|penalty|price)[^.;\d]{{0,30}}{_N}",
        rf"{_N} ?\$? ?(?:/|per )(?:squared )?p\.?u",
        rf"{_N}[^.;]{{0,30}}(?:penalty|squared)",
    )
    ref = _first(text, r"(?:from|around|to|reference|of) (0\.\d+|1\.\d+|1)\b ?(?:p\.?u|per unit)?")
    return None if beta is None else {"beta": beta, "v_ref": 1.0 if ref is None else ref}


def _reactive(text: str) -> Item | None:
    price = _first(
        text, rf"{_N} ?\$ ?/ ?MVAr\^?2", rf"{_N} (?:\$|dollars) per (?:squared MVAr|MVAr squared)"
    )
    return None if price is None else {"c2": price, "unit": "$/MVAr^2"}


def _n1(text: str) -> Item | None:
    if not re.search(
        r"\bN-1\b|\bsingle[- ](?:line |branch )?(?:outage|contingenc)|\bany (?:one|single)"
        r" (?:line|branch|circuit)",
        text,
        re.I,
    ):
        return None
    share = _first(
        text,
        rf"{_N} ?(?:%|percent|per cent)[^.;]*(?:rating|limit|emergency)",
        rf"(?:emergency|rating)[^.;\d]{{0,40}}{_N} ?(?:%|percent|per cent)",
    )
    return {
        "contingencies": "all_non_islanding_branches",
        "emergency_factor": 1.0 if share is None else share / 100,
    }


def _shed(text: str) -> Item | None:
    if not re.search(r"\bshed|\bcurtail\w* (?:load|demand)|\bunserved|\blost load", text, re.I) or (
        re.search(r"without[^.;]*shed", text, re.I)
    ):
        return None
    voll = _first(text, rf"{_N} ?(?:\$|dollars|USD) ?(?:/|per )MWh", rf"\$ ?{_N} ?(?:/|per )MWh")
    return None if voll is None else {"voll": voll, "power_factor": "constant"}


def _emissions(text: str) -> Item | None:
    cap = _first(text, rf"{_N} ?(?:t|tons?|tonnes?) ?(?:/h|per hour|an hour|of CO2 per hour)")
    rates = re.search(
        rf"((?:{NUMBER}(?:, | and |, and )){{2,}}{NUMBER}) ?(?:t|tons?|tonnes?)", text
    )
    if cap is None or rates is None:
        return None
    values = [number(v) for v in re.findall(NUMBER, rates.group(1).replace(", ", " "))]
    return {"rates_t_per_mwh": values, "cap_t_per_h": cap}


def _switching(text: str) -> Item | None:
    if not re.search(
        r"(?:may|can|allow\w*|free to|permit\w*)[^.;]*(?:switch|open)[^.;]*(?:line|branch)"
        r"|(?:line|transmission|topology)[^.;]*switching",
        text,
        re.I,
    ):
        return None
    most = _first(
        text,
        r"(?:at most|up to|no more than|single|only) ?(one|two|three|\d+)",
        r"\b(one|two|three) (?:line|branch)",
    )
    return None if most is None else {"max_open": int(most)}


def _chance(text: str) -> Item | None:
    if not re.search(r"standard deviation|probabilit|chance|confidence", text, re.I):
        return None
    bus = _first(
        text, r"(?:wind|solar|PV|farm|injection|forecast)[^.;]*?bus (\d+)", r"\bat bus (\d+)"
    )
    mean = _first(
        text,
        rf"(?:mean|expected|forecast|average)[^.;\d]{{0,30}}{_N} ?MW",
        rf"{_N} ?MW (?:on average|expected)",
    )
    std = _first(text, rf"standard deviation[^.;\d]{{0,20}}{_N}", rf"{_N} ?MW standard deviation")
    eps = _first(text, rf"(?:probability|risk|epsilon)[^.;\d]{{0,40}}{_N} ?(?:%|percent)")
    eps = (
        eps / 100
        if eps is not None
        else _first(text, r"(?:probability|risk|epsilon)[^.;\d]{0,40}(0\.\d+)")
    )
    if eps is None:
        sure = _first(text, rf"{_N} ?(?:%|percent)[^.;]*(?:confiden|probab|certain)")
        eps = None if sure is None else round(1 - sure / 100, 12)
    if bus is None or mean is None or std is None or eps is None:
        return None
    return {"bus": int(bus), "mean_mw": mean, "std_mw": std, "epsilon": eps}


READERS: tuple[tuple[str, str, Callable[[str], Item | None]], ...] = (
    ("constraints", "spinning_reserve_requirement", _reserve(r"spinning reserve")),
    (
        "constraints",
        "regulation_up_requirement",
        _reserve(r"(?:up-?)?regulation(?:[- ]up)?(?: reserve)?"),
    ),
    ("objective", "angle_difference_penalty", _angles),
    ("objective", "voltage_deviation_penalty", _voltages),
    ("objective", "reactive_generation_cost", _reactive),
    ("constraints", "n1_security", _n1),
    ("variables", "load_shedding", _shed),
    ("constraints", "emission_cap", _emissions),
    ("variables", "transmission_switching", _switching),
    ("constraints", "chance_line_limits", _chance),
)


def structure_of(text: str, formulation: str) -> dict[str, Any]:
    """Return the structure that a request names, as records write it."""
    found: dict[str, Any] = {
        "formulation": formulation,
        "objective": [],
        "constraints": [],
        "variables": [],
    }
    for group, name, read in READERS:
        values = read(text)
        if values is not None:
            found[group].append({"op": "add", "name": name, **values})
    return found
