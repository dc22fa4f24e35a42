"""Report pages: plain data in, one self-contained HTML file out.

A `Page` is a title, a lead, an optional banner and sections of blocks (`Text`, `Cards`,
`Table`, `Figure`, `Notes`, `Code`, `Links`). `render_page` makes the file: no outside asset,
readable on a phone, in print, on white and on dark paper; the same page gives the same
bytes. Everything that is text is escaped here, so a feature may be called ``<script>``.

Rule scripts write each figure as four files with `save_figure`; `load_figure` reads them
back for the page.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from . import io, style
from .format import Cell, format_value, slug, sort_key

if TYPE_CHECKING:
    import pandas as pd
    from jinja2 import Environment

TEMPLATES = "templates"
SHOWN_ROWS = 100


@dataclass(frozen=True)
class Text:
    """One or more paragraphs."""

    kind: ClassVar[str] = "text"
    paragraphs: Sequence[str]


@dataclass(frozen=True)
class Heading:
    """A heading inside a section."""

    kind: ClassVar[str] = "heading"
    text: str


@dataclass(frozen=True)
class Card:
    """One number with its name, and a note such as its unit or interval."""

    label: str
    value: Any
    note: str = ""


@dataclass(frozen=True)
class Cards:
    """A row of numbers."""

    kind: ClassVar[str] = "cards"
    cards: Sequence[Card]


@dataclass(frozen=True)
class Table:
    """A sortable table; `file` names the file beside the page that holds all rows."""

    kind: ClassVar[str] = "table"
    name: str
    title: str
    table: pd.DataFrame
    caption: str = ""
    file: str = ""
    rows: int = SHOWN_ROWS


@dataclass(frozen=True)
class Figure:
    """A figure as SVG text, the numbers it shows, and its words."""

    kind: ClassVar[str] = "figure"
    name: str
    svg: str
    table: pd.DataFrame
    title: str
    caption: str
    alt: str
    file: str = ""


@dataclass(frozen=True)
class Notes:
    """A box of warnings; an empty one says that there are none."""

    kind: ClassVar[str] = "notes"
    title: str
    items: Sequence[str]
    empty: str = "None."


@dataclass(frozen=True)
class Code:
    """A command or a piece of text to copy."""

    kind: ClassVar[str] = "code"
    label: str
    text: str


@dataclass(frozen=True)
class Links:
    """A list of texts, each with an address or without one."""

    kind: ClassVar[str] = "links"
    items: Sequence[tuple[str, str]]


Block = Text | Heading | Cards | Table | Figure | Notes | Code | Links


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it; `folded` sections open on a click."""

    title: str
    blocks: Sequence[Block]
    folded: bool = False


@dataclass(frozen=True)
class Page:
    """A whole report page.

    Attributes
    ----------
    title, lead : str
        Headline and one or two sentences that say what was found.
    banner : str
        Said at the very top: that data are simulated or embedded, or that a default stands
        in for a real component. Empty where nothing of the kind holds.
    sections : sequence of Section
    numbers : sequence of Card
        The head numbers, shown under the lead and on the run's landing page.
    head_figure : str
        Name of the figure that the landing page shows.
    footer : str
    """

    title: str
    lead: str
    sections: Sequence[Section]
    banner: str = ""
    numbers: Sequence[Card] = ()
    head_figure: str = ""
    footer: str = ""


@dataclass(frozen=True)
class Entry:
    """A domain on the landing page: where its page is, and its head."""

    title: str
    href: str
    lead: str
    banner: str = ""
    numbers: Sequence[Card] = ()
    figure: Figure | None = None


def save_figure(
    plot: style.Plot, svg: str | Path, png: str | Path, tsv: str | Path, json: str | Path
) -> None:
    """Write a plot's picture twice, its numbers and its words."""
    with style.context():
        io.write_figure(svg, plot.figure)
        io.write_figure(png, plot.figure)
    io.write_table(tsv, plot.table)
    io.write_json(json, {"title": plot.title, "caption": plot.caption, "alt": plot.alt})


def load_figure(folder: str | Path, name: str, link: str = "figures") -> Figure:
    """Read ``<name>.svg``, ``.tsv`` and ``.json`` of `folder` back as a figure of a page.

    `link` is the way from the page to the folder, for the link to all numbers.
    """
    folder = Path(folder)
    words = io.read_json(folder / f"{name}.json")
    return Figure(
        name=name,
        svg=(folder / f"{name}.svg").read_text(encoding="utf-8"),
        table=io.read_table(folder / f"{name}.tsv"),
        title=words["title"],
        caption=words["caption"],
        alt=words["alt"],
        file=f"{link}/{name}.tsv" if link else "",
    )


def save_figures(plots: Mapping[str, style.Plot], folder: str | Path) -> None:
    """Write plots as ``<name>.{svg,png,tsv,json}`` and their order as ``figures.json``."""
    folder = Path(folder)
    for name, plot in plots.items():
        save_figure(plot, *(folder / f"{name}.{kind}" for kind in ("svg", "png", "tsv", "json")))
    io.write_json(folder / "figures.json", list(plots))


def load_figures(folder: str | Path, prefix: str = "", link: str = "figures") -> list[Figure]:
    """Read what `save_figures` wrote, in its order; `prefix` makes names unique on a page."""
    names = io.read_json(Path(folder) / "figures.json")
    return [
        replace(figure, name=prefix + figure.name)
        for figure in (load_figure(folder, name, link) for name in names)
    ]


