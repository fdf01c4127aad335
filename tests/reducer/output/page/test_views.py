"""Views of the page that an address names: a system, two systems, filtered clips; and the page on paper."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from speechiq.reducer.output.page import figures, page
from speechiq.reducer.output.page.browser import charts
from speechiq.reducer.output.page.study import gather_report
from speechiq.reducer.output.scoreboard_records import rows_of
from speechiq.reducer.studies.compare import verdict
from speechiq.reducer.studies.comparison import compare_scores
from tests.reducer.output.page.conftest import SIZES
from tests.reducer.output.page.test_page import names

SYSTEM = f"#system/{quote('b/poor+thinker', safe='')}"
PAIR = f"#compare/{quote('b/poor+thinker', safe='')}/{quote('gold+thinker', safe='')}"
TOP = "(one) => one.getBoundingClientRect().top"


#: Size and address -> what it leads to, and how far below the top: below the bar, and a clip below the heads of its
#: columns.
PLACES = {
    ("phone", SYSTEM): ("#systems", 64),
    ("desk", PAIR): ("#compare", 64),
    ("phone", "#clip/set%2Ftwo"): ("[data-clip='set/two']", 64 + 44),
    ("desk", "#clips?q=tablet"): ("#clips", 64),
    ("phone", "#firmness"): ("#firmness", 64),
    ("desk", "#review"): ("#review", 64),
}


@pytest.mark.parametrize(("size", "address"), PLACES)
def test_a_fresh_page_lands_on_what_its_address_names(visit, size, address):
    here = visit(viewport=SIZES[size], fragment=address)
    here.tab.locator("html[data-drawn]").wait_for(state="attached")
    target, top = PLACES[size, address]
    at_end = here.tab.evaluate("innerHeight + scrollY >= document.body.scrollHeight - 2")
    assert at_end or here.tab.locator(target).evaluate(TOP) == pytest.approx(top, abs=2)


def test_a_system_has_a_page_of_its_own(kept):
    here = kept()
    here.tab.locator("#standings a", has_text="poor").click()
    shown = here.tab.locator(".system:visible")
    assert shown.count() == 1 and here.tab.evaluate("location.hash") == SYSTEM
    text = shown.inner_text()
    assert "--model_args 'pretrained=b/poor+thinker,hub_token=***' --tasks t_apply," in text and "secret" not in text
    assert all(words in text for words in ("asr, model", "Remember, WER %", "64 s", "lm-eval 0.4.13", "t_remember"))
    shown.locator("a.to-clip").first.click()
    here.tab.locator(".detail").wait_for()
    here.tab.go_back()
    here.tab.select_option("#system-choice", "gold+thinker")
    assert shown.locator("h3").inner_text().startswith("gold+thinker")
    here.follow("#system/none")
    assert here.tab.get_by_text("No system of this report is called none.").is_visible()


def test_two_systems_are_compared_as_the_command_does(kept, study):
    here = kept(PAIR)
    rows = here.tab.locator("#compare-table tbody tr")
    rows.last.wait_for()
    found = gather_report([study], bootstrap=100)
    comparison = compare_scores(found.scoreboard.pool, "b/poor+thinker", "gold+thinker", draws=100)
    expected = [
        [f"{of.a:z.2f}", f"{of.b:z.2f}", f"{of.value:+z.2f}", f"{of.low:+z.2f} to {of.high:+z.2f}", f"{of.p:.4f}"]
        for of in (row.difference for row in comparison.rows)
    ]
    shown = [row.locator("td").all_inner_texts() for row in rows.all()]
    assert [[cell.replace(page.MINUS, "-") for cell in row[:-1]] for row in shown] == expected
    assert verdict(comparison).lower() in here.tab.locator("#compare-verdict").inner_text().lower()
    first = here.tab.locator("#compare-clips .compared").first
    assert first.locator("summary bdi").inner_text() == comparison.clips[0].clip
    part = float(first.locator("b").first.inner_text().replace(page.MINUS, "-"))
    assert part == pytest.approx(comparison.clips[0].total, abs=0.02)
    assert first.locator(".transcript").count() == 2
    here.tab.click("#compare-swap")
    here.tab.wait_for_function("() => location.hash.startsWith('#compare/gold')")
    mirrored = [row.locator("td").all_inner_texts() for row in rows.all()]
    assert [row[1::-1] for row in mirrored] == [row[:2] for row in shown]
    here.tab.go_back()
    here.tab.wait_for_function("() => document.querySelector('#compare-a').selectedOptions[0].text === 'poor'")
    assert here.tab.locator("#compare-a").get_attribute("title") == "b/poor+thinker"
    assert here.download(here.tab.get_by_label("Save the table of differences as CSV")).startswith("Score,A,B,")


def test_a_view_of_the_clips_can_be_shared_and_left(kept):
    here = kept("#clips?q=the&level=remember&sort=wer&order=descending&system=b%2Fpoor%2Bthinker")
    count = here.tab.locator("#clip-count", has_text="2 of 5 clips")
    count.wait_for()
    assert here.tab.locator("#clip-table th[aria-sort=descending]").inner_text().startswith("Remember")
    here.tab.select_option("#clip-level", "apply")
    here.tab.wait_for_function("() => location.hash.includes('level=apply')")
    here.tab.go_back()
    count.wait_for()
    assert here.tab.locator("#clip-level").input_value() == "remember"
    here.tab.fill("#clip-search", "no such words")
    here.tab.wait_for_function("() => location.hash.includes('q=no+such+words')")
    here.follow("#leaderboard?q=o&type=Cascade&sort=Remember&order=descending")
    assert names(here)[0] == "b/poor+thinker" and len(names(here)) == 2
    here.tab.locator("#standings th", has_text="Apply").locator("button").click()
    assert "sort=Apply" in here.tab.evaluate("location.hash")


NAMELESS = {
    "#compare/gold%2Bthinker/none": "No two systems of this report are called gold+thinker and none.",
    "#clip/%ZZ": "No clip of this report is called %ZZ",
    "#clip/no%2Fsuch": "No clip of this report is called no/such",
    "#clip/toString": "No clip of this report is called toString",
    "#clips?level=constructor": "",
    "#__proto__": "",
    "#constructor": "",
}


def test_an_address_of_nothing_is_named(kept):
    for address, words in NAMELESS.items():
        here = kept(address)
        if words:
            here.tab.get_by_text(words).wait_for()


def test_marks_and_keys_are_explained_on_request(kept, study):
    for figure in charts(found := gather_report([study], bootstrap=0), rows_of(found.scoreboard)).values():
        chart = figure.to_plotly_json()
        for trace in chart["data"]:
            fills = trace.get("marker", {}).get("color")
            if isinstance(fills, list):
                labels = zip(trace["meta"]["labels"], fills, strict=True)
                assert [label for label, fill in labels if fill == figures.PAPER] == ["gold"]
    here = kept()
    marks = here.tab.locator(".marks")
    marks.locator("summary").click()
    legend = marks.inner_text()
    assert all(words in legend for words in ("a control: gold reads the reference", "in 5 % of the cases", "not known"))
    key = here.tab.locator("#suspects td.votes").first
    assert "right: B" not in key.inner_text(), "so that people judge the question first"
    key.locator("summary").click()
    assert "right: B; votes: " in key.inner_text()


def test_every_table_can_be_saved(kept):
    here = kept()
    here.tab.locator("html[data-drawn]").wait_for(state="attached")
    tables = here.tab.locator("main table:visible:not(.answers)").count()
    assert here.tab.locator("main .save:visible", has_text="CSV").count() == tables > 10
    hardest = here.download(here.tab.get_by_label("Save the table hardest-remember as CSV"))
    assert hardest.startswith("Hardest,WER %")
