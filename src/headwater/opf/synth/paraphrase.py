"""Requests reworded by a language model, kept only where every number and name survives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..findings import Finding
from ..language import fidelity

PROMPT = """Reword the following request of a power system engineer. Keep its meaning exactly.
Rules: keep every number with its unit as digits, every bus number, every name with underscores
and the name of the network letter by letter; do not add, merge or drop a change; do not compute
anything; answer with the reworded request alone.

Request:
{request}"""


def prompt(record: Mapping[str, Any]) -> str:
    """Return what a model is asked for a record."""
    return PROMPT.format(request=record["request"])


def reworded(
    record: Mapping[str, Any], ask: Callable[[str], str]
) -> tuple[dict[str, Any], list[Finding]]:
    """Return the record with the words of a model, or as it was where they lost something.

    Parameters
    ----------
    ask : callable
        Prompt -> answer, for example of `headwater.core.llm`.

    Returns
    -------
    record, findings
        The text that was replaced stays as ``synthesis.request_template``. Findings say what a
        refused answer lost, changed or invented.
    """
    text = _plain(ask(prompt(record)))
    findings = accepted(record, text)
    if findings:
        return dict(record), findings
    made = {**record.get("synthesis", {}), "request_template": record["request"]}
    return {**record, "request": text, "synthesis": made}, []


def accepted(record: Mapping[str, Any], text: str) -> list[Finding]:
    """Return why a paraphrase cannot stand for a record; nothing where it can."""
    found = fidelity.survives(record["request"], text, names=[record["base_system"]])
    return found or fidelity.check(record, text)


def _plain(answer: str) -> str:
    """Return an answer without quotes or a fence around it."""
    text = answer.strip()
    if text.startswith("```"):
        text = "\n".join(line for line in text.split("\n") if not line.startswith("```"))
    return " ".join(text.strip().strip('"').split())
