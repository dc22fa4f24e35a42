"""One look for every figure, on white and on dark paper.

A figure is drawn once, in the light colours below. `inline_svg` turns its SVG into the form
that stands inside a report page: every colour of the theme becomes a CSS variable, so that a
figure follows the page from light to dark; text stays text, in the reader's own font; ids
carry the figure's name and cannot clash. Heat maps run from transparent to a middle tone and
so read on both papers.

The six line colours differ for the common colour vision deficiencies (Machado, Oliveira and
Fernandes 2009) and stand off both papers by 3:1 or more; a test measures it.
"""

from __future__ import annotations

import functools
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

# name: (light paper, dark paper). The light values are unlike each other: `inline_svg`
# finds the variable by the colour.
THEME: dict[str, tuple[str, str]] = {
    "paper": ("#ffffff", "#14181d"),
    "wash": ("#f5f6f4", "#1b2027"),
    "ink": ("#1c2329", "#e6e9ec"),
    "muted": ("#59636d", "#a0abb6"),
    "rule": ("#d5dadf", "#363e48"),
    "link": ("#0b5394", "#8ab8f5"),
    "warn": ("#8a4b00", "#f0b35c"),
    "warn-wash": ("#fdf4e3", "#2c2415"),
    "plain": ("#8b959f", "#7b8793"),
    "c1": ("#005cae", "#7dabfe"),
    "c2": ("#dd6c00", "#bd6414"),
    "c3": ("#0a9f8b", "#3ae6d2"),
    "c4": ("#625604", "#fecd4e"),
    "c5": ("#a27af0", "#9a63c6"),
    "c6": ("#6d0058", "#f97a95"),
}
PALETTE: tuple[str, ...] = tuple(THEME[f"c{i}"][0] for i in range(1, 7))
INK, MUTED, RULE, PLAIN, PAPER = (
    THEME[name][0] for name in ("ink", "muted", "rule", "plain", "paper")
)
LINES = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)))
ON_COLOUR = "#fffffe"  # writing on a full tone, the same on both papers
WIDTH = 7.6  # inches: the text column of a page
PIXELS_PER_POINT = 1.35  # on a page, at full width

RC: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib: the same layout everywhere
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.titlepad": 6.0,
    "axes.labelsize": 9.0,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "legend.fontsize": 8.0,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.axisbelow": True,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "patch.linewidth": 0.7,
    "figure.facecolor": PAPER,
    "axes.facecolor": "none",
    "savefig.facecolor": PAPER,
    "figure.dpi": 100,
    "svg.fonttype": "none",
    "svg.hashsalt": "headwater",
    "svg.image_inline": True,
    "text.parse_math": False,  # names of features may hold a dollar sign
    "axes.unicode_minus": True,
    "axes.formatter.useoffset": False,
}


@dataclass(frozen=True)
class Plot:
    """A figure as it is drawn: the matplotlib figure, its numbers and its words.

    Attributes
    ----------
    figure : matplotlib Figure
    table : DataFrame
        Every number that the figure shows.
    title, caption, alt : str
        A headline; two sentences with numbers; what a reader who cannot see it needs.
    """

    figure: Figure
    table: pd.DataFrame
    title: str
    caption: str
    alt: str


def context() -> AbstractContextManager[None]:
    """Return a context in which matplotlib draws in this style."""
    import matplotlib as mpl

    mpl.use("Agg", force=False)
    return mpl.rc_context(RC)


def styled(function: Callable[..., Plot]) -> Callable[..., Plot]:
    """Draw a function's `Plot` in this style, ticks included, and then fix its layout.

    Ticks are made when they are first drawn, and each drawing would move the layout a little:
    only a fixed one gives the same file twice.
    """

    @functools.wraps(function)
    def draw(*args: Any, **options: Any) -> Plot:
        with context():
            plot = function(*args, **options)
            for _ in range(2):
                plot.figure.draw_without_rendering()
            plot.figure.set_layout_engine("none")
            return plot

    return draw


