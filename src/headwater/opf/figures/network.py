"""A single network: one-line diagram with loading and prices, and prices by bus."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from headwater.core import style
from headwater.core.format import format_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMED = 60  # buses whose numbers are written
SHOWN_BARS = 60


def layout(bus: pd.DataFrame, branch: pd.DataFrame) -> np.ndarray:
    """Return positions (nb, 2) of the buses: near where few lines lie between.

    Kamada and Kawai (1989), on the graph of the branches in service; islands side by side.
    """
    import networkx as nx

    numbers = bus["BUS_I"].astype(int).tolist()
    graph = nx.Graph()
    graph.add_nodes_from(numbers)
    alive = branch[branch["IN_SERVICE"] > 0]
    graph.add_edges_from(alive[["F_BUS", "T_BUS"]].astype(int).itertuples(index=False))
    placed: dict[int, np.ndarray] = {}
    right = 0.0
    for nodes in sorted(nx.connected_components(graph), key=lambda c: (-len(c), min(c))):
        part = graph.subgraph(sorted(nodes))
        spots = nx.kamada_kawai_layout(part) if len(part) > 1 else {min(nodes): np.zeros(2)}
        width = np.sqrt(len(part) / len(graph)) if len(part) < len(graph) else 1.0
        for node, spot in spots.items():
            placed[node] = np.array([right + width * (1 + spot[0]), width * spot[1]])
        right += 2.2 * width
    return np.array([placed[n] for n in numbers])


@style.styled
def network_diagram(
    name: str, bus: pd.DataFrame, gen: pd.DataFrame, branch: pd.DataFrame
) -> style.Plot:
    """Draw a solved network: branches by loading, buses by price, units and loads by size.

    Parameters
    ----------
    name : str
    bus, gen, branch : DataFrame
        Tables of a solution.
    """
    spots = layout(bus, branch)
    place = {int(n): spot for n, spot in zip(bus["BUS_I"], spots, strict=True)}
    figure = style.new_figure(height=5.2)
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set_aspect("equal")
    loading = _branches(axes, branch, place)
    prices = _buses(axes, bus, gen, spots)
    if loading is not None:
        style.colour_bar(axes, loading, "loading, % of the rating")
    alive = branch[branch["IN_SERVICE"] > 0]
    worst = alive.loc[alive["LOADING"].idxmax()] if alive["LOADING"].notna().any() else None
    words = f"{len(bus)} buses, {int(gen['IN_SERVICE'].sum())} units, {len(alive)} branches."
    if worst is not None:
        words += (
            f" Branch {int(worst['F_BUS'])}-{int(worst['T_BUS'])} is loaded most,"
            f" {worst['LOADING']:.0f}% of its rating."
        )
    words += (
        f" Prices go from {format_value(prices.min())} to {format_value(prices.max())} $/MWh."
        " Squares are units, triangles loads, their area is their power; thick branches are"
        " at their limit. Positions come from the graph, not from a map."
    )
    return style.Plot(
        figure,
        _numbers(branch),
        f"{name}: what flows where",
        words,
        f"One-line diagram of {name} with branches coloured by loading.",
    )


def _numbers(branch: pd.DataFrame) -> pd.DataFrame:
    columns = ["F_BUS", "T_BUS", "PF", "QF", "PT", "QT", "RATE", "LOADING", "MU_SF", "MU_ST"]
    kept = branch[branch["IN_SERVICE"] > 0][[c for c in columns if c in branch]]
    return kept.reset_index(drop=True)


def _branches(axes: Axes, branch: pd.DataFrame, place: dict[int, np.ndarray]) -> object:
    from matplotlib.collections import LineCollection

    alive = branch[branch["IN_SERVICE"] > 0]
    ends = [(place[int(r.F_BUS)], place[int(r.T_BUS)]) for r in alive.itertuples()]
    level = alive["LOADING"].to_numpy(dtype=float)
    unrated = ~np.isfinite(level)
    plain = [e for e, u in zip(ends, unrated, strict=True) if u]
    axes.add_collection(LineCollection(plain, colors=style.MUTED, linewidths=0.8, alpha=0.6))
    rated = [e for e, u in zip(ends, unrated, strict=True) if not u]
    if not rated:
        axes.autoscale()
        return None
    values = level[~unrated]
    lines = LineCollection(
        rated,
        cmap="cividis_r",
        array=values,
        linewidths=np.where(values > 99.5, 4.0, 1.8),
        clim=(0, 100),
        capstyle="round",
    )
    axes.add_collection(lines)
    axes.autoscale()
    return lines


def _buses(axes: Axes, bus: pd.DataFrame, gen: pd.DataFrame, spots: np.ndarray) -> pd.Series:
    """Draw buses, and above and below them units and loads; return the prices."""
    few = len(bus) <= NAMED
    size = 90 if few else 12
    axes.scatter(
        *spots.T, s=size, color=style.PAPER, edgecolors=style.INK, linewidths=0.8, zorder=3
    )
    span = np.ptp(spots, axis=0).max() or 1.0
    lift = np.array([0.0, 0.028 * span])
    most = max(gen["PG"].max(), bus["P_LOAD"].max(), 1e-9)
    power = gen[gen["IN_SERVICE"] > 0].groupby("GEN_BUS")["PG"].sum()
    numbers = bus["BUS_I"].to_numpy().astype(int)
    for k, number in enumerate(numbers):
        if power.get(float(number), 0.0) > 0:
            area = 160 * power[float(number)] / most + 6
            axes.scatter(*(spots[k] + lift), s=area, marker="s", color=style.colour(0), zorder=2)
    load = bus["P_LOAD"].to_numpy()
    with_load = load > 0
    axes.scatter(
        *(spots[with_load] - lift).T,
        s=160 * load[with_load] / most + 6,
        marker="v",
        color=style.colour(1),
        zorder=2,
    )
    if few:
        for spot, number in zip(spots, numbers, strict=True):
            axes.annotate(
                str(number), spot, ha="center", va="center", fontsize=6.5, color=style.INK, zorder=4
            )
    return bus["LMP"].dropna()


@style.styled
def price_bars(name: str, bus: pd.DataFrame) -> style.Plot:
    """Draw the price of real power at every bus; the dearest and cheapest where they are many."""
    known = bus[bus["LMP"].notna()][["BUS_I", "LMP", "P_LOAD"]].reset_index(drop=True)
    shown = known
    if len(known) > SHOWN_BARS:
        order = known["LMP"].sort_values(kind="stable").index
        kept = sorted([*order[: SHOWN_BARS // 2], *order[-SHOWN_BARS // 2 :]])
        shown = known.loc[kept]
    figure = style.new_figure(height=2.6)
    axes = figure.subplots()
    axes.bar(range(len(shown)), shown["LMP"], color=style.colour(0), width=0.8)
    axes.set_xticks(range(len(shown)), shown["BUS_I"].astype(int), rotation=90)
    axes.set_xlabel("bus")
    axes.set_ylabel("price, $/MWh")
    axes.axhline(0, color=style.MUTED, linewidth=0.7)
    low, high = known["LMP"].min(), known["LMP"].max()
    dear = int(known.loc[known["LMP"].idxmax(), "BUS_I"])
    words = f"The price of one more megawatt, {format_value(low)} to {format_value(high)} $/MWh"
    words += f"; dearest at bus {dear}."
    if len(shown) < len(known):
        words += f" The {SHOWN_BARS // 2} cheapest and dearest of {len(known)} buses are shown."
    return style.Plot(
        figure,
        known,
        f"{name}: what power is worth",
        words,
        f"Bars of the price at buses of {name}.",
    )
