"""Indicator of voltage stability L_j of the load buses.

L_j = |1 - sum_g F_jg V_g / V_j| with F = - Y_LL^-1 Y_LG, where G are the buses with a generator
in service and L all others (P. Kessel, H. Glavitsch, IEEE Transactions on Power Delivery 1 (1986)
346). 0 is no load, 1 the point of collapse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from headwater.core.errors import InputError

if TYPE_CHECKING:
    from ..model import Model
    from ..network import Network


def admittance(network: Network) -> sparse.csc_matrix:
    """Return the bus admittance matrix, p.u. (MATPOWER User's Manual, section 3.2)."""
    v = network.values()
    y = 1 / (v["br_r"] + 1j * v["br_x"])
    own = y + 0.5j * v["br_b"]
    turn = v["tap"] * np.exp(1j * v["shift"])
    entries = [own / v["tap"] ** 2, own, -y / np.conj(turn), -y / turn, v["gs"] + 1j * v["bs"]]
    bus = np.arange(network.nb)
    f, t = network.f, network.t
    rows, columns = np.concatenate([f, t, f, t, bus]), np.concatenate([f, t, t, f, bus])
    shape = (network.nb, network.nb)
    return sparse.csc_matrix((np.concatenate(entries), (rows, columns)), shape=shape)


def load_buses(network: Network) -> tuple[np.ndarray, np.ndarray]:
    """Return the buses without and with a generator in service."""
    with_units = np.unique(network.at)
    return np.setdiff1d(np.arange(network.nb), with_units), with_units


def factors(network: Network) -> np.ndarray:
    """Return F, complex, (load buses, generator buses)."""
    loads, units = load_buses(network)
    y = admittance(network)
    return -splu(y[loads][:, loads].tocsc()).solve(y[loads][:, units].toarray())


def squared(model: Model) -> tuple[ca.SX, ca.SX]:
    """Return L_j^2 v_j^2 and v_j^2 of the load buses, symbols without a root.

    Raises
    ------
    InputError
        If every bus has a generator.
    """
    loads, units = load_buses(model.network)
    if not len(loads):
        name = model.network.source.name
        found = "a generator at every bus"
        raise InputError(None, f"L index, {name}", found, "a bus without a generator")
    real = model.parameter("l_index_real", lambda n: factors(n).real)
    imag = model.parameter("l_index_imag", lambda n: factors(n).imag)
    e, f = model.vm * ca.cos(model.va), model.vm * ca.sin(model.va)
    own, other = [int(k) for k in loads], [int(k) for k in units]
    to_e = real @ e[other] - imag @ f[other]
    to_f = real @ f[other] + imag @ e[other]
    return (e[own] - to_e) ** 2 + (f[own] - to_f) ** 2, model.vm[own] ** 2
