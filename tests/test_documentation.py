"""The documentation: all pages are found, nothing comes from elsewhere, formulas can be set."""

from __future__ import annotations

import re
from pathlib import Path

import documentation
import formulas as in_words
import pytest
import yaml

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
NOTEBOOKS = {f"notebooks/{path.stem}.md" for path in documentation.NOTEBOOKS.glob("*.ipynb")}
CONFIG = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
FENCED = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
DISPLAYED = re.compile(r"^\$\$\n(.*?)\n\$\$$", re.MULTILINE | re.DOTALL)
#: What KaTeX knows by a name: in JavaScript a backslash is two.
MACROS = set(
    re.findall(r"\\\\([a-zA-Z]+)", (DOCS / "assets/katex/katex.min.js").read_text(encoding="utf-8"))
)
IN_A_LINE = re.compile(r"\$([^$\n]+)\$")
#: What GitHub reads as markdown or HTML inside of a formula, or does not allow.
MISREAD = re.compile(r"\\[^a-zA-Z]|\\operatorname|[*|]|[^a-zA-Z0-9]_|<[^ ]")


def prose(text: str) -> str:
    """A page without its code."""
    return re.sub(r"`[^`\n]+`", "", FENCED.sub("", text))


def formulas(text: str) -> list[str]:
    text = prose(text)
    return DISPLAYED.findall(text) + IN_A_LINE.findall(DISPLAYED.sub("", text))


def entries(nav: object) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    inner = nav.values() if isinstance(nav, dict) else nav
    return [entry for one in inner for entry in entries(one)]


def test_the_navigation_has_every_page_once() -> None:
    listed = entries(CONFIG["nav"])
    listed.remove("gallery/")
    listed += entries(documentation.gallery_nav(documentation.GALLERY.read_text(encoding="utf-8")))
    there = {path.relative_to(DOCS).as_posix() for path in PAGES} | NOTEBOOKS
    assert sorted(listed) == sorted(there)


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES], ids=str)
def test_what_a_page_links_to_is_there(page: Path) -> None:
    links = re.findall(r"\]\(([^)\s#]+)[^)]*\)", prose(page.read_text(encoding="utf-8")))
    for link in links:
        assert re.match(r"https?:", link) or (page.parent / link).exists(), link


def test_links_to_notebooks_lead_to_their_pages() -> None:
    lead = documentation.on_page_markdown
    assert lead("[a](../notebooks/04_tune.ipynb)") == "[a](notebooks/04_tune.md)"
    assert lead("[a](../../notebooks/04_tune.ipynb)") == "[a](../notebooks/04_tune.md)"
    assert lead("[a](../notes/04_tune.ipynb)") == "[a](../notes/04_tune.ipynb)"


@pytest.mark.parametrize(
    "page",
    [
        '<script src="https://cdn.example/tex.js"></script>',
        '<link rel="stylesheet" href="//fonts.example/css">',
        '<link rel="dns-prefetch preconnect" href="https://fonts.example">',
        '<img alt="" src="http://example.org/badge.svg">',
        '<img srcset="small.png 1x, https://example.org/large.png 2x">',
        "<style>@import 'https://fonts.example/css';</style>",
        '<p style="background: url(https://example.org/a.png)">',
    ],
)
def test_a_request_elsewhere_is_seen(page: str) -> None:
    assert len(documentation.requests_elsewhere(page, ".html")) == 1


def test_what_asks_for_nothing_elsewhere_is_let_through() -> None:
    page = '<a href="https://example.org">x</a><img src="a.png"><link rel="canonical" href="//x.y">'
    assert not documentation.requests_elsewhere(page, ".html")