def load_named(folder: str | Path, names: Sequence[str], prefix: str) -> list[Figure]:
    """Read the named figures of a data set; on the page they are called ``<prefix>-<name>``."""
    return [
        replace(load_figure(folder, name, f"../{prefix}/figures"), name=f"{prefix}-{name}")
        for name in names
    ]


def figure_of(plot: style.Plot, name: str, file: str = "") -> Figure:
    """Return a plot as a figure of a page without writing it."""
    return Figure(
        name, style.svg_text(plot.figure), plot.table, plot.title, plot.caption, plot.alt, file
    )


def render_page(page: Page) -> str:
    """Return a page as HTML.

    Raises
    ------
    ValueError
        If two figures or tables have one name, or a figure is not well-formed SVG.
    """
    return _render("page.html.j2", page=page, sections=_numbered(page.sections))


def render_index(
    title: str, entries: Sequence[Entry], lead: str = "", banner: str = "", footer: str = ""
) -> str:
    """Return a run's landing page, which links the domains' pages."""
    named = [
        replace(e, figure=replace(e.figure, name=f"{i}-{e.figure.name}")) if e.figure else e
        for i, e in enumerate(entries, 1)
    ]
    return _render(
        "index.html.j2", title=title, lead=lead, banner=banner, footer=footer, entries=named
    )


def head_of(page: Page) -> dict[str, Any]:
    """Return what the landing page needs of `page`, as plain values for a JSON file."""
    figures = {b.name: b for s in page.sections for b in s.blocks if isinstance(b, Figure)}
    chosen = figures.get(page.head_figure)
    figure = None
    if chosen is not None:
        figure = {k: getattr(chosen, k) for k in ("name", "svg", "title", "caption", "alt")}
    return {
        "title": page.title,
        "lead": page.lead,
        "banner": page.banner,
        "numbers": [asdict(replace(c, value=format_value(c.value))) for c in page.numbers],
        "figure": figure,
    }


def entry_of(head: Mapping[str, Any], href: str) -> Entry:
    """Return the landing page's entry from what `head_of` gave."""
    import pandas as pd

    figure = head.get("figure")
    return Entry(
        title=head["title"],
        href=href,
        lead=head["lead"],
        banner=head.get("banner", ""),
        numbers=[Card(**c) for c in head.get("numbers", [])],
        figure=Figure(**figure, table=pd.DataFrame()) if figure else None,
    )


def _numbered(sections: Sequence[Section]) -> list[dict[str, Any]]:
    """Return sections with ids, and with their figures and tables counted."""
    counts = {"figure": 0, "table": 0}
    names: set[str] = set()
    ids: set[str] = set()
    result = []
    for section in sections:
        blocks = []
        for block in section.blocks:
            number = 0
            if block.kind in counts:
                counts[block.kind] += 1
                number = counts[block.kind]
                name = f"{block.kind} {slug(block.name)}"
                if name in names:
                    raise ValueError(f"two blocks of one page are called {name}")
                names.add(name)
            blocks.append({"block": block, "number": number})
        base = identity = slug(section.title)
        serial = 1
        while identity in ids:
            serial += 1
            identity = f"{base}-{serial}"
        ids.add(identity)
        result.append({"section": section, "id": identity, "blocks": blocks})
    return result


def _rows(table: pd.DataFrame, limit: int) -> Iterator[list[Any]]:
    for row in table.head(limit).itertuples(index=False, name=None):
        yield list(row)


def _numeric(table: pd.DataFrame) -> list[bool]:
    """Return for each column whether it is set flush right, as numbers are."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    result = []
    for i in range(table.shape[1]):
        column = table.iloc[:, i]
        cells = [v for v in column.head(20) if isinstance(v, Cell)]
        if cells:
            result.append(all(isinstance(c.sort, int | float) for c in cells))
        else:
            result.append(is_numeric_dtype(column.dtype) and not is_bool_dtype(column.dtype))
    return result


def _inline(figure: Figure) -> Any:
    from markupsafe import Markup

    # inline_svg serialises a parsed tree, so its text is escaped
    return Markup(style.inline_svg(figure.svg, f"f-{slug(figure.name)}", figure.alt))


def _address(href: str) -> str:
    """Return an address that a page may link to; a script is none."""
    scheme, colon, _ = href.partition(":")
    return href if not colon or "/" in scheme or scheme in ("http", "https", "mailto") else "#"


def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent / TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    made.filters |= {"value": format_value, "sort_key": sort_key, "slug": slug, "address": _address}
    made.globals |= {
        "rows_of": _rows,
        "numeric": _numeric,
        "inline": _inline,
        "is_cell": lambda v: isinstance(v, Cell),
        "shown_rows": SHOWN_ROWS,
        "theme": style.THEME,
    }
    return made


def _render(template: str, **values: Any) -> str:
    from markupsafe import Markup

    environment = _environment()
    source = Path(__file__).parent / TEMPLATES
    script = (source / "page.js").read_text(encoding="utf-8").strip()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    css = environment.get_template("page.css").render()
    return environment.get_template(template).render(
        script=Markup(script),
        script_hash=Markup(f"'sha256-{digest}'"),
        css=Markup(css),
        **values,
    )
