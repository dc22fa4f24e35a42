"""The amortiser: from the counts of a series to q(s), all steps in one call.

Input per step: the counts in one of three forms, log exposure, a mask bit, the interval since
the last step and the covariates. A GRU, run once per batch, gives a summary: its state at the
last observed step (``gru``, the paper's), states of both directions at every step (``bigru``,
our choice), or - for ``predictive`` - the forward state, so that no later step is seen.

With ``linear_start``, our choice, the network corrects a direct estimate instead of learning q
from nothing: s0_t = pinv(Gamma0) (log(x + 1/2) - o - M0 c), variance
1 / (1 + sum_k Gamma0_ki^2 x_k).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import torch
from torch import nn

from .data import CubeTensors
from .distributions import GaussianMarkov
from .gru import ScanGRU

LOG_LOW, LOG_HIGH = math.log(1e-8), math.log(30.0)  # of p, nat^2
MAX_ALPHA = 0.95


@dataclass(frozen=True)
class Inputs:
    """What the network sees at each step (n, T, I), and the linear start (n, T, d) or None."""

    step: torch.Tensor
    mean: torch.Tensor | None = None
    spread: torch.Tensor | None = None

    def part(self, index: torch.Tensor) -> Inputs:
        """Return the chosen series."""
        parts = (self.step, self.mean, self.spread)
        return Inputs(*(None if x is None else x[index] for x in parts))


class Encoder(nn.Module):
    """q(s) of a batch of series.

    Parameters
    ----------
    features, sources, covariates : int
        K, d, Q.
    mode : ``smooth`` or ``predictive``
    kind : ``gru`` or ``bigru``
    inputs : ``proportion``, ``log1p`` or ``lograte``
    hidden, layers : int
        Of the GRU.
    shared : sequence of int
        Sizes of the layers between GRU and heads.
    """

    def __init__(
        self,
        features: int,
        sources: int,
        covariates: int,
        *,
        mode: str,
        kind: str,
        inputs: str,
        hidden: int,
        layers: int,
        shared: tuple[int, ...],
        family: str,
        linear_start: bool,
    ) -> None:
        super().__init__()
        self.mode, self.kind, self.inputs = mode, kind, inputs
        self.family, self.linear_start, self.d = family, linear_start, sources
        width = features + 3 + covariates + (2 * sources if linear_start else 0)
        both = kind == "bigru" and mode == "smooth"
        self.gru = ScanGRU(width, hidden, layers, batch_first=True, bidirectional=both)
        self.width = hidden * (2 if both else 1)  # of the summary
        sizes = [width + self.width, *shared]
        blocks: list[nn.Module] = []
        for before, after in itertools.pairwise(sizes):
            blocks += [nn.Linear(before, after), nn.ELU(inplace=True)]
        self.shared = nn.Sequential(*blocks)
        self.heads = nn.Linear(sizes[-1], 3 * sources)
        nn.init.zeros_(self.heads.bias)
        nn.init.normal_(self.heads.weight, std=0.01)
        for name, shape in {
            "input_mean": (features,),
            "input_scale": (features,),
            "offset_mean": (),
            "offset_scale": (),
            "covariate_mean": (covariates,),
            "covariate_scale": (covariates,),
            "start_inverse": (features, sources),
            "start_mixing": (features, sources),
            "start_effects": (features, covariates),
        }.items():
            self.register_buffer(name, torch.zeros(shape))
        self.double()

    @torch.no_grad()
    def prepare(self, data: CubeTensors, mixing: torch.Tensor, effects: torch.Tensor) -> None:
        """Fix scales of the inputs and the linear start from the training data."""
        seen = data.observed > 0
        x = self._counts(data)[seen]
        self.input_mean.copy_(x.mean(0))
        self.input_scale.copy_(_scale(x))
        o = data.offset[seen]
        self.offset_mean.copy_(o.mean())
        self.offset_scale.copy_(_scale(o[:, None])[0])
        self.covariate_mean.copy_(data.covariates.mean(0))
        self.covariate_scale.copy_(_scale(data.covariates))
        self.start_mixing.copy_(mixing)
        self.start_effects.copy_(effects)
        self.start_inverse.copy_(torch.linalg.pinv(mixing).T)

    def forward(self, data: CubeTensors, inputs: Inputs | None = None) -> GaussianMarkov:
        """Return q(s) with alpha, beta, p of shape (n, T, d).

        `inputs` saves their computation, where the caller has them of the same data.
        """
        inputs = self.inputs_of(data) if inputs is None else inputs
        # the first layer of [step, summary] in two parts: the summary may be one for all steps
        first, rest = self.shared[0], self.shared[1:]
        to_step, to_summary = first.weight.split([first.in_features - self.width, self.width], 1)
        summary = nn.functional.linear(self._summary(inputs.step, data), to_summary)
        raw = self.heads(rest(nn.functional.linear(inputs.step, to_step, first.bias) + summary))
        a, beta, spread = raw.split(self.d, -1)
        if inputs.mean is not None:
            beta = beta + inputs.mean
            spread = spread + inputs.spread
        alpha = torch.zeros_like(a) if self.family == "mf" else MAX_ALPHA * torch.tanh(a)
        log_p = LOG_LOW + (LOG_HIGH - LOG_LOW) * torch.sigmoid(spread)
        return GaussianMarkov(alpha, beta, log_p.exp())

    @torch.no_grad()
    def inputs_of(self, data: CubeTensors) -> Inputs:
        """Return what the network sees of a batch: no weight that is trained is in it."""
        mask = data.observed[..., None]
        covariates = (data.covariates - self.covariate_mean) / self.covariate_scale
        parts = [
            mask * (self._counts(data) - self.input_mean) / self.input_scale,
            mask * ((data.offset - self.offset_mean) / self.offset_scale)[..., None],
            mask,
            data.dt.log()[..., None],
            covariates[:, None].expand(-1, mask.shape[1], -1),
        ]
        if not self.linear_start:
            return Inputs(torch.cat(parts, -1))
        mean, spread = (mask * x for x in self._start(data))
        return Inputs(torch.cat([*parts, mean, spread], -1), mean, spread)

    def _start(self, data: CubeTensors) -> tuple[torch.Tensor, torch.Tensor]:
        """Return s0 and its spread before the sigmoid, each (n, T, d)."""
        shift = (data.covariates @ self.start_effects.T)[:, None]
        rate = torch.log(data.counts + 0.5) - data.offset[..., None] - shift
        information = data.counts @ self.start_mixing**2
        log_p = -torch.log1p(information)
        share = ((log_p - LOG_LOW) / (LOG_HIGH - LOG_LOW)).clamp(1e-3, 1 - 1e-3)
        return rate @ self.start_inverse, torch.logit(share)

    def _counts(self, data: CubeTensors) -> torch.Tensor:
        if self.inputs == "proportion":
            return data.counts / data.counts.sum(-1, keepdim=True).clamp(min=1.0)
        if self.inputs == "log1p":
            return torch.log1p(data.counts)
        return torch.log(data.counts + 0.5) - data.offset[..., None]

    def _summary(self, step: torch.Tensor, data: CubeTensors) -> torch.Tensor:
        states = self.gru(step)
        if self.mode == "predictive" or self.kind == "bigru":
            return states
        count = torch.arange(1, step.shape[1] + 1)
        last = (data.observed * count).argmax(1)
        return states[torch.arange(len(states)), last][:, None]


def _scale(values: torch.Tensor) -> torch.Tensor:
    """Return standard deviations of columns, 1 where a column is constant."""
    if len(values) < 2 or values.shape[1] == 0:
        return torch.ones(values.shape[1], dtype=values.dtype)
    spread = values.std(0)
    floor = 1e-9 * values.abs().mean(0)
    return torch.where(spread > floor, spread, torch.ones_like(spread))
