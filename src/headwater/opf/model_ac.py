"""ACOPF in polar voltages.

    S_f = V_f (Y_ff V_f + Y_ft V_t)^*,  S_t = V_t (Y_tf V_f + Y_tt V_t)^*
    sum_g (p_g + j q_g) - (pd + j qd) - v^2 (gs - j bs) = sum_f S_f + sum_t S_t
with y = 1/(r + j x), Y_ff = (y + j b/2)/tau^2, Y_tt = y + j b/2, Y_ft = -y/(tau e^{-j phi}),
Y_tf = -y/(tau e^{j phi})  (MATPOWER User's Manual, sections 3.2 and 6.1).
"""

from __future__ import annotations

import casadi as ca

from . import capability
from .model import Model


def branch_function(controlled: bool = False) -> ca.Function:
    """Return the flows of one branch.

    Parameters
    ----------
    controlled : bool
        Whether ratio and shift are variables: then they are the last two of `u`.

    Returns
    -------
    Function
        (u, w) -> (pf, qf, pt, qt) with u = (v_f, v_t, theta_f - theta_t[, tau, phi]) and
        w = (r, x, b[, tau, phi]).
    """
    u, w = ca.SX.sym("u", 5 if controlled else 3), ca.SX.sym("w", 3 if controlled else 5)
    vf, vt, delta = u[0], u[1], u[2]
    tau, phi = (u[3], u[4]) if controlled else (w[3], w[4])
    r, x, b = w[0], w[1], w[2]
    square = r**2 + x**2
    g, s = r / square, -x / square
    turn = delta - phi
    c, d = ca.cos(turn), ca.sin(turn)
    own, other, cross = (vf / tau) ** 2, vt**2, vf * vt / tau
    flows = ca.vertcat(
        own * g - cross * (g * c + s * d),
        -own * (s + b / 2) - cross * (g * d - s * c),
        other * g - cross * (g * c - s * d),
        -other * (s + b / 2) + cross * (g * d + s * c),
    )
    return ca.Function("branch", [u, w], [flows])


class AcModel(Model):
    """ACOPF."""

    formulation = "ACOPF"

    def _build(self) -> None:
        n = self.network
        self.qg = self.program.variable("qg", n.ng, self.qmin, self.qmax)
        self.vm = self.program.variable("vm", n.nb, self.vmin, self.vmax)
        self.va = self.program.variable("va", n.nb, start=self.reference_start())
        self.reference_angle()
        self.flow = self.program.lift("flow", 4, n.nl)
        self.pf, self.qf, self.pt, self.qt = (self.flow.z[k, :].T for k in range(4))

    def _limits(self) -> None:
        self._flows()
        self.program.rebound("qg", self.qmin, self.qmax)
        self.program.rebound("vm", self.vmin, self.vmax)
        chosen, limit = self.network.rated.tolist(), self.room() ** 2
        ends = {"flow_from": (self.pf, self.qf), "flow_to": (self.pt, self.qt)}
        for family, (p, q) in ends.items() if chosen else ():
            square = p[chosen] ** 2 + q[chosen] ** 2
            if self.limit_is_fixed():
                self.program.constrain(family, square, upper=limit)
            else:
                self.program.constrain(family, square - limit, upper=0.0)
        f, t = self.ends(self.va)
        self.angle_limits(f - t)
        self.constant_power_factor()
        capability.constrain(self)

    def _flows(self) -> None:
        """Give the lifted flows their function: the last moment to make ratios variables."""
        f, t = self.ends(self.va)
        u = [*self.ends(self.vm), f - t]
        w = [self.data[name] for name in ("br_r", "br_x", "br_b")]
        controlled = ca.depends_on(ca.vertcat(self.tap, self.shift), self.program.root.x)
        (u if controlled else w).extend([self.tap, self.shift])
        self.flow.phi = branch_function(controlled)
        self.flow.u, self.flow.w = ca.horzcat(*u).T, ca.horzcat(*w).T

    def _balance(self) -> None:
        self.power_balance(self.vm**2)
