"""The figures of the counts report: plain data in, a `Plot` with its numbers and words out.

Cubes and posteriors are the datasets of docs/counts.md; tables are data frames with the
columns that each function names. Nothing here reads or writes a file.
"""

from .common import events_within
from .components import mixing, regimes, sources, stability
from .data import observed_counts, observed_fitted
from .every import Results, draw
from .fit import elbo_curve, selection_curve
from .prediction import forecast_panels, perturbation, pit_histogram
from .scores import score_bars

__all__ = [
    "Results",
    "draw",
    "elbo_curve",
    "events_within",
    "forecast_panels",
    "mixing",
    "observed_counts",
    "observed_fitted",
    "perturbation",
    "pit_histogram",
    "regimes",
    "score_bars",
    "selection_curve",
    "sources",
    "stability",
]
