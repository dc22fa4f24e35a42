"""Sloped reactive capability of generators: QMAX and QMIN that change with the real output.

    q <= QC1MAX + (p - PC1) (QC2MAX - QC1MAX) / (PC2 - PC1), likewise from below
where PC1 < PC2 and the line cuts off a part of the box (MATPOWER User's Manual, section 6.4.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .case import Case
    from .model import Model
    from .network import Network

COLUMNS = ("PC1", "PC2", "QC1MIN", "QC1MAX", "QC2MIN", "QC2MAX", "PMAX", "QMIN", "QMAX")


def lines(case: Case, network: Network) -> np.ndarray:
    """Return slope and limit of both lines of `network.sloped` units.

    Returns
    -------
    ndarray (4, units)
        Slope above, limit above, slope below, limit below: q - slope p <= limit, >= limit, p.u.;
        infinite limits where the line cuts off nothing.
    """
    rows = network.gen_rows[network.sloped]
    p1, p2, low1, high1, low2, high2, pmax, qmin, qmax = (
        case.column("gen", name)[rows] for name in COLUMNS
    )
    up, down = (high2 - high1) / (p2 - p1), (low2 - low1) / (p2 - p1)
    above, below = high1 - up * p1, low1 - down * p1
    above = np.where(above + up * pmax < qmax, above, np.inf)
    below = np.where(below + down * pmax > qmin, below, -np.inf)
    return np.vstack([up, above / case.base_mva, down, below / case.base_mva])


def constrain(model: Model) -> None:
    """Add the sloped limits of a formulation with reactive power."""
    from .symbols import take

    chosen = model.network.sloped
    if not len(chosen):
        return
    values = model.parameter("capability", lambda n: lines(n.case, n))
    p, q = take(model.pg, chosen), take(model.qg, chosen)
    model.program.constrain("capability", q - values[0, :].T * p, upper=values[1, :].T)
    model.program.constrain("capability", q - values[2, :].T * p, lower=values[3, :].T)


def excess(case: Case, network: Network, pg: np.ndarray, qg: np.ndarray) -> float:
    """Return by how much the worst unit leaves its sloped limits, MVAr."""
    if not len(network.sloped):
        return 0.0
    up, above, down, below = lines(case, network)
    p, q = pg[network.sloped], qg[network.sloped]
    worst = max((q - up * p - above).max(), (below - q + down * p).max(), 0.0)
    return float(worst * case.base_mva)
