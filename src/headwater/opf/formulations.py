"""The four formulations: variables, flows and angle limits of one period.

AC: S_f = V_f conj(Y_ff V_f + Y_ft V_t) with y = 1/(r + jx), Y_ff = (y + j b/2)/tau^2,
Y_ft = -y/(tau e^{-j phi}) (MATPOWER User's Manual, section 3.2). DC: section 3.7 there, or the
susceptance x/(r^2 + x^2) without taps and shifts of PowerModels. SOCP: Jabr, IEEE Transactions
on Power Systems 21 (2006) 1458, with one (R, I) per pair of buses.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from .model import SX, Model
from .program import INF


def build(model: Model) -> None:
    """Add the variables and flows of the model's formulation."""
    model.start()
    {"ACOPF": _ac, "DCOPF": _dc, "SOCP": _socp, "ED": lambda m: None}[model.formulation](model)


def _admittance(model: Model) -> tuple[SX, SX, SX, SX]:
    """Return g, b of the series admittance, and cos and sin of the shift over tau."""
    d = model.data
    z = d["br_r"] ** 2 + d["br_x"] ** 2
    return d["br_r"] / z, -d["br_x"] / z, ca.cos(d["shift"]), ca.sin(d["shift"])


def _voltage(model: Model) -> None:
    n, d = model.network, model.data
    model.va = model.variable("va", n.nb, start=0.0)
    model.vm = model.variable("vm", n.nb, d["vmin"], d["vmax"])
    model.qg = model.variable("qg", n.ng, d["qmin"], d["qmax"])


def _ac(model: Model) -> None:
    _voltage(model)
    n, d = model.network, model.data
    f, t = list(map(int, n.f)), list(map(int, n.t))
    g, b, _, _ = _admittance(model)
    tap, half = d["tap"], d["br_b"] / 2
    vf, vt = model.vm[f], model.vm[t]
    angle = model.va[f] - model.va[t] - d["shift"]
    product = vf * vt / tap
    c, s = product * ca.cos(angle), product * ca.sin(angle)
    model.pf = g / tap**2 * vf**2 - g * c - b * s
    model.qf = -(b + half) / tap**2 * vf**2 + b * c - g * s
    model.pt = g * vt**2 - g * c + b * s
    model.qt = -(b + half) * vt**2 + b * c + g * s
    _reference(model)
    _angle_limits(model)
    _constant_power_factor(model)


def _dc(model: Model) -> None:
    n, d = model.network, model.data
    model.va = model.variable("va", n.nb, start=0.0)
    f, t = list(map(int, n.f)), list(map(int, n.t))
    if model.convention == "matpower":
        model.pf = (model.va[f] - model.va[t] - d["shift"]) / (d["br_x"] * d["tap"])
    else:
        z = d["br_r"] ** 2 + d["br_x"] ** 2
        model.pf = (model.va[f] - model.va[t]) * d["br_x"] / z
    model.pt = -model.pf
    _reference(model)
    _angle_limits(model)


def _reference(model: Model) -> None:
    at = [int(k) for k in model.network.reference]
    model.constrain("reference", model.va[at] - model.data["va_ref"], 0.0, 0.0)


def _angle_limits(model: Model) -> None:
    rows = [int(k) for k in model.network.angle_limited]
    if rows:
        n = model.network
        difference = model.va[[int(k) for k in n.f[rows]]] - model.va[[int(k) for k in n.t[rows]]]
        model.constrain("angle", difference, model.data["angmin"], model.data["angmax"])


def _constant_power_factor(model: Model) -> None:
    """Tie reactive to active power of dispatchable loads (MATPOWER User's Manual, 6.4.2)."""
    if model.loads != "constant_pf":
        return
    gen = model.network.case.gen.iloc[model.network.gen_rows]
    for k, row in enumerate(gen.itertuples()):
        if row.PMIN < 0 and row.PMAX == 0 and (row.QMIN or row.QMAX):
            ratio = (row.QMIN if row.QMIN else row.QMAX) / row.PMIN
            model.constrain("power_factor", model.qg[k] - ratio * model.pg[k], 0.0, 0.0)


def _pairs(model: Model) -> tuple[list[tuple[int, int]], np.ndarray, np.ndarray]:
    """Return the pairs of buses, the pair of every branch, and its direction in the pair."""
    index: dict[tuple[int, int], int] = {}
    pair, sign = [], []
    for f, t in zip(model.network.f, model.network.t, strict=True):
        key = (int(min(f, t)), int(max(f, t)))
        pair.append(index.setdefault(key, len(index)))
        sign.append(1.0 if f < t else -1.0)
    return list(index), np.array(pair, dtype=int), np.array(sign)


def _socp(model: Model) -> None:
    n, d = model.network, model.data
    pairs, pair, sign = _pairs(model)
    w = model.variable("w", n.nb, d["vmin"] ** 2, d["vmax"] ** 2)
    real = model.variable("real", len(pairs), start=1.0)
    imag = model.variable("imag", len(pairs), start=0.0)
    model.qg = model.variable("qg", n.ng, d["qmin"], d["qmax"])
    model.keep("w", w)
    first, second = [p for p, _ in pairs], [p for _, p in pairs]
    model.program.cone(ca.horzcat(2 * real, 2 * imag, w[first] - w[second]), w[first] + w[second])
    f, t = list(map(int, n.f)), list(map(int, n.t))
    own = [int(k) for k in pair]
    g, b, cos, sin = _admittance(model)
    tap, half = d["tap"], d["br_b"] / 2
    re, im = real[own], imag[own] * sign
    # v_f v_t cos(theta_f - theta_t - phi) and sin, over tau
    c, s = (re * cos + im * sin) / tap, (im * cos - re * sin) / tap
    model.pf = g / tap**2 * w[f] - g * c - b * s
    model.qf = -(b + half) / tap**2 * w[f] + b * c - g * s
    model.pt = g * w[t] - g * c + b * s
    model.qt = -(b + half) * w[t] + b * c + g * s
    _relaxed_angles(model, re, im)


def _relaxed_angles(model: Model, re: SX, im: SX) -> None:
    """Add tan(ANGMIN) R <= I <= tan(ANGMAX) R where the limits lie within a right angle."""
    n = model.network
    rows = [int(k) for k in n.angle_limited]
    if not rows:
        return
    branch = n.case.branch.iloc[n.branch_rows[rows]]
    narrow = np.ones(len(rows), dtype=bool)
    for low, name in ((True, "ANGMIN"), (False, "ANGMAX")):
        values = branch[name].to_numpy()
        narrow &= (values != 0) & (abs(values) < 90)
        inside = [j for j, v in enumerate(values) if v != 0 and abs(v) < 90]
        if not inside:
            continue
        at = [rows[j] for j in inside]
        tangent = ca.tan(model.data["angmin" if low else "angmax"][inside])
        gap = im[at] - tangent * re[at]
        model.constrain("angle", gap, 0.0 if low else -INF, INF if low else 0.0)
    # R = v_f v_t cos(difference) is not negative where the difference is below a right angle
    both = [rows[j] for j in np.flatnonzero(narrow)]
    if both:
        model.constrain("angle", re[both], 0.0, INF)
