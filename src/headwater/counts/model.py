"""A fitted model: parameters in canonical form and the amortiser that goes with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import xarray as xr

from headwater.core.errors import InputError

from .canonical import Frame
from .config import FitConfig
from .data import CubeTensors, covariate_names, cube_tensors
from .distributions import GaussianMarkov, SwitchingAR
from .encoder import Encoder
from .parameters import Parameters

FORMAT = "headwater.counts.model/2"


@dataclass(frozen=True)
class Model:
    """What a fit gives.

    Attributes
    ----------
    parameters : Parameters
        In canonical form.
    encoder : Encoder
        In the frame of the training; `frame` leads to the canonical one.
    frame : Frame
    config : FitConfig
    features : tuple of str
        Names and order of the features, (K,).
    covariates : tuple of str
        Names of the columns of M, the intercept first where one is fitted.
    exposure_kind : str
        What the offset of the training data was; a cube with another one is refused.
    base_step : float
        Median step of the training data in its unit of time: dt counts in it.
    """

    parameters: Parameters
    encoder: Encoder
    frame: Frame
    config: FitConfig
    features: tuple[str, ...]
    covariates: tuple[str, ...]
    exposure_kind: str
    base_step: float = 1.0

    @property
    def intercept(self) -> bool:
        """Whether an intercept was fitted."""
        return self.config.intercept

    def tensors(self, cube: xr.Dataset) -> CubeTensors:
        """Return a cube as tensors after checking that it fits the model.

        Raises
        ------
        InputError
            If features, covariates or the kind of exposure differ from the training data's.
        """
        self.check(cube)
        return cube_tensors(cube, self.config.intercept, self.base_step)

    def check(self, cube: xr.Dataset) -> None:
        """Refuse a cube with other features, covariates or offsets than the training data."""
        features = tuple(str(f) for f in cube["feature"].values)
        if features != self.features:
            other = sorted(set(features) ^ set(self.features))[:3]
            raise InputError(
                None,
                "coordinate feature",
                f"{len(features)} features"
                + (f", differing in {', '.join(other)}" if other else ""),
                f"the {len(self.features)} features of the model in their order",
                "Prepare the cube with the same feature list.",
            )
        kind = str(cube.attrs.get("exposure_kind", ""))
        if kind != self.exposure_kind:
            raise InputError(
                None,
                "attribute exposure_kind",
                repr(kind),
                f"{self.exposure_kind!r}, the offset that the model was trained with",
                "Prepare the cube with the same offset.",
            )
        names = tuple(covariate_names(cube, self.config.intercept))
        if names != self.covariates:
            raise InputError(
                None,
                "coordinate covariate",
                ", ".join(names) or "none",
                ", ".join(self.covariates) or "none",
                "Give the covariates of the training data.",
            )

    def encode(self, data: CubeTensors) -> GaussianMarkov:
        """Return q(s) in the canonical frame."""
        return self.frame.sources(self.encoder(data))

    def prior(self, data: CubeTensors) -> SwitchingAR:
        """Return the law of the sources on the time grid of a batch."""
        n, steps = data.observed.shape
        gap = self.config.time_model == "gap"
        return SwitchingAR(self.parameters, n, steps, data.dt if gap else None)

    def state(self) -> dict[str, Any]:
        """Return tensors and plain values, readable with ``weights_only=True``."""
        return {
            "format": FORMAT,
            "parameters": self.parameters.state(),
            "encoder": self.encoder.state_dict(),
            "frame": {
                "order": self.frame.order,
                "sign": self.frame.sign,
                "shift": self.frame.shift,
            },
            "config": {
                k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self.config).items()
            },
            "features": list(self.features),
            "covariates": list(self.covariates),
            "exposure_kind": self.exposure_kind,
            "base_step": self.base_step,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Model:
        """Return the model that `state` came from."""
        if state.get("format") != FORMAT:
            raise InputError(
                None, "model file", repr(state.get("format")), FORMAT, "Fit the model again."
            )
        config = FitConfig.from_mapping(state["config"])
        parameters = Parameters(**state["parameters"])
        encoder = build_encoder(config, len(state["features"]), len(state["covariates"]))
        encoder.load_state_dict(state["encoder"])
        encoder.eval()
        return cls(
            parameters,
            encoder,
            Frame(**state["frame"]),
            config,
            tuple(state["features"]),
            tuple(state["covariates"]),
            state["exposure_kind"],
            state["base_step"],
        )


def build_encoder(config: FitConfig, features: int, covariates: int) -> Encoder:
    """Return an untrained encoder; weights come from torch's global generator."""
    return Encoder(
        features,
        config.d,
        covariates,
        mode=config.mode,
        kind=config.encoder,
        inputs=config.input,
        hidden=config.hidden,
        layers=config.layers,
        shared=config.shared,
        family=config.family,
        linear_start=config.linear_start,
    )
