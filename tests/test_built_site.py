"""The site that `make docs` built: it opens from files, is accessible in both schemes, and its search finds options."""

import string
from pathlib import Path

import pytest

from tests.reducer.browser import list_violations
from tests.test_docs import ROOT
from tools.screenshots import chromium

pytestmark = [pytest.mark.checks, pytest.mark.slow]
SITE = ROOT / "site"
#: Without the report, which has tests of its own, and the page of a server for addresses that do not exist.
PAGES = sorted({*SITE.rglob("*.html")} - {*SITE.glob("example/*"), SITE / "404.html"})
SIZES = {"desk": {"width": 1300, "height": 900}, "phone": {"width": 390, "height": 844}}


@pytest.fixture(scope="module")
def browser():
    if not PAGES:
        pytest.skip("site/: not built; run `make docs`")
    with chromium() as program:
        yield program


@pytest.fixture
def open_tab(browser):
    """Return a function that opens a tab; at the end, no tab has had an error or asked a server."""
    faults, contexts = [], []

    def open_one(scheme="light", size="desk"):
        context = browser.new_context(color_scheme=scheme, viewport=SIZES[size], reduced_motion="reduce")
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda line: line.type in ("error", "warning") and faults.append(line.text))
        tab.on("pageerror", lambda error: faults.append(str(error)))
        tab.on("request", lambda asked: asked.url.startswith("http") and faults.append(asked.url))
        return tab

    yield open_one
    for context in contexts:
        context.close()
    assert not faults


def find_faults(tab, page: Path, **rules: bool) -> list[str]:
    tab.goto(page.as_uri())
    return [f"{page.relative_to(SITE)}: {violation}" for violation in list_violations(tab, **rules)]


def test_no_page_shows_the_markdown_of_a_table():
    if not PAGES:
        pytest.skip("site/: not built; run `make docs`")
    assert [page.name for page in PAGES if "\n|--" in page.read_text(encoding="utf-8")] == []


def test_every_page_is_accessible(open_tab):
    tab = open_tab()
    assert [fault for page in PAGES for fault in find_faults(tab, page, colors=False)] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_colors_of_the_style_sheet_are_accessible(open_tab, scheme):
    """Look at every seventh page: all have the colors of one style sheet."""
    tab = open_tab(scheme)
    assert [fault for page in PAGES[::7] for fault in find_faults(tab, page)] == []


@pytest.mark.parametrize("page", ["index.html", "concepts/siq.html", "reference/commands.html"])
def test_a_page_is_accessible_and_fits_on_a_phone(open_tab, page):
    tab = open_tab(size="phone")
    assert find_faults(tab, SITE / page) == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= SIZES["phone"]["width"]


@pytest.fixture
def search(open_tab):
    """Return the field of the search, as soon as the theme has an index for what is typed."""
    tab = open_tab()
    tab.goto(SITE.joinpath("index.html").as_uri())
    query = tab.locator("[data-md-component=search-query]")
    query.click()
    tab.get_by_text("Type to start searching").wait_for()
    return query


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ("--limit", "reference/commands.html#siq-eval---limit"),
        ("--norms", "reference/commands.html#siq-score---norms"),
        ("siq study predict", "reference/commands.html#siq-study-predict"),
        ("read_systems", "reference/python_results.html#speechiq.read_systems"),
    ],
)
def test_the_search_finds(search, words, place):
    search.press_sequentially(words)
    path, _, anchor = place.partition("#")
    search.page.locator(f".md-search-result__link[href*='{path}'][href$='#{anchor}']").first.wait_for(state="attached")


def test_every_first_letter_finds_pages(search):
    for letter in string.ascii_lowercase + string.digits:
        search.clear()
        search.press_sequentially(letter)
        search.page.locator(f".md-search-result__link[href*='?h={letter}']").first.wait_for(state="attached")


def test_formulas_are_mathematics(open_tab):
    tab = open_tab()
    tab.goto(SITE.joinpath("concepts/siq.html").as_uri())
    assert tab.locator("math[display=block] mfrac").count() >= 3 and not tab.get_by_text("\\frac").count()
