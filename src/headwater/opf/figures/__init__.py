"""Figures of opf: one network with its flows and prices, checks against publications, synthesis."""

from .checks import published_dots
from .network import network_diagram, price_bars
from .synthesis import coverage_map, effect_histogram, reject_bars

__all__ = [
    "coverage_map",
    "effect_histogram",
    "network_diagram",
    "price_bars",
    "published_dots",
    "reject_bars",
]
