"""Which samples and features stay."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from headwater.core.config import nearest
from headwater.core.errors import InputError

from .settings import PrepareSettings

OTHER = "other"


def merge_replicates(
    table: xr.Dataset, options: PrepareSettings, name: str
) -> tuple[xr.Dataset, int]:
    """Return the table with one sample per series and time, and how many were merged away.

    ``sum`` adds counts and exposures, ``first`` keeps the first, ``error`` raises. The variable
    ``merged`` says how many samples a sample is the sum of.
    """
    series = pd.factorize(table["series"].values)[0].astype(np.int64)
    time = pd.factorize(table["time"].values)[0]
    keys = series * (time.max(initial=0) + 1) + time
    unique, first, group, number = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    extra = len(keys) - len(unique)
    table = table.assign(merged=("sample", np.ones(len(keys), dtype=np.int64)))
    if not extra:
        return table, 0
    if options.replicates == "error":
        again = int(np.flatnonzero(np.arange(len(keys)) != first[group])[0])
        raise InputError(
            name,
            f"sample {str(table['sample'].values[again])!r}",
            f"{table['series'].values[again]} at time {table['time'].values[again]:g} again",
            "one sample per series and time",
            "Set prepare replicates=sum or first.",
        )
    order = np.sort(first)
    kept = table.isel(sample=order)
    if options.replicates == "first":
        return kept, extra
    target = np.empty(len(unique), dtype=np.int64)
    target[group[order]] = np.arange(len(order))
    target = target[group]
    counts = np.zeros((len(order), table.sizes["feature"]), dtype=np.int64)
    np.add.at(counts, target, table["counts"].values)
    exposure = np.zeros(len(order))
    np.add.at(exposure, target, table["exposure"].values)
    return (
        kept.assign(
            counts=(("sample", "feature"), counts),
            exposure=("sample", exposure),
            merged=("sample", number[group[order]]),
        ),
        extra,
    )


def filter_samples(
    table: xr.Dataset, options: PrepareSettings, name: str
) -> tuple[xr.Dataset, list[dict[str, str]]]:
    """Return samples with at least ``min_library`` reads, and what was dropped."""
    reads = table["counts"].values.sum(1)
    keep = reads >= options.min_library
    if not keep.any():
        raise InputError(
            name,
            "",
            f"no sample with {options.min_library} reads (the largest has {int(reads.max())})",
            "samples with reads",
            "Lower prepare min_library.",
        )
    gone = [
        {
            "what": "sample",
            "name": str(s),
            "action": "dropped",
            "reason": f"{int(r)} reads, under {options.min_library}",
        }
        for s, r in zip(table["sample"].values[~keep], reads[~keep], strict=True)
    ]
    return table.isel(sample=keep), gone


def filter_features(
    table: xr.Dataset, options: PrepareSettings, name: str
) -> tuple[xr.Dataset, list[dict[str, str]]]:
    """Return the features that stay; the rest is pooled into ``other`` or dropped."""
    names = table["feature"].values.astype(str)
    if options.features:
        return _named(table, options, names, name)
    counts = table["counts"].values
    totals = np.maximum(counts.sum(1, keepdims=True), 1)
    prevalence = (counts > 0).mean(0)
    proportion = (counts / totals).mean(0)
    keep = (prevalence >= options.min_prevalence) & (proportion >= options.min_proportion)
    if not keep.any():
        raise InputError(
            name,
            "",
            f"no feature in {options.min_prevalence:.0%} of the samples with a mean proportion of"
            f" {options.min_proportion:g}",
            "features that pass both",
            "Lower prepare min_prevalence or min_proportion.",
        )
    action = "pooled" if options.rest == "other" else "dropped"
    gone = [
        {
            "what": "feature",
            "name": n,
            "action": action,
            "reason": f"in {p:.1%} of samples, mean proportion {q:.2g}",
        }
        for n, p, q in zip(names[~keep], prevalence[~keep], proportion[~keep], strict=True)
    ]
    kept = table.isel(feature=keep)
    if options.rest == "drop" or keep.all():
        return kept, gone
    pool = OTHER
    while pool in names[keep]:
        pool = f"all {pool}"
    rest = table.isel(feature=~keep)["counts"].sum("feature").expand_dims(feature=[pool], axis=1)
    pooled = xr.concat([kept["counts"], rest], "feature")
    return kept.drop_vars(["counts", "feature"]).assign(counts=pooled), gone


def _named(
    table: xr.Dataset, options: PrepareSettings, names: np.ndarray, name: str
) -> tuple[xr.Dataset, list[dict[str, str]]]:
    place = {n: k for k, n in enumerate(names)}
    lacking = [f for f in options.features if f not in place]
    if lacking:
        raise InputError(
            name,
            "counts.prepare.features",
            f"no feature {lacking[0]!r}",
            "features of the table such as " + ", ".join(names[:3]),
            nearest(lacking[0], names.tolist()),
        )
    gone = [
        {"what": "feature", "name": n, "action": "dropped", "reason": "not in the list asked for"}
        for n in names
        if n not in options.features
    ]
    return table.isel(feature=[place[f] for f in options.features]), gone
