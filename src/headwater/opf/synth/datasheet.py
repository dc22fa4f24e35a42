"""The datasheet of a synthesis (T. Gebru et al., Datasheets for Datasets, CACM 64, 2021)."""

from __future__ import annotations

from typing import Any

from ..language import bank
from .merge import DEV_SHARE, TEST_SHARE, Merged
from .plan import LOOSE_EVERY, Settings
from .statistics import extension_coverage, field_coverage, reject_reasons, summary
from .values import SCALES

LEVEL_WORDS = {
    1: "concrete: values in the text, the plain model",
    2: "abstract: directions in the text, values as arguments, the plain model",
    3: "concrete, with a structural extension or another formulation",
    4: "abstract, with a structural extension or another formulation",
}


def datasheet(merged: Merged, settings: Settings) -> str:
    """Return the datasheet as Markdown; it holds no date and no path."""
    counts = summary(merged, settings)
    sections = [
        _head(counts),
        _composition(merged, counts),
        _collection(settings, counts),
        _labels(settings, counts),
        _splits(counts, settings),
        _rejects(merged),
        _uses(),
    ]
    return "\n\n".join(sections) + "\n"


def _head(counts: dict[str, Any]) -> str:
    return f"""# Datasheet: requests for optimal power flow with solved answers

{counts["kept"]} instances, drawn with seed {counts["seed"]}. Each pairs a request in English with
the changes of a network and the structure of the model that it asks for, programs in MATLAB and
Python, and the optimum.

## Motivation

Training and evaluation of models that turn requests of power engineers into optimisation
programs. The texts come from a bank of sentences, the numbers from a solver; no text of another
data set and no answer of a language model is part of them."""


def _composition(merged: Merged, counts: dict[str, Any]) -> str:
    levels = _table(
        ["level", "what it is", "instances"],
        [[k, LEVEL_WORDS[k], counts["levels"][str(k)]] for k in LEVEL_WORDS],
    )
    systems = _table(["network", "instances"], list(counts["systems"].items()))
    shapes = _table(["formulation", "instances"], list(counts["formulations"].items()))
    fields = field_coverage(merged.manifest).sum(axis=1)
    extensions = extension_coverage(merged.manifest).sum(axis=1)
    unused = [name for name, n in fields.items() if not n]
    return f"""## Composition

{levels}

{systems}

{shapes}

Changes by field: {_listed(fields)}. Fields that no instance changes: {", ".join(unused) or "none"}.

Extensions: {_listed(extensions)}.

{counts["scenarios_used"]} of {counts["scenarios"]} scenarios occur. An instance has
{counts["changes_mean"]} changes on average and moves the optimum by
{counts["relative_change_median"]} (median, relative). {counts["with_matpower_program"]} instances
have a MATPOWER program; the others ask for what MATPOWER's `opf_setup` cannot express."""


def _collection(settings: Settings, counts: dict[str, Any]) -> str:
    sentences = len(bank.texts())
    return f"""## How it was made

Instance n is drawn from the random stream of ({settings.seed}, n) alone: level (n modulo 4),
networks to try, number of changes, structure, objects, values, words. Objects exist in the
network and are in service; a field with the value zero is never scaled and never given a
direction; a field that the formulation does not use is never drawn. Factors lie between
{SCALES.min()} and {SCALES.max()}; test values of placeholders are 5 and 10 percent of |default|
away from it (voltage limits 1 and 2 percent). Status changes never split the network.

Objects and values were chosen with the optimum of the unmodified network in view, so that changes
are felt: loads with a price, limits that bind or would bind, units that run. Fields that seldom
move an optimum (charging, shunts, reactive limits) are therefore rarer than in a network.

Texts: {sentences} sentences for fields, scenarios and structures; frames around them.
{_percent(counts["acceptance_rate"])} of the attempts were accepted."""


def _labels(settings: Settings, counts: dict[str, Any]) -> str:
    return f"""## Answers

The optimum was computed to 1e-8 p.u. whatever tolerance a request names, and verified by a
recomputation of flows, limits and costs that does not use the solver. AC optima are local optima.
Accepted is what moves the optimum of the plain unmodified network by more than
{settings.threshold:g}. In {LOOSE_EVERY - 1} of {LOOSE_EVERY} instances every item was required
to be active: leaving it out moves the optimum by more than {settings.threshold:g}; items that
did not were left out before the text was written. Here this holds for
{_percent(counts["all_items_active_share"])}; the others name their idle items under
`synthesis.inactive`. `drop_one_relative_effect` holds the number for every item (null: without it
the problem is infeasible)."""


def _splits(counts: dict[str, Any], settings: Settings) -> str:
    rows = [[name, n] for name, n in counts["parts"].items()]
    held = [s.name for s in bank.scenarios().values() if s.held_out]
    return f"""## Parts

{_table(["part", "instances"], rows)}

Out-of-distribution networks: {", ".join(settings.ood_systems) or "none"}. Out-of-distribution
scenarios: {", ".join(held)}.
All others are dealt by the hash of what they ask (test
{TEST_SHARE:g}, dev {DEV_SHARE:g}): the same request in other words is in one part. Duplicates left
out: {counts["duplicates"]}."""


def _rejects(merged: Merged) -> str:
    table = reject_reasons(merged.rejects)
    total = table.groupby("reason", sort=False)["count"].sum()
    rows = [[reason, int(n)] for reason, n in total.items()]
    return "## Rejected attempts\n\n" + _table(["reason", "attempts"], rows)


def _uses() -> str:
    return """## Uses, limits, licence

For training and scoring of modelling, not for operating a grid: the networks are test cases. The
language is that of templates; a model that does well here may fail on the words of engineers.
Numbers in a text are rounded to two or three digits; units are those of the case format.
The records are free to use under the licence of this project; networks are not part of them and
keep their own licences."""


def _table(head: list[str], rows: list[Any]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(str(v) for v in row) + " |" for row in rows]
    return "\n".join(lines)


def _listed(counts: Any) -> str:
    there = counts[counts > 0].sort_values(ascending=False, kind="stable")
    return ", ".join(f"{name} {int(n)}" for name, n in there.items()) or "none"


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{100 * share:.1f} percent"
