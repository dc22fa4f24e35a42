"""DCOPF in two conventions.

    matpower:    P_l = (theta_f - theta_t - phi) / (x tau)
    powermodels: P_l = (theta_f - theta_t) x / (r^2 + x^2)
    sum_g p_g - pd - gs = sum_out P - sum_in P
(MATPOWER User's Manual, section 3.7; C. Coffrin et al., PowerModels.jl, PSCC 2018.)
"""

from __future__ import annotations

from .model import Model


class DcModel(Model):
    """DCOPF; flows are real power at both ends, ``pt = -pf``."""

    formulation = "DCOPF"

    def _build(self) -> None:
        d = self.data
        self.va = self.program.variable("va", self.network.nb, start=self.reference_start())
        self.reference_angle()
        f, t = self.ends(self.va)
        difference = f - t
        if self.convention == "matpower":
            self.pf = (difference - self.shift) / (d["br_x"] * self.tap)
        else:
            self.pf = difference * (d["br_x"] / (d["br_r"] ** 2 + d["br_x"] ** 2))
        self.pt = -self.pf

    def _limits(self) -> None:
        chosen = self.network.rated.tolist()
        if chosen:
            flow, room = self.pf[chosen], self.room()
            if self.limit_is_fixed():
                self.program.constrain("flow", flow, -room, room)
            else:
                self.program.constrain("flow_from", flow - room, upper=0.0)
                self.program.constrain("flow_to", -flow - room, upper=0.0)
        f, t = self.ends(self.va)
        self.angle_limits(f - t)

    def _balance(self) -> None:
        # an extension may have replaced pf alone
        self.pt = -self.pf
        self.power_balance(1.0)
