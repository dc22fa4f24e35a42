"""The table that all eeg stages share: one row per window or utterance, with its keys.

A `Samples` holds features X (n, d) beside labels and the ids of subject, session, trial and
window. On disk it is an xarray Dataset in Zarr (design §6.3): dims ``sample, channel, band`` for
channel features, ``sample, feature`` for any other modality. Ids are texts; the key of a trial
is (subject, session, trial).
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.core import io
from headwater.core.errors import InputError

if TYPE_CHECKING:
    import anndata
    import xarray as xr

KEYS = ("subject", "session", "trial")
COORDS = (*KEYS, "window", "t_start_s", "label", "label_name", "dataset")


@dataclass(frozen=True)
class Samples:
    """Features of n samples with their labels and keys.

    Attributes
    ----------
    X : (n, d) float32
        Features; for EEG d = channels x bands, channel by channel.
    y : (n,) int64
        Class in 0..C-1, index into `label_names`.
    subject, session, trial : (n,) str
    window : (n,) int64
        Index of the window in its trial.
    t_start_s : (n,) float64
        Start of the window in its recording, s.
    label_names, feature_names : tuple of str
    channels, bands : tuple of str
        Both empty where features are no channel x band grid.
    dataset : str
    attrs : dict
        Plain values: fs, units, log_base, edges of the bands, hashes of inputs.
    """

    X: np.ndarray
    y: np.ndarray
    subject: np.ndarray
    session: np.ndarray
    trial: np.ndarray
    window: np.ndarray
    t_start_s: np.ndarray
    label_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    channels: tuple[str, ...] = ()
    bands: tuple[str, ...] = ()
    dataset: str = ""
    attrs: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n, d = self.X.shape
        for name in ("y", *KEYS, "window", "t_start_s"):
            if len(getattr(self, name)) != n:
                raise ValueError(f"{name}: {len(getattr(self, name))} values for {n} samples")
        if len(self.feature_names) != d:
            raise ValueError(f"{len(self.feature_names)} names for {d} features")
        if self.channels and len(self.channels) * len(self.bands) != d:
            raise ValueError(f"{len(self.channels)} x {len(self.bands)} is not {d} features")

    @property
    def n_classes(self) -> int:
        """Return C."""
        return len(self.label_names)

    @property
    def subjects(self) -> tuple[str, ...]:
        """Return the ids of subjects, sorted."""
        return tuple(sorted(set(self.subject.tolist())))

    def trial_keys(self) -> np.ndarray:
        """Return one text per sample that names its trial over the whole set, (n,)."""
        parts = zip(self.subject, self.session, self.trial, strict=True)
        return np.array(["|".join(p) for p in parts], dtype=object).astype(str)

    def take(self, rows: np.ndarray) -> Samples:
        """Return the rows of a mask or an index."""
        names = ("X", "y", *KEYS, "window", "t_start_s")
        return replace(self, **{n: getattr(self, n)[rows] for n in names})


def make_samples(
    X: np.ndarray,
    y: np.ndarray,
    subject: np.ndarray,
    label_names: tuple[str, ...],
    **rest: Any,
) -> Samples:
    """Return `Samples` with what is not given filled in: one session, one trial a sample."""
    n, d = X.shape
    given = {
        "session": np.full(n, "1"),
        "trial": np.array([str(k) for k in range(n)]),
        "window": np.zeros(n, np.int64),
        "t_start_s": np.zeros(n),
        "feature_names": tuple(f"x{k}" for k in range(d)),
    } | rest
    for key in ("session", "trial"):
        given[key] = np.asarray(given[key]).astype(str)
    return Samples(
        X=np.ascontiguousarray(X, np.float32),
        y=np.asarray(y, np.int64),
        subject=np.asarray(subject).astype(str),
        label_names=tuple(map(str, label_names)),
        **given,
    )


def to_dataset(samples: Samples) -> xr.Dataset:
    """Return the xarray form: X with the keys as coordinates of `sample`."""
    import xarray as xr

    names = np.array(samples.label_names, dtype=object)[samples.y].astype(str)
    along = {
        **{k: getattr(samples, k).astype(str) for k in KEYS},
        "window": samples.window,
        "t_start_s": samples.t_start_s,
        "label": samples.y,
        "label_name": names,
        "dataset": np.full(len(samples.y), samples.dataset or "-"),
    }
    coords: dict[str, Any] = {k: ("sample", v) for k, v in along.items()}
    values, dims = samples.X, ("sample", "feature")
    if samples.channels:
        dims = ("sample", "channel", "band")
        values = values.reshape(len(values), len(samples.channels), len(samples.bands))
        coords |= {
            "channel": np.array(samples.channels, dtype=str),
            "band": np.array(samples.bands, dtype=str),
        }
    else:
        coords["feature"] = np.array(samples.feature_names, dtype=str)
    attrs = {"label_names": list(samples.label_names), **samples.attrs}
    return xr.Dataset({"X": (dims, values)}, coords=coords, attrs=attrs)


def write_samples(path: str | Path, samples: Samples) -> None:
    """Write the Zarr store (a folder), whole or not at all; equal samples give equal bytes."""
    path = Path(path)
    tmp = path.with_name(f".tmp-{path.name}")
    shutil.rmtree(tmp, ignore_errors=True)
    dataset = to_dataset(samples)
    encoding = {str(n): {"chunks": v.shape or None} for n, v in dataset.variables.items()}
    if len(samples.y):
        rows = max(1, min(len(samples.y), 4_000_000 // max(1, samples.X.shape[1])))
        encoding["X"] = {"chunks": (rows, *dataset["X"].shape[1:])}
    dataset.to_zarr(tmp, mode="w", zarr_format=2, consolidated=True, encoding=encoding)
    shutil.rmtree(path, ignore_errors=True)
    tmp.rename(path)


def read_samples(path: str | Path) -> Samples:
    """Read what `write_samples` wrote.

    Raises
    ------
    InputError
        If the folder is no such store.
    """
    import xarray as xr

    try:
        with xr.open_zarr(path, consolidated=True, mask_and_scale=False) as opened:
            data = opened.load()
    except (FileNotFoundError, KeyError, ValueError) as error:
        raise InputError(
            path, "", f"no Zarr store of samples ({error})", "one written by prepare_samples"
        ) from None
    missing = [c for c in COORDS if c not in data.coords]
    if "X" not in data or missing or "label_names" not in data.attrs:
        raise InputError(path, "", f"a store without {missing or 'X'}", "X with its keys")
    grid = "channel" in data["X"].dims
    channels = tuple(map(str, data["channel"].values)) if grid else ()
    bands = tuple(map(str, data["band"].values)) if grid else ()
    names = [f"{c}_{b}" for c in channels for b in bands] or list(data["feature"].values)
    attrs = {k: v for k, v in data.attrs.items() if k != "label_names"}
    origin = data["dataset"].values
    return Samples(
        X=np.ascontiguousarray(data["X"].values.reshape(data.sizes["sample"], -1), np.float32),
        y=data["label"].values.astype(np.int64),
        window=data["window"].values.astype(np.int64),
        t_start_s=data["t_start_s"].values.astype(float),
        label_names=tuple(map(str, data.attrs["label_names"])),
        feature_names=tuple(map(str, names)),
        channels=channels,
        bands=bands,
        dataset=str(origin[0]) if len(origin) and origin[0] != "-" else "",
        attrs=attrs,
        **{k: data[k].values.astype(str) for k in KEYS},
    )


def to_anndata(samples: Samples) -> anndata.AnnData:
    """Return the samples as AnnData: obs holds the keys, var channel and band."""
    import anndata
    import pandas as pd

    names = np.array(samples.label_names, dtype=object)[samples.y]
    obs = pd.DataFrame({k: getattr(samples, k).astype(object) for k in KEYS})
    obs = obs.assign(
        window=samples.window,
        t_start_s=samples.t_start_s,
        label=samples.y,
        label_name=names,
        dataset=samples.dataset,
    )
    obs.index = [f"{k}" for k in range(len(obs))]
    var = pd.DataFrame(index=list(samples.feature_names))
    if samples.channels:
        var["channel"] = np.repeat(np.array(samples.channels, object), len(samples.bands))
        var["band"] = np.tile(np.array(samples.bands, object), len(samples.channels))
    return anndata.AnnData(samples.X, obs=obs, var=var)


def write_both(store: str | Path, table: str | Path, samples: Samples) -> None:
    """Write the Zarr store and the AnnData file of the same samples."""
    write_samples(store, samples)
    io.write_h5ad(table, to_anndata(samples))
