"""A model that knows the truth of a simulated cube; its encoder is untrained."""

import torch

from headwater.counts.canonical import Frame
from headwater.counts.config import FitConfig
from headwater.counts.model import Model, build_encoder
from headwater.counts.parameters import Parameters

FIELDS = ("regime_init", "regime_transition", "init_mean", "init_var")
FIELDS += ("ar_coef", "ar_bias", "ar_var")


def true_parameters(cube, **changed):
    given = {"mixing": cube["true_mixing"].values}
    given["effects"] = torch.zeros(cube.sizes["feature"], 0)
    given |= {name: cube["true_" + name].values for name in FIELDS} | changed
    return Parameters(**{k: torch.as_tensor(v, dtype=torch.float64) for k, v in given.items()})


def true_model(cube, mode="predictive", **changed):
    p = true_parameters(cube, **changed)
    config = FitConfig(d=p.d, C=p.C, mode=mode, intercept=False)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        encoder = build_encoder(config, cube.sizes["feature"], 0)
    encoder.input_scale.fill_(1)
    encoder.offset_scale.fill_(1)
    frame = Frame.identity(p.d)
    features = tuple(str(f) for f in cube["feature"].values)
    return Model(p, encoder.eval(), frame, config, features, (), cube.attrs["exposure_kind"])
