"""Economic dispatch: one balance of all generation and demand, no network, no losses."""

from __future__ import annotations

import casadi as ca

from .model import Model


class EdModel(Model):
    """Economic dispatch; shunt conductances count as demand, as in DCOPF."""

    formulation = "ED"

    def _balance(self) -> None:
        supply = ca.sum1(self.pg) + ca.sum1(self.injection_p)
        need = ca.sum1(self.pd) + ca.sum1(self.data["gs"])
        self.program.constrain("balance_p", supply - need, 0.0, 0.0)
