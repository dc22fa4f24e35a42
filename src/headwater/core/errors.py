"""The one error that a user's input can cause, and its one-line text."""

from __future__ import annotations

from pathlib import Path


class InputError(ValueError):
    """Something a user gave is wrong: says where, what was found, what is wanted, what to do.

    Parameters
    ----------
    file : path or None
        The file that holds the fault; None when the fault is in the configuration.
    where : str
        Row, column, key or variable inside the file; may be empty.
    found, expected : str
        What stands there and what should stand there.
    hint : str
        The user's next step.
    """

    def __init__(
        self,
        file: str | Path | None = None,
        where: str = "",
        found: str = "",
        expected: str = "",
        hint: str = "",
    ) -> None:
        self.file = None if file is None else str(file)
        self.where = where
        self.found = found
        self.expected = expected
        self.hint = hint
        super().__init__(self.line())

    def line(self) -> str:
        """Return the whole message as one line."""
        place = ", ".join(p for p in (self.file, self.where) if p)
        parts = [f"{place}: found {self.found}" if place else f"found {self.found}"]
        if self.expected:
            parts.append(f"expected {self.expected}")
        text = "; ".join(parts)
        if self.hint:
            text += f". {self.hint}"
        return " ".join(text.split())

    def __reduce__(self) -> tuple:
        return (
            type(self),
            (self.file, self.where, self.found, self.expected, self.hint),
        )
