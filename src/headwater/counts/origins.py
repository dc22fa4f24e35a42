"""Where forecasts begin when the configuration does not say."""

from __future__ import annotations


def default_origins(steps: int, number: int = 3) -> list[int]:
    """Return evenly spread origins: with 3, a quarter, a half and three quarters of the steps."""
    spread = [round(steps * k / (number + 1)) for k in range(1, number + 1)]
    return sorted({min(max(t, 1), steps - 1) for t in spread})
