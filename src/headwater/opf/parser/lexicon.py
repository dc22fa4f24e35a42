"""Words of power engineering, as regular expressions (case does not count)."""

from __future__ import annotations

import re

NUMBER = r"[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][-+]?\d+)?"
WORDS = {
    "one": 1.0,
    "two": 2.0,
    "three": 3.0,
    "four": 4.0,
    "five": 5.0,
    "half": 0.5,
    "a third": 1 / 3,
    "one third": 1 / 3,
    "a quarter": 0.25,
    "one quarter": 0.25,
    "a fifth": 0.2,
    "one fifth": 0.2,
    "a tenth": 0.1,
    "one tenth": 0.1,
}
BRANCH = re.compile(
    r"(?:lines?|branch(?:es)?|circuits?|transformers?|corridor|link|tie)\b(?:(?!\bbus\b).){0,25}?"
    r"(?:between (?:buses |bus )?(\d+) and (?:bus )?(\d+)|from (?:bus )?(\d+) to (?:bus )?(\d+)"
    r"|(\d+)\s*(?:-|–|to)\s*(\d+))",
    re.I,
)
GEN = re.compile(
    r"(?:units?|generators?|plants?|generation|machines?|station)\b[^.;,]{0,25}?"
    r"\b(?:at|on|of) bus (\d+)",
    re.I,
)
BUS = re.compile(r"\bbus (\d+)\b", re.I)
EVERY = re.compile(
    r"\b(?:all|every|each|total|system-wide)\b[^.;]{0,30}?\b(?:demands?|loads?)\b", re.I
)
# field by component, tried in this order
FIELDS = {
    "bus": (
        ("QD", r"\breactive (?:power )?(?:demand|load|consumption)|\bmvar\b(?=.*(?:demand|load))"),
        ("PD", r"\b(?:real|active)?[- ]?(?:power )?(?:demands?|loads?|consumption)\b"),
        ("BS", r"\bcapacitor|\bshunt|\bsusceptance|\breactor\b"),
        (
            "VMIN",
            r"\b(?:lower|minimum|min)\b[^.;]*\bvoltage|voltage[^.;]*\b(?:at or above|above|not"
            r" (?:fall|drop) below|at least|lower limit|minimum)",
        ),
        ("VMAX", r"\bvoltage|\bvmax\b"),
    ),
    "gen": (
        ("COST_C2", r"\bquadratic (?:cost|coefficient|term)"),
        (
            "COST_C1",
            r"\b(?:marginal|linear|incremental|fuel) ?(?:cost|price|coefficient)|\bcosts?\b"
            r"|\bfuel\b|\bbids?\b|\bpriced?\b",
        ),
        ("QMAX", r"\breactive[^.;]*(?:limit|capability|maximum|most|exceed)|\bqmax\b"),
        ("QMIN", r"\bqmin\b|\babsorb"),
        (
            "PMIN",
            r"\b(?:minimum|must-run|at least|no less|not (?:fall|drop) below|at or above)\b"
            r"|\bpmin\b",
        ),
        (
            "GEN_STATUS",
            r"\bout of service|\boff ?line|\btrip(?:s|ped)?\b|\bshut down|\bunavailable",
        ),
        (
            "PMAX",
            r"\bcap(?:ped|acity)?\b|\bexceed|\bat or below|\blimit|\bmaximum|\bderat|\bmost\b"
            r"|\bpmax\b|\bno more\b|\boutput|\bup to\b",
        ),
    ),
    "branch": (
        (
            "BR_STATUS",
            r"\bout (?:of service|for|on)\b|\bswitch(?:ed)? (?:it )?(?:off|out)|\bopen(?:ed)?\b"
            r"|\boutage|\btrip(?:s|ped)?\b|\bdisconnect|\bremove",
        ),
        ("TAP", r"\btap\b|\bturns? ratio|\bratio\b"),
        ("SHIFT", r"\bphase shift|\bshift angle"),
        ("BR_X", r"\breactance\b"),
        ("BR_R", r"\bresistance\b"),
        ("BR_B", r"\bcharging\b"),
        ("RATE_A", r"\brat(?:ing|ed)\b|\bderat|\blimit|\bcapacity|\bmva\b|\bthermal|\bflow\b"),
    ),
}
UP = (
    r"\b(?:rais|increas|grow|climb|ris|jump|surg|soar|higher|up\b|more|heat wave|expand|upgrad"
    r"|gain)"
)
DOWN = (
    r"\b(?:reduc|decreas|lower|drop|fall|derat|cut|less|shrink|declin|tighten|curtail|weak|down\b)"
)
ZERO = r"\b(?:zero|lost|fails?|failed|removed|trip(?:s|ped)?|out of service|switched off|gone)\b"
ABSTRACT = re.compile(r"\bplaceholders?\b|\bparameteri[sz]ed\b|\bsymbolic\b|\bas inputs?\b", re.I)
DC = re.compile(r"\bDC[- ]?(?:OPF|optimal|power|model|approx)|\blineari[sz]ed\b|\bDCOPF\b", re.I)
ED = re.compile(r"\beconomic dispatch\b|\bcopper[- ]?plate\b|\bwithout (?:the )?network\b", re.I)
SOCP = re.compile(r"\bsecond[- ]order cone|\bSOCP\b|\bcone relaxation", re.I)
VIOLATION = re.compile(
    r"(?:violation|tolerance)[^.;\d]{0,40}?(\d(?:\.\d+)?[eE]-\d+|0\.0+\d+)|"
    r"(\d(?:\.\d+)?[eE]-\d+)[^.;]{0,20}(?:violation|tolerance)",
    re.I,
)


def number(text: str) -> float:
    """Return a number as it is written, thousands separators and all."""
    return float(text.replace(",", ""))
