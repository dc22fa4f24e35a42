"""What a check of a case or of a request found: an error, a warning or a solver status."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from headwater.core.errors import InputError

SEVERITIES = ("error", "warning", "status")


@dataclass(frozen=True)
class Finding:
    """One named finding.

    Attributes
    ----------
    severity : str
        ``error`` (nothing is solved), ``warning`` (solved, and said) or ``status`` (of a solver).
    code : str
        Name of the fault, for example ``unknown_branch``.
    where : str
        Case or record, object and field.
    found, expected, hint : str
        What stands there, what may stand there, the user's next step.
    """

    severity: str
    code: str
    where: str
    found: str
    expected: str = ""
    hint: str = ""

    @property
    def message(self) -> str:
        """The finding as one line."""
        error = InputError(None, self.where, self.found, self.expected, self.hint)
        return f"{self.code}: {error.line()}"

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as plain data."""
        return asdict(self)


def errors(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that forbid a solve."""
    return [f for f in findings if f.severity == "error"]


def stop_on_errors(findings: Iterable[Finding], file: str | None = None) -> None:
    """Raise the first error among the findings.

    Raises
    ------
    InputError
        With the words of the finding, its code first.
    """
    for found in errors(findings):
        where = ", ".join(p for p in (found.code, found.where) if p)
        raise InputError(file, where, found.found, found.expected, found.hint)
