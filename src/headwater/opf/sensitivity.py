"""Linear factors of a DC network: power transfer (PTDF) and line outage (LODF) distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

if TYPE_CHECKING:
    from .case import Case
    from .network import Network

# A transfer of 1 - H below this means that the outage splits the network.
ISLANDING = 1e-8
REFERENCE, ISOLATED = 3, 4


@dataclass(frozen=True)
class DcGrid:
    """What the linear factors of a network depend on.

    Attributes
    ----------
    f, t : ndarray of int, shape (L,)
        Rows of the buses at the two ends of each branch.
    b : ndarray, shape (L,)
        Series susceptance, p.u.; 0 for a branch out of service.
    references : ndarray of int
        Rows of the buses that take up the balance, at most one an island counts.
    buses : int
        Number of buses N.
    """

    f: np.ndarray
    t: np.ndarray
    b: np.ndarray
    references: np.ndarray
    buses: int

    @property
    def on(self) -> np.ndarray:
        """Branches that carry power."""
        return self.b != 0

    def incidence(self) -> sparse.csr_matrix:
        """Return the branch-bus incidence C, shape (L, N): 1 at f, -1 at t, 0 out of service."""
        rows = np.flatnonzero(self.on)
        ones = np.ones(len(rows))
        data = np.concatenate([ones, -ones])
        place = (np.tile(rows, 2), np.concatenate([self.f[rows], self.t[rows]]))
        return sparse.csr_matrix((data, place), shape=(len(self.f), self.buses))

    def islands(self) -> np.ndarray:
        """Return the number of the island of each bus."""
        c = self.incidence()
        return connected_components(abs(c.T) @ abs(c), directed=False)[1]

    def slacks(self) -> np.ndarray:
        """Return one bus row for each island: its first reference, or its first bus."""
        island = self.islands()
        order = [*self.references, *range(self.buses)]
        _, first = np.unique(island[order], return_index=True)
        return np.asarray(order)[np.sort(first)]


def dc_grid(case: Case, convention: str = "matpower") -> DcGrid:
    """Return the DC network of a case.

    Parameters
    ----------
    case : Case
        Network, angles in degrees, r and x in p.u.
    convention : str
        ``matpower``: b = 1 / (x tau); ``powermodels``: b = x / (r^2 + x^2).

    Notes
    -----
    R. D. Zimmerman, C. E. Murillo-Sanchez, MATPOWER User's Manual, section 3.7.
    """
    bus, branch = case.bus, case.branch
    row = {int(number): k for k, number in enumerate(bus["BUS_I"])}
    f = branch["F_BUS"].map(row).to_numpy(int)
    t = branch["T_BUS"].map(row).to_numpy(int)
    x, r = branch["BR_X"].to_numpy(), branch["BR_R"].to_numpy()
    tap = branch["TAP"].replace(0.0, 1.0).to_numpy()
    b = susceptance(r, x, tap, convention)
    live = bus["BUS_TYPE"].to_numpy() != ISOLATED
    on = (branch["BR_STATUS"].to_numpy() > 0) & live[f] & live[t]
    references = np.flatnonzero(bus["BUS_TYPE"].to_numpy() == REFERENCE)
    return DcGrid(f, t, np.where(on, b, 0.0), references, len(bus))


def network_grid(network: Network, convention: str = "matpower") -> DcGrid:
    """Return the DC network of what is in service, in internal numbers."""
    numbers = network.values()
    b = susceptance(numbers["br_r"], numbers["br_x"], numbers["tap"], convention)
    return DcGrid(network.f, network.t, b, network.reference, network.nb)


def susceptance(r: np.ndarray, x: np.ndarray, tap: np.ndarray, convention: str) -> np.ndarray:
    """Return the series susceptance of branches, p.u."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return 1.0 / (x * tap) if convention == "matpower" else x / (r**2 + x**2)


def _angles(grid: DcGrid, injections: sparse.spmatrix | np.ndarray) -> np.ndarray:
    """Return the angles, radian per p.u., that balanced injections cause; 0 at the slacks."""
    c = grid.incidence()
    kept = np.setdiff1d(np.arange(grid.buses), grid.slacks())
    result = np.zeros(injections.shape)
    if len(kept):
        matrix = (c.T @ sparse.diags(grid.b) @ c).tocsc()[np.ix_(kept, kept)]
        right = injections[kept]
        result[kept] = splu(matrix.tocsc()).solve(
            right.toarray() if sparse.issparse(right) else np.asarray(right)
        )
    return result


def ptdf(grid: DcGrid, columns: Sequence[int] | None = None) -> np.ndarray:
    """Return the power transfer distribution factors H.

    Parameters
    ----------
    grid : DcGrid
        The network.
    columns : sequence of int, optional
        Rows of the buses that inject; all by default.

    Returns
    -------
    ndarray, shape (L, columns)
        MW on a branch, from its f to its t end, for 1 MW injected at a bus and taken out at
        the reference bus of its island.

    Notes
    -----
    H = diag(b) C (C' diag(b) C)^-1 with the reference rows removed.
    """
    chosen = np.arange(grid.buses) if columns is None else np.asarray(columns, dtype=int)
    ones = (np.ones(len(chosen)), (chosen, np.arange(len(chosen))))
    angles = _angles(grid, sparse.csr_matrix(ones, shape=(grid.buses, len(chosen))))
    return sparse.diags(grid.b) @ (grid.incidence() @ angles)


def lodf(
    grid: DcGrid, contingencies: Sequence[int] | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the line outage distribution factors, and the outages that split the network.

    Parameters
    ----------
    grid : DcGrid
        The network.
    contingencies : sequence of int, optional
        Rows of the branches that may fail; all in service by default.

    Returns
    -------
    factors : ndarray, shape (L, kept)
        Share of the flow of the lost branch c that goes over to branch l; -1 for l = c.
    kept : ndarray of int
        The branch rows of its columns.
    islanding : ndarray of int
        Branch rows of the outages left out because they would split the network.

    Notes
    -----
    LODF_lc = H_l (f_c - t_c) / (1 - H_c (f_c - t_c)), where H_l (f - t) is the flow on l for a
    transfer from f to t. A denominator below 1e-8 means that c carries all of its own transfer.
    """
    chosen = np.flatnonzero(grid.on) if contingencies is None else np.asarray(contingencies, int)
    chosen = chosen[grid.on[chosen]]
    c = grid.incidence()
    transfer = sparse.diags(grid.b) @ (c @ _angles(grid, c[chosen].T.tocsr()))
    left = 1.0 - transfer[chosen, np.arange(len(chosen))]
    splits = np.abs(left) < ISLANDING
    factors = transfer[:, ~splits] / left[~splits]
    kept = chosen[~splits]
    factors[kept, np.arange(len(kept))] = -1.0
    return factors, kept, chosen[splits]
