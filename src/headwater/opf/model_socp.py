"""Second-order cone relaxation (R. A. Jabr, IEEE Transactions on Power Systems 21, 2006, 1458).

w_i = v_i^2,  R + j I = V_f V_t^* of every pair of buses,  R^2 + I^2 <= w_f w_t
tan(ANGMIN) R <= I <= tan(ANGMAX) R,  flows and balances linear in (w, R, I)
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from . import capability
from .model import Model
from .symbols import take

RIGHT_ANGLE = np.pi / 2 - 1e-6


class SocpModel(Model):
    """SOCP; ``w`` in place of voltages, and no angles."""

    formulation = "SOCP"

    def _build(self) -> None:
        n, d = self.network, self.data
        pairs, pair, sign = pairs_of(n.f, n.t)
        self.qg = self.program.variable("qg", n.ng, self.qmin, self.qmax)
        self.w = self.program.variable("w", n.nb, self.vmin**2, self.vmax**2)
        self.real = self.program.variable("real", len(pairs), start=1.0)
        self.imag = self.program.variable("imag", len(pairs), start=0.0)
        wf, wt = take(self.w, pairs[:, 0]), take(self.w, pairs[:, 1])
        if len(pairs):
            self.program.cone(ca.horzcat(2 * self.real, 2 * self.imag, wf - wt), wf + wt)
        self.re, self.im = take(self.real, pair), take(self.imag, pair) * ca.DM(sign)
        r, x, half, tap = d["br_r"], d["br_x"], d["br_b"] / 2, self.tap
        g, b = r / (r**2 + x**2), -x / (r**2 + x**2)
        cos, sin = ca.cos(self.shift), ca.sin(self.shift)
        # v_f v_t cos(theta_f - theta_t - phi) / tau, and with sin
        c, s = (self.re * cos + self.im * sin) / tap, (self.im * cos - self.re * sin) / tap
        own, other = self.ends(self.w)
        own = own / tap**2
        self.pf = g * own - g * c - b * s
        self.qf = -(b + half) * own + b * c - g * s
        self.pt = g * other - g * c + b * s
        self.qt = -(b + half) * other + b * c + g * s

    def _limits(self) -> None:
        self.program.rebound("qg", self.qmin, self.qmax)
        self.program.rebound("w", self.vmin**2, self.vmax**2)
        chosen = self.network.rated.tolist()
        for p, q in ((self.pf, self.qf), (self.pt, self.qt)) if chosen else ():
            self.program.cone(ca.horzcat(p[chosen], q[chosen]), self.room())
        self._angles()
        self.constant_power_factor()
        capability.constrain(self)

    def _angles(self) -> None:
        """Limit the angle of R + j I where the limits lie within a right angle.

        Only there R >= 0 holds and the tangent means what it says; others are left out, which
        keeps the program a relaxation.
        """
        chosen = self.network.angle_limited.tolist()
        if not chosen:
            return
        low, high = self.data["angmin"], self.data["angmax"]
        inside = ca.logic_and(low > -RIGHT_ANGLE, high < RIGHT_ANGLE)
        re, im = self.re[chosen], self.im[chosen]
        self.program.constrain("angle", re, ca.if_else(inside, 0, -np.inf), np.inf)
        for family, limit, side in (("angle_min", low, 1), ("angle_max", high, -1)):
            tangent = ca.if_else(inside, ca.tan(ca.fmax(ca.fmin(limit, 1.5), -1.5)), 0)
            row = side * (im - tangent * re)
            self.program.constrain(family, row, ca.if_else(inside, 0, -np.inf), np.inf)

    def _balance(self) -> None:
        self.power_balance(self.w)


def pairs_of(f: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the pairs of buses (pairs, 2), the pair of every branch and its direction there."""
    ends = np.sort(np.column_stack([f, t]), axis=1).astype(int)
    if not len(ends):
        return np.zeros((0, 2), dtype=int), np.zeros(0, dtype=int), np.zeros(0)
    pairs, pair = np.unique(ends, axis=0, return_inverse=True)
    return pairs, pair.ravel(), np.where(np.asarray(f) == ends[:, 0], 1.0, -1.0)