def new_figure(width: float = WIDTH, height: float = 3.0) -> Figure:
    """Return an empty figure in inches; no global state, so nothing to close."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def colour(index: int) -> str:
    """Return the line colour of item `index`; after six they repeat with another dash."""
    return PALETTE[index % len(PALETTE)]


def dash(index: int) -> Any:
    """Return the dash of item `index`: a second cue beside the colour."""
    return LINES[(index // len(PALETTE) + index) % len(LINES)]


def sequential() -> Colormap:
    """Return the map for amounts: nothing is transparent, much is a full middle tone."""
    return _map("amount", [(0.0, "#3f9fb000"), (0.35, "#3f9fb080"), (1.0, "#2f6fc4ff")])


def diverging() -> Colormap:
    """Return the map for signed values: zero is transparent, blue below, orange above."""
    return _map("signed", [(0.0, "#2f6fc4ff"), (0.5, "#8b959f00"), (1.0, "#dd6c00ff")])


def _map(name: str, stops: Sequence[tuple[float, str]]) -> Colormap:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(name, list(stops), N=256, bad="#00000000")


def heat(axes: Axes, values: np.ndarray, **options: Any) -> AxesImage:
    """Draw a matrix as pixels (rows down); cells without a value show the paper, dotted."""
    import numpy as np

    values = np.asarray(values, dtype=float)
    if np.isnan(values).any():
        mask = np.isnan(values)
        rows, columns = np.nonzero(mask)
        if len(rows) <= 400:  # beyond that the dots would be the figure
            axes.plot(columns, rows, ".", color=PLAIN, markersize=1.5, linestyle="none")
    options = {"cmap": sequential(), "aspect": "auto", "interpolation": "none"} | options
    return axes.imshow(values, **options)


def colour_bar(axes: Axes, image: AxesImage, label: str, ticks: Any = None) -> Axes:
    """Put a slim scale to the right of `axes`; `ticks` maps values to labels."""
    import numpy as np

    low, high = image.get_clim()
    bar = axes.inset_axes((1.015, 0.0, 0.018, 1.0))
    ramp = np.linspace(low, high, 64)[:, None]
    bar.imshow(
        ramp,
        cmap=image.get_cmap(),
        vmin=low,
        vmax=high,
        aspect="auto",
        origin="lower",
        interpolation="none",
        extent=(0, 1, low, high if high > low else low + 1),
    )
    bar.set_xticks([])
    bar.yaxis.tick_right()
    bar.yaxis.set_label_position("right")
    bar.set_ylabel(label)
    if ticks is not None:
        bar.set_yticks(list(ticks.keys()), list(ticks.values()))
    for spine in bar.spines.values():
        spine.set_visible(False)
    return bar


def svg_text(figure: Figure) -> str:
    """Return a figure as SVG text, the same for the same figure."""
    with context():
        stream = BytesIO()
        figure.savefig(stream, format="svg", metadata={"Date": None})
    return stream.getvalue().decode("utf-8")


SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
_HEX = re.compile(r"#[0-9a-fA-F]{6}\b")
_FONT = re.compile(r"font-family:[^;]*;? ?")
_VARIABLE = {light.lower(): f"var(--{name},{light})" for name, (light, _) in THEME.items()}
_UNWANTED = ("metadata", "script", "style", "foreignObject")


def inline_svg(svg: str, name: str, alt: str) -> str:
    """Return an SVG file's text as an element for a page.

    Colours of `THEME` become CSS variables, ids that nothing refers to go, the others get
    `name` in front, and anything that could run or load from elsewhere is dropped.

    Raises
    ------
    ValueError
        If `svg` is not well-formed XML.
    """
    try:
        root = ET.fromstring(svg)
    except ET.ParseError as error:
        raise ValueError(f"figure {name} is not well-formed SVG: {error}") from error
    ids = _referenced(root)
    for parent in root.iter():
        for child in [c for c in parent if _tag(c) in _UNWANTED]:
            parent.remove(child)
    for element in root.iter():
        _restyle(element, name, ids)
    width, height = _size(root)
    root.attrib = {
        "viewBox": root.get("viewBox", f"0 0 {width:g} {height:g}"),
        "role": "img",
        "aria-label": alt,
        "style": f"max-width:{width * PIXELS_PER_POINT:.0f}px;--w:{width:.0f}px",
    }
    for element in root.iter():
        element.tag = _tag(element)
        element.tail = None
    return ET.tostring(root, encoding="unicode")


def _tag(element: ET.Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _size(root: ET.Element) -> tuple[float, float]:
    box = [float(v) for v in root.get("viewBox", "0 0 500 300").split()]
    return box[2], box[3]


def _referenced(root: ET.Element) -> set[str]:
    found: set[str] = set()
    for element in root.iter():
        for key, value in element.attrib.items():
            found |= set(re.findall(r"url\(#([^)]+)\)", value))
            if key in ("href", f"{{{XLINK}}}href") and value.startswith("#"):
                found.add(value[1:])
    return found


def _restyle(element: ET.Element, name: str, ids: set[str]) -> None:
    new: dict[str, str] = {}
    for key, value in element.attrib.items():
        short = key.rpartition("}")[2]
        if short == "id":
            if value in ids:
                new["id"] = f"{name}-{value}"
            continue
        if short.lower().startswith("on"):
            continue
        if short == "href":
            if value.startswith("#"):
                new["href"] = f"#{name}-{value[1:]}"
            elif value.startswith("data:image/"):
                new["href"] = value.replace("\n", "")
            continue
        if short == "transform" and value.startswith("rotate(-0 "):
            continue
        value = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", value)
        value = _FONT.sub("", value)  # the page's font
        new[short] = _HEX.sub(lambda m: _VARIABLE.get(m[0].lower(), m[0]), value)
    if element.text and not element.text.strip():
        element.text = None
    element.attrib = new
