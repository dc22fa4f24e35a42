"""Parameters of the model, in the symbols of docs/counts.md.

u_t,i is the regime of source i at step t, s_t,i the source, x_t,k the count of feature k:

    u_1 ~ Cat(pi_i),  u_t | u_{t-1} ~ Cat(A_i[u_{t-1}])
    s_1 | u_1=c ~ N(m0_ic, v0_ic),  s_t | s_{t-1}, u_t=c ~ N(a_ic s_{t-1} + b_ic, v_ic)
    x_t,k ~ Poisson(exp(sum_i Gamma_ki s_t,i + o_t + sum_q M_kq c_q))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import torch
import xarray as xr

PROBABILITY_FLOOR = 1e-6
VARIANCE_FLOOR = 1e-6
NAMES = {  # of each field in posterior.nc, with its dimensions
    "mixing": ("mixing", ("feature", "source")),
    "effects": ("effects", ("feature", "covariate")),
    "regime_init": ("regime_init", ("source", "regime")),
    "regime_transition": ("regime_transition", ("source", "regime", "next_regime")),
    "init_mean": ("init_mean", ("source", "regime")),
    "init_var": ("init_var", ("source", "regime")),
    "ar_coef": ("ar_coef", ("source", "regime")),
    "ar_bias": ("ar_bias", ("source", "regime")),
    "ar_var": ("ar_var", ("source", "regime")),
}


@dataclass(frozen=True)
class Parameters:
    """Point estimates of all parameters (float64 tensors).

    Attributes
    ----------
    mixing : (K, d)
        Gamma; every column has unit L2 norm.
    effects : (K, Q)
        M, the effects of the covariates; column 0 is the intercept where one is fitted.
        Q may be 0.
    regime_init : (d, C)
        pi; rows sum to 1.
    regime_transition : (d, C, C)
        A; rows sum to 1.
    init_mean, init_var : (d, C)
        m0 and v0, nat and nat^2.
    ar_coef, ar_bias, ar_var : (d, C)
        a (no unit), b (nat) and v (nat^2), per step.
    """

    mixing: torch.Tensor
    effects: torch.Tensor
    regime_init: torch.Tensor
    regime_transition: torch.Tensor
    init_mean: torch.Tensor
    init_var: torch.Tensor
    ar_coef: torch.Tensor
    ar_bias: torch.Tensor
    ar_var: torch.Tensor

    @property
    def d(self) -> int:
        """Number of sources."""
        return self.mixing.shape[1]

    @property
    def C(self) -> int:
        """Number of regimes of each source."""
        return self.regime_init.shape[1]

    def state(self) -> dict[str, torch.Tensor]:
        """Return the tensors by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def detach(self) -> Parameters:
        """Return a copy that is cut off from autograd."""
        return replace(self, **{k: v.detach().clone() for k, v in self.state().items()})

    def to_dataset(self, features: Sequence[str], covariates: Sequence[str]) -> xr.Dataset:
        """Return the parameters as named arrays."""
        variables = {
            name: (dims, getattr(self, field).detach().cpu().numpy())
            for field, (name, dims) in NAMES.items()
        }
        return xr.Dataset(
            variables, coords={"feature": list(features), "covariate": list(covariates)}
        )

    @classmethod
    def from_dataset(cls, dataset: xr.Dataset) -> Parameters:
        """Read them back from `to_dataset` or from posterior.nc."""
        return cls(
            **{
                field: torch.as_tensor(
                    dataset[name].transpose(*dims).values.copy(), dtype=torch.float64
                )
                for field, (name, dims) in NAMES.items()
            }
        )

    def stationary_mean(self) -> torch.Tensor:
        """Return b / (1 - a) of each source and regime; NaN where |a| >= 0.999."""
        mean = self.ar_bias / (1 - self.ar_coef)
        return torch.where(self.ar_coef.abs() < 0.999, mean, torch.nan)