def test_the_sources_ask_for_nothing_elsewhere() -> None:
    assert CONFIG["theme"]["font"] is False
    for asset in CONFIG["extra_css"] + CONFIG["extra_javascript"]:
        assert (DOCS / asset).is_file()
    for style in DOCS.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert not documentation.requests_elsewhere(text, ".css")
        for asked in re.findall(r"url\(([^)]+)\)", text):
            assert (style.parent / asked).is_file(), asked
    for page in PAGES:
        text = prose(page.read_text(encoding="utf-8"))
        assert not re.search(r"!\[[^\]]*\]\((?:https?:)?//", text), page
        assert not documentation.requests_elsewhere(text, ".html"), page


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_formulas_read_alike_on_the_site_and_in_the_repository(page: Path) -> None:
    """GitHub takes markdown's own signs out of formulas, or for its own, before it sets them."""
    text = page.read_text(encoding="utf-8")
    assert prose(text).count("$") % 2 == 0
    assert "$" not in IN_A_LINE.sub("", DISPLAYED.sub("", prose(text)))
    for formula in formulas(text):
        assert not MISREAD.search(formula), formula
        for name in re.findall(r"\\([a-zA-Z]+)", formula):
            assert name in MACROS, f"{name} in {formula}"
        assert formula == formula.strip(), formula
        assert formula.count("{") == formula.count("}"), formula
        assert len(re.findall(r"\\left\b", formula)) == len(re.findall(r"\\right\b", formula))
    # A row that begins so begins a list or a heading.
    for shown in DISPLAYED.findall(text):
        assert not re.search(r"^\s*(?:[-+=>#]|\d+[.)]|$)", shown, re.MULTILINE), shown


@pytest.mark.parametrize(
    ("tex", "plain"),
    [
        (r"\frac{\alpha R^2}{T} \le 2", "(α R^2)/T ≤ 2"),
        (r"\frac1{2p_0'}", "1/(2p_0')"),
        (r"2 \sqrt{b p_0}/R_0", "2 √(b p_0)/R_0"),
        (r"\lvert h''\rvert < \Im D \cos v", "|h″| < Im D cos v"),
        (r"\tau_{\text{target}}, \qquad p \to 0", "τ_target, p → 0"),
    ],
)
def test_formulas_are_searched_as_one_would_type_them(tex: str, plain: str) -> None:
    assert in_words.typed(tex) == plain


def test_what_is_searched_of_a_page_has_no_tex() -> None:
    page = r"<p>With \(\mu &lt; 1\):</p> \[ \begin{aligned} a &amp;= b \end{aligned} \] <p>is.</p>"
    assert in_words.searched(page) == "<p>With μ &lt; 1:</p> … <p>is.</p>"
    assert in_words.searched('printf("a\\n"); f(x)') == 'printf("a\\n"); f(x)'


def test_every_explanation_shows_a_picture_that_says_what_it_is() -> None:
    (explained,) = (one["Explanation"] for one in CONFIG["nav"] if "Explanation" in one)
    for page in entries(explained):
        text = prose((DOCS / page).read_text(encoding="utf-8"))
        shown = re.findall(r"^!\[([^\]]+)\]\(([^)]+\.png)\)$", text, re.MULTILINE)
        assert shown, page
        for said, place in shown:
            assert len(said) > 20, said
            assert ((DOCS / page).parent / place).is_file(), place


def test_no_picture_lies_about_unshown() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in [ROOT / "README.md", *PAGES])
    for picture in (DOCS / "images").iterdir():
        assert f"images/{picture.name}" in text, picture


def test_a_picture_opens_in_full_size_unless_it_leads_elsewhere() -> None:
    lead = documentation.on_page_content
    assert lead('<p><img alt="a" src="b.png" /></p>') == (
        '<p><a class="picture" href="b.png" title="Full size"><img alt="a" src="b.png" /></a></p>'
    )
    thumbnail = '<p><a href="b.html"><img alt="a" src="b.png" /></a></p>'
    assert lead(thumbnail) == thumbnail


def test_parameters_described_together_are_taken_apart() -> None:
    pytest.importorskip("griffe")
    from defaults import one_by_one

    said = "Parameters\n----------\n{}\nother : int\n    More.\n\nNotes\n-----\na, b\n    Stay."
    together, apart = (
        "a, b\n    Gains.\n    In Hz.",
        "a\n    Gains.\n    In Hz.\nb\n    Gains.\n    In Hz.",
    )
    assert one_by_one(said.format(together)) == said.format(apart)
