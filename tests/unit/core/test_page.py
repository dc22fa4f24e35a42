"""Report pages: self-contained, escaped, accessible, the same bytes twice."""

import itertools
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from headwater.core import comparison, page, style
from headwater.core.format import Cell, format_value, sort_key
from headwater.core.page import (
    Card,
    Cards,
    Code,
    Heading,
    Links,
    Notes,
    Page,
    Section,
    Table,
    Text,
    render_page,
)

HOSTILE = "<script>alert('x')</script> & \"$\\alpha$"
VOID = {"meta", "link", "br", "img", "hr", "input"}


class Reader(HTMLParser):
    """Collects what a browser would see; fails on tags that do not close in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.ids, self.text, self.headings = [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@style.styled
def plot():
    figure = style.new_figure(height=1.5)
    left, right = figure.subplots(1, 2)
    left.plot([0, 1], [1, np.nan], label=HOSTILE, color=style.colour(0))
    left.fill_between([0, 1], [0, 0], [1, 1], color=style.colour(1), alpha=0.2)
    left.set_title(HOSTILE)
    left.legend()
    image = style.heat(right, np.array([[0.0, np.nan], [1.0, 2.0]]))
    style.colour_bar(right, image, "counts")
    table = pd.DataFrame({"feature": [HOSTILE, "b"], "value": [np.nan, 1234567.0]})
    return style.Plot(figure, table, HOSTILE, "Two. Sentences.", HOSTILE)


@pytest.fixture(scope="module")
def drawn():
    return plot()


def sample_page(drawn):
    numbers = pd.DataFrame({"name": [HOSTILE] * 150, "value": range(150)})
    blocks = [
        Text([HOSTILE]),
        Heading(HOSTILE),
        Cards([Card(HOSTILE, float("nan"), HOSTILE)]),
        Notes("Warnings", [HOSTILE]),
        Notes("Warnings", [], empty="Nothing."),
        Table("t", HOSTILE, numbers, HOSTILE, "all.tsv"),
        Code("command", "a\n\n  b <c>"),
        Links([("paper", "https://doi.org/10.1/x"), ("trap", "javascript:alert(1)")]),
    ]
    return Page(
        title=HOSTILE,
        lead=HOSTILE,
        banner=HOSTILE,
        sections=[
            Section("One", blocks),
            Section("One", [page.figure_of(drawn, "first", "figures/first.tsv")], folded=True),
            Section("Three", [page.figure_of(drawn, "second")]),
        ],
        numbers=[Card("score", 0.5)],
        head_figure="first",
    )


@pytest.fixture(scope="module")
def html(drawn):
    return render_page(sample_page(drawn))


def test_page_parses_and_ids_are_unique(html):
    reader = Reader(html)
    assert len(reader.ids) == len(set(reader.ids))
    targets = [a["href"][1:] for t, a in reader.tags if a.get("href", "").startswith("#") and t]
    assert set(targets) - {""} <= set(reader.ids)


def test_references_inside_svg_lead_to_ids_of_the_same_figure(html):
    ids = set(Reader(html).ids)
    used = re.findall(r"url\(#([^)]+)\)", html)
    assert used
    assert set(used) <= ids
    assert all(u.startswith(("f-first-", "f-second-")) for u in used)


def test_nothing_is_loaded_from_outside(html):
    for tag, attributes in Reader(html).tags:
        for name in ("src", "href", "data", "action", "poster", "srcset"):
            value = attributes.get(name, "")
            if tag == "a" or value.startswith(("#", "data:")):
                continue
            assert value == "", (tag, name, value)
    styles = " ".join(re.findall(r"<style>(.*?)</style>", html, re.S))
    assert "@import" not in styles
    assert "url(" not in styles
    assert "default-src 'none'" in html


def test_only_our_script_may_run_and_its_digest_is_right(html):
    import base64
    import hashlib

    scripts = re.findall(r"<script>(.*?)</script>", html, re.S)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in html


def test_hostile_names_are_text(html):
    reader = Reader(html)
    assert sum(t == "script" for t, _ in reader.tags) == 1
    assert any(HOSTILE in text for text in reader.text)
    assert 'href="javascript:' not in html
    assert not [a for _, a in reader.tags for name in a if name.startswith("on")]


def test_same_page_gives_the_same_bytes(html):
    assert render_page(sample_page(plot())) == html


def test_accessibility(html):
    reader = Reader(html)
    assert reader.headings.count(1) == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(reader.headings))
    pictures = [a for t, a in reader.tags if t == "svg"]
    assert pictures
    assert all(a.get("role") == "img" and a.get("aria-label") for a in pictures)
    tables = sum(t == "table" for t, _ in reader.tags)
    assert tables == sum(t == "caption" for t, _ in reader.tags) == 3
    assert all(a.get("scope") for t, a in reader.tags if t == "th")
    assert ("html", {"lang": "en"}) in reader.tags


def test_long_tables_are_cut_and_say_so(html):
    assert "The first 100 of 150 rows." in html
    assert 'href="all.tsv"' in html


def test_code_keeps_its_blank_lines(html):
    assert "<pre>a\n\n  b &lt;c&gt;</pre>" in html


def test_missing_values_are_dashes_and_sort_last(html):
    assert 'data-s="">–<' in html
    assert ">nan<" not in html.lower()


def test_figures_follow_the_paper(html):
    svg = re.search(r"<svg.*?</svg>", html, re.S)[0]
    for name in ("paper", "ink", "muted", "c1", "c2"):
        assert f"var(--{name},{style.THEME[name][0]})" in svg
    assert "<metadata" not in svg
    assert "font-family" not in svg


def test_two_figures_of_one_name_are_refused(drawn):
    one = page.figure_of(drawn, "Same")
    two = page.figure_of(drawn, "same")
    with pytest.raises(ValueError, match="figure same"):
        render_page(Page("a", "b", [Section("c", [one, two])]))


def test_figures_come_back_from_their_files(drawn, tmp_path):
    page.save_figures({"b": drawn, "a": drawn}, tmp_path)
    figures = page.load_figures(tmp_path, prefix="mice-")
    assert [f.name for f in figures] == ["mice-b", "mice-a"]
    assert figures[0].file == "figures/b.tsv"
    assert figures[0].title == HOSTILE
    pd.testing.assert_frame_equal(figures[0].table, drawn.table)
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / "a.svg").read_text() == (tmp_path / "b.svg").read_text()


def test_landing_page_shows_head_figure_and_numbers(drawn):
    head = page.head_of(sample_page(drawn))
    entries = [page.entry_of(head, "counts/report/index.html")] * 2
    html = page.render_index("Run", entries)
    reader = Reader(html)
    assert len(reader.ids) == len(set(reader.ids))
    assert html.count("<svg") == 2
    assert html.count('href="counts/report/index.html"') == 4
    assert "<dd>0.5</dd>" in html
    assert page.head_of(Page("a", "b", []))["figure"] is None


def test_hostile_svg_is_disarmed():
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        'viewBox="0 0 9 9" onload="x()"><script>x()</script>'
        '<image xlink:href="https://example.org/a.png"/><g onclick="x()"><path d="M0 0"/></g>'
        "</svg>"
    )
    out = style.inline_svg(svg, "f", 'a "quoted" alt')
    assert "script" not in out
    assert "example.org" not in out
    assert "onload" not in out
    assert "onclick" not in out
    assert "M0 0" in out
    with pytest.raises(ValueError, match="figure f"):
        style.inline_svg("<svg>", "f", "")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.000012345, "1.234×10⁻⁵"),
        (-0.5, "−0.5"),
        (1991, "1991"),
        (12345, "12\u202f345"),
        (26856.0, "26\u202f856"),
        (1234.5678, "1235"),
        (0.04567891, "0.04568"),
        (float("inf"), "∞"),
        (None, "–"),
        (np.float32("nan"), "–"),
        (np.int64(7), "7"),
        (np.bool_(True), "yes"),
        (0.0, "0"),
        (2.5e9, "2.5×10⁹"),
    ],
)
def test_numbers_are_set_as_a_reader_wants_them(value, text):
    assert format_value(value) == text


def test_sort_keys_are_numbers_or_small_letters():
    assert sort_key(Cell("1 332", 1332.0)) == "1332"
    assert sort_key("Zebra") == "zebra"
    assert sort_key(np.nan) == ""


# --- colours -----------------------------------------------------------------------------

# Machado, Oliveira, Fernandes (2009), severity 1.0, linear RGB
DEFICIENCIES = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def linear(colour):
    values = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(one, two):
    """WCAG 2.2 contrast ratio."""
    a, b = (float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (one, two))
    return (max(a, b) + 0.05) / (min(a, b) + 0.05)


def oklab(rgb):
    """Ottosson (2020)."""
    to_lms = [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
    to_lab = [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
    return np.array(to_lab) @ np.cbrt(np.array(to_lms) @ np.clip(rgb, 0, 1))


@pytest.mark.parametrize("paper", [0, 1])
def test_text_has_contrast_aa_on_both_papers(paper):
    theme = {name: pair[paper] for name, pair in style.THEME.items()}
    for ground in ("paper", "wash"):
        for name in ("ink", "muted", "link"):
            assert contrast(theme[name], theme[ground]) >= 4.5, (name, ground)
    assert contrast(theme["ink"], theme["warn-wash"]) >= 4.5
    assert contrast(theme["warn"], theme["warn-wash"]) >= 4.5
    for i in range(1, 7):
        assert contrast(theme[f"c{i}"], theme["paper"]) >= 3.0
    assert contrast(theme["plain"], theme["paper"]) >= 3.0


@pytest.mark.parametrize("paper", [0, 1])
@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_lines_differ_for_all_eyes(paper, deficiency):
    colours = [linear(style.THEME[f"c{i}"][paper]) for i in range(1, 7)]
    seen = [oklab(np.array(DEFICIENCIES[deficiency]) @ c) for c in colours]
    least = min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2))
    assert least >= 0.10


def test_light_colours_are_unlike_each_other():
    lights = [light for light, _ in style.THEME.values()]
    assert len(set(lights)) == len(lights)


# --- comparisons -------------------------------------------------------------------------


def scores():
    return pd.DataFrame(
        [
            ("plnica", "deviance", 1109.1, 1000.0, 1200.0),
            ("baseline:step_mean", "deviance", 982.0, 900.0, 1010.0),
            ("baseline:persistence", "deviance", 5397.0, 5000.0, 6000.0),
            ("baseline:null_random", "deviance", 1.0, np.nan, np.nan),
            ("plnica", "cosine", 0.9, np.nan, np.nan),
        ],
        columns=["method", "metric", "value", "ci_low", "ci_high"],
    )


DEVIANCE = comparison.Measure("deviance", "deviance", False, "nat")
COSINE = comparison.Measure("cosine", "|cos|", True)


def test_the_baseline_that_wins_is_said_to_win():
    text = comparison.winner_sentence(scores(), DEVIANCE)
    assert text == (
        "Deviance: a baseline wins, step mean with 982 nat (900 to 1010) against plnica with"
        " 1109 nat (1000 to 1200) for the best model; their intervals overlap."
    )


def test_the_model_that_wins_is_said_to_win():
    rows = scores()
    rows.loc[0, ["value", "ci_low", "ci_high"]] = [500.0, 400.0, 600.0]
    text = comparison.winner_sentence(rows, DEVIANCE)
    assert text.startswith("Deviance: the model wins, plnica with 500 nat")
    assert "overlap" not in text


def test_one_side_alone_and_nothing():
    assert "only plnica with 0.9" in comparison.winner_sentence(scores(), COSINE)
    assert "nothing was scored" in comparison.winner_sentence(scores().iloc[:0], COSINE)


def test_table_marks_best_baselines_and_null_and_ranks():
    table = comparison.comparison_table(scores(), [DEVIANCE, COSINE])
    assert [c.text for c in table["Method"]] == [
        "step mean",
        "plnica",
        "persistence",
        "null random",
    ]
    assert [c.mark for c in table["Method"]] == ["baseline", "", "baseline", "null"]
    assert [c.mark for c in table[DEVIANCE.heading]] == ["best", "", "", ""]
    assert [c.text for c in table[COSINE.heading]] == ["–", "0.9", "–", "–"]
    with pytest.raises(ValueError, match="more than one value"):
        comparison.comparison_table(pd.concat([scores(), scores()]), [DEVIANCE])


def test_head_rows_leave_out_folds_and_split_by_shared_settings():
    rows = scores().iloc[:2]
    columns = {"dataset": "mice", "seed": np.nan, "n": 5, "unit": "nat"}
    settings = {
        "plnica": ["t0=2;d=3", "t0=9;d=3"],
        "baseline:step_mean": ["t0=2", "t0=9"],
    }
    parts = []
    for k in range(2):
        for split in ("horizon", "fold00"):
            setting = [settings[m][k] for m in rows["method"]]
            parts.append(rows.assign(setting=setting, split=split, value=rows["value"] + k))
    metrics = pd.concat(parts).assign(**columns)
    found = comparison.head_rows(metrics, "mice", [DEVIANCE])
    assert [label for label, _ in found] == ["horizon, t0 = 2", "horizon, t0 = 9"]
    assert sorted(found[1][1]["method"]) == ["baseline:step_mean", "plnica d3"]
    assert found[1][1]["value"].max() == pytest.approx(1110.1)
    assert comparison.head_rows(metrics, "other", [DEVIANCE]) == []
