"""Names of the public ProOPF material mapped to the vocabulary of extensions.

Its structural changes are free text: seven kinds of problem, fifteen objectives and nine
constraints, each spelt in many ways. What is mapped is a meaning; what has no counterpart, or
lacks a number that the counterpart needs, is named and never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

NOTHING = ""  # the generation cost that is there anyway
NO_COUNTERPART = "?"

FORMULATIONS = (
    (r"\bsocp\b|\bsoc\b|second order|\bconic\b", "SOCP"),
    (r"\bdc|\bmost\b", "DCOPF"),
    (r"\bac", "ACOPF"),
    (r"economic dispatch|\bed\b", "ED"),
)
PROBLEMS = (
    (r"\bscuc\b|unit commitment", "unit_commitment"),
    (r"multi ?period|time coupled|\bscuc\b", "horizon"),
    (r"\w*ots\b|switching", "transmission_switching"),
    (r"\bn 1\b|\w*scopf\b|(?<!un)(?<!un )security constrained opf", "n1_security"),
    (r"load shed", "load_shedding"),
    (r"loadab|transfer capab", "transfer_capability"),
)
OBJECTIVES = (
    (r"^none$|\bstandard\b|\bdefault\b|\bbase cost|^(ac |dc )?(opf )?generation cost$", NOTHING),
    (r"line charging|proxy|b coefficient|\bb loss", NO_COUNTERPART),
    (r"angle (diff|separation|spread)", "angle_difference_penalty"),
    (r"voltage (magnitude )?(deviation|profile)", "voltage_deviation_penalty"),
    (r"reactive.*reserve", "reactive_reserve"),
    (r"reactive.*(cost|support)", "reactive_generation_cost"),
    (r"reserve", "real_reserve_cost"),
    (r"redispatch", "redispatch_cost"),
    (r"load shed|unserved|lost load|\bvoll\b", "load_shedding"),
    (r"curtail", "renewable_curtailment"),
    (r"emission|carbon|\bco2\b", "emission_cost"),
    (r"congestion", "congestion_cost"),
    (r"welfare|surplus", "social_welfare"),
    (r"demand response", "demand_response"),
    (r"soft|overload|slack", "soft_line_limits"),
    (r"\bl index\b|voltage stability", "l_index"),
    (r"loadab|transfer capab", "transfer_capability"),
    (r"procure", "procurement_cost"),
    (r"start ?up|commitment", "unit_commitment"),
    (r"loss", "active_power_loss"),
    (r"frequency", "frequency_security"),
)
CONSTRAINTS = (
    (r"^none$|\bstandard\b", NOTHING),
    (r"reactive.*reserve", NO_COUNTERPART),
    (r"\bots\b|switching", "transmission_switching"),
    (r"regulation", "regulation_up_requirement"),
    (r"reserve", "spinning_reserve_requirement"),
    (r"robust|\bbox\b", "robust_line_limits"),
    (r"chance|probab", "chance_line_limits"),
    (r"\bsoft\b|slack", "soft_line_limits"),
    (r"\bn ?1\b|security|contingenc|\bscopf\b", "n1_security"),
    (r"emission|carbon|\bco2\b", "emission_cap"),
    (r"load shed", "load_shedding"),
    (r"\bramp", "ramp_limits"),
    (r"commitment|\bscuc\b", "unit_commitment"),
    (r"multi ?period|schedul|horizon", "horizon"),
    (r"storage|battery", "storage"),
    (r"frequency|\brocof\b|nadir", "frequency_security"),
    (r"\bl index\b|voltage stability", "l_index"),
    (r"loadab|transfer capab", "transfer_capability"),
    (r"curtail|renewable", "renewable_curtailment"),
)
WEIGHT = ("beta", "weight", "penaltyweight", "penalty")
PRICE = ("price", "cost", "pricepermw", "pricepermwh", "weight")
# Our parameter: their keys, in lower case without signs, the first that is there.
PARAMETERS: dict[str, dict[str, tuple[str, ...]]] = {
    "angle_difference_penalty": {"beta": WEIGHT},
    "voltage_deviation_penalty": {"beta": WEIGHT, "v_ref": ("vref", "vreftarget", "vtarget")},
    "reactive_generation_cost": {"c2": ("cq", "c2")},
    "spinning_reserve_requirement": {
        "unit_cap_mw": ("spmaxmw", "spmax", "rsmaxmw", "rmaxmw", "unitcapmw"),
        "requirement_mw": ("rspmw", "rsp", "rsmw", "rreqmw", "requirementmw"),
    },
    "regulation_up_requirement": {
        "unit_cap_mw": ("rumaxmw", "rumax", "unitcapmw"),
        "requirement_mw": ("rrumw", "rru", "requirementmw"),
    },
    "n1_security": {"emergency_factor": ("emergencyfactor", "kappa")},
    "emission_cap": {
        "cap_t_per_h": ("captperh", "cap", "emax"),
        "rates_t_per_mwh": ("etpermwh", "ratestpermwh", "rates"),
    },
    "emission_cost": {
        "price": ("price", "carbonprice", "taxpert", "pricepert"),
        **{key: (key,) for key in ("alpha", "gamma", "zeta", "lambda")},
        "beta": ("etpermwh", "beta"),
    },
    "robust_line_limits": {
        "buses": ("uncertainbusesext", "uncertainbuses", "buses"),
        "delta_mw": ("deltamw", "delta"),
    },
    "chance_line_limits": {
        "bus": ("windbus", "bus", "buses", "uncertainbusesext", "uncertainbuses"),
        "mean_mw": ("meanmw", "mumw", "mu"),
        "std_mw": ("stdmw", "sigmamw", "sigma"),
        "epsilon": ("epsilon", "eps", "violationprobability"),
    },
    "transmission_switching": {"max_open": ("maxopen", "gub")},
    "load_shedding": {"voll": ("voll", "penalty", *PRICE)},
    "soft_line_limits": {"penalty": ("penalty", "slackpenalty", *PRICE)},
    "active_power_loss": {"price": PRICE},
    "redispatch_cost": {"up": ("cup", "up"), "down": ("cdown", "down")},
    "congestion_cost": {"price": PRICE},
    "real_reserve_cost": {"price": PRICE},
    "reactive_reserve": {"weight": ("weight", "wpermvar", "w")},
    "ramp_limits": {"up_mw": ("upmw", "rampmw", "rampup"), "down_mw": ("downmw", "rampdown")},
    "horizon": {"load_multipliers": ("loadmultipliers", "multipliers"), "hours": ("hours",)},
    "unit_commitment": {"min_up_h": ("minuph", "minup"), "min_down_h": ("mindownh", "mindown")},
}


def words(name: Any) -> str:
    """Return a name in lower-case words: ``N-1_security`` is ``n 1 security``."""
    return re.sub(r"[^a-z0-9]+", " ", str(name).lower()).strip()


def key(name: str) -> str:
    """Return a key in lower case without signs."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def first(table: tuple[tuple[str, str], ...], name: Any) -> str | None:
    """Return what the first pattern that fits a name maps to; None where none fits."""
    text = words(name)
    return next((target for pattern, target in table if re.search(pattern, text)), None)


def every(table: tuple[tuple[str, str], ...], name: Any) -> list[str]:
    """Return what all patterns that fit a name map to."""
    text = words(name)
    return [target for pattern, target in table if re.search(pattern, text)]


def leaves(item: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield key and value of every number and list of numbers inside an object."""
    if isinstance(item, Mapping):
        for inner, value in item.items():
            yield from leaves(value, str(inner))
    elif isinstance(item, list) and not (item and all(map(_number, item))):
        for value in item:
            yield from leaves(value, name)
    elif _number(item) or isinstance(item, list):
        yield name, item


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
