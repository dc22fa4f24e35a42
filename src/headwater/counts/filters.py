"""Which samples and features stay (counts.md §9.1, points 4 and 6)."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headwater.core.errors import InputError

from .settings import PrepareSettings

OTHER = "other"


def merge_replicates(
    table: xr.Dataset, options: PrepareSettings, name: str
) -> tuple[xr.Dataset, int]:
    """Return the table with one sample per series and time, and how many were merged away.

    ``sum`` adds counts and exposures, ``first`` keeps the first, ``error`` raises.
    """
    keys = [
        f"{s}\x00{t!r}" for s, t in zip(table["series"].values, table["time"].values, strict=True)
    ]
    unique, first, group = np.unique(keys, return_index=True, return_inverse=True)
    extra = len(keys) - len(unique)
    if not extra:
        return table, 0
    if options.replicates == "error":
        again = int(next(i for i in range(len(keys)) if i != first[group[i]]))
        raise InputError(
            name,
            f"sample {table['sample'].values[again]!r}",
            f"{table['series'].values[again]} at time {table['time'].values[again]:g} again",
            "one sample per series and time",
            "Set prepare replicates=sum or first.",
        )
    order = np.sort(first)
    kept = table.isel(sample=order)
    if options.replicates == "first":
        return kept, extra
    place = {g: k for k, g in enumerate(group[order])}
    target = np.array([place[g] for g in group])
    counts = np.zeros((len(order), table.sizes["feature"]), dtype=np.int64)
    np.add.at(counts, target, table["counts"].values)
    exposure = np.zeros(len(order))
    np.add.at(exposure, target, table["exposure"].values)
    return (
        kept.assign(counts=(("sample", "feature"), counts), exposure=("sample", exposure)),
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
    rest = table.isel(feature=~keep)["counts"].sum("feature").expand_dims(feature=[OTHER], axis=1)
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
        )
    gone = [
        {"what": "feature", "name": n, "action": "dropped", "reason": "not in the list asked for"}
        for n in names
        if n not in options.features
    ]
    return table.isel(feature=[place[f] for f in options.features]), gone
