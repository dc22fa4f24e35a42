"""Headwater: Snakemake workflows for data-heavy science."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("headwater")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0.0.0"
