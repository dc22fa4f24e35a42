"""Options of a fit, with defaults for a CPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import isfinite
from typing import Any

from headwater.core.config import nearest
from headwater.core.errors import InputError

CHOICES = {
    "family": ("ar", "mf"),
    "mode": ("smooth", "predictive"),
    "encoder": ("gru", "bigru"),
    "input": ("proportion", "log1p", "lograte"),
    "time_model": ("step", "gap"),
}
AT_LEAST = {
    "d": 1,
    "C": 1,
    "hidden": 1,
    "layers": 1,
    "epochs": 1,
    "warmup": 0,
    "n_init": 1,
    "init_epochs": 1,
    "batch": 0,
    "lr": 0.0,
    "lr_mixing": 0.0,
    "weight_decay": 0.0,
    "clip": 0.0,
    "tolerance": 0.0,
    "checkpoint_seconds": 0.0,
}


@dataclass(frozen=True)
class FitConfig:
    """Options of `fit_plnica`.

    Attributes
    ----------
    d, C : int
        Sources and regimes of each source.
    mode : smooth | predictive
        Whether q(s_t) may look at later steps.
    family : ar | mf
        q(s) Markov (alpha_t free) or mean field (alpha_t = 0).
    encoder, input, hidden, layers, shared, linear_start
        Of the amortiser, see `encoder.Encoder`.
    intercept : bool
        Fit one mean log-rate per feature.
    time_model : step | gap
        One transition per grid step, or by the interval since the last step.
    epochs, warmup : int
        All training steps, and those of them with mixing and dynamics fixed.
    n_init, init_epochs : int
        Starts, and the length of their trial fits.
    lr, lr_mixing, weight_decay, clip
        AdamW; a cosine takes both rates to 0 over `epochs`; the gradient norm is clipped.
    tolerance : float
        Stop when the mean bound of 20 epochs changes by less than this share, 10 times in a
        row and never before a quarter of the epochs after warm-up; 0 never stops.
    batch : int
        Series per step; 0: all up to 1000 series, else 500.
    checkpoint_seconds : float
        How often the state is written; 0 never.
    """

    d: int = 3
    C: int = 2
    mode: str = "smooth"
    family: str = "ar"
    encoder: str = "bigru"
    input: str = "lograte"
    hidden: int = 16
    layers: int = 1
    shared: tuple[int, ...] = (32, 16)
    linear_start: bool = True
    intercept: bool = True
    time_model: str = "step"
    epochs: int = 600
    warmup: int = 150
    n_init: int = 2
    init_epochs: int = 60
    lr: float = 1e-2
    lr_mixing: float = 3e-3
    weight_decay: float = 1e-4
    clip: float = 5.0
    tolerance: float = 1e-4
    batch: int = 0
    checkpoint_seconds: float = 60.0

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> FitConfig:
        """Return a checked configuration.

        Raises
        ------
        InputError
            For an unknown key (with the nearest known one), a value of the wrong type or out
            of range, or a warm-up that leaves no epoch to train mixing and dynamics.
        """
        known = {f.name for f in fields(cls)}
        for key in values:
            if key not in known:
                raise InputError(
                    None, f"counts.model.{key}", "an unknown key", "", nearest(key, sorted(known))
                )
        config = cls(**{key: _typed(key, value) for key, value in values.items()})
        for key, choices in CHOICES.items():
            value = getattr(config, key)
            if value not in choices:
                raise InputError(
                    None,
                    f"counts.model.{key}",
                    repr(value),
                    "one of " + ", ".join(choices),
                    nearest(str(value), choices),
                )
        for key, least in AT_LEAST.items():
            if getattr(config, key) < least:
                raise InputError(
                    None, f"counts.model.{key}", repr(getattr(config, key)), f"at least {least}"
                )
        config.check_warmup()
        return config

    def check_warmup(self) -> None:
        """Refuse a warm-up that leaves no epoch to train mixing and dynamics."""
        if self.warmup >= self.epochs > 1:
            raise InputError(
                None,
                "counts.model.warmup",
                str(self.warmup),
                f"fewer than the {self.epochs} epochs",
                "During warm-up mixing and dynamics stay as they start.",
            )


def _typed(key: str, value: Any) -> Any:
    """Return a value as the type of the key's default, or say what it should be."""
    default = getattr(FitConfig, key)
    whole = isinstance(value, int) and not isinstance(value, bool)
    if isinstance(default, tuple):
        sizes = value if isinstance(value, list | tuple) else ()
        good = sizes and all(isinstance(s, int) and s >= 1 for s in sizes)
        value, kind = tuple(sizes) if good else value, "a list of whole numbers from 1"
    elif isinstance(default, bool):
        good, kind = isinstance(value, bool), "true or false"
    elif isinstance(default, int):
        good, kind = whole, "a whole number"
    elif isinstance(default, float):
        good, kind = whole or (isinstance(value, float) and isfinite(value)), "a finite number"
        value = float(value) if good else value
    else:
        good, kind = isinstance(value, str), "text"
    if not good:
        raise InputError(None, f"counts.model.{key}", repr(value), kind)
    return value
