"""The page as a person meets it, in a real browser without a network."""

from __future__ import annotations

import csv
import json
from itertools import pairwise
from urllib.parse import quote

import pytest

from speechiq.reducer.output.page import build as report
from speechiq.reducer.output.page import page
from speechiq.reducer.studies import unanswerable
from tests.reducer.browser import Visit
from tests.reducer.output.page.conftest import HOSTILE, NAME, SIZES, TEXTS, write_system


def names(visit) -> list[str]:
    return visit.tab.locator("#standings tbody tr:visible .setup bdi").all_inner_texts()


def test_what_models_wrote_stays_text(visit):
    here = visit(fragment=f"#clip/{quote(HOSTILE, safe='')}")
    here.see_all()
    here.tab.locator(".detail .transcript").first.wait_for()
    here.tab.evaluate("document.body.append(Object.assign(document.createElement('script'), {text: 'hacked = 3'}))")
    here.expected = ("Content Security Policy",)
    assert here.tab.locator("img, main script").count() == 0
    assert NAME in names(here) and NAME in here.tab.locator("#profiles .ytick").all_text_contents()
    assert HOSTILE in here.tab.locator("#standings .encoder").all_inner_texts()
    written = here.tab.locator(".detail .transcript", has_text=NAME)
    written.locator("summary").click()
    assert HOSTILE in written.locator("details p").inner_text()


@pytest.mark.parametrize(("size", "theme"), [("desk", "light"), ("phone", "dark")])
def test_everyone_can_read_it(visit, size, theme):
    here = visit(viewport=SIZES[size], color_scheme=theme, bypass_csp=True, fragment="#clip/set%2Ftwo")
    here.tab.locator(".detail").wait_for()
    here.see_all()
    here.tab.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    assert here.find_barriers() == []


def test_the_leaderboard_sorts_and_filters(kept):
    here = kept("#leaderboard")
    by_rank = names(here)
    assert by_rank[-1] == "gold+thinker", "a control is last"
    head = here.tab.locator("#standings th", has_text="Remember")
    head.locator("button").press("Enter")
    assert head.get_attribute("aria-sort") == "ascending" and names(here)[0] == "a/good+thinker"
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending" and names(here)[2:] == ["a/good+thinker", "gold+thinker"]
    here.tab.locator("#standings th[data-column=rank] button").click()
    assert names(here) == by_rank
    here.tab.fill("#leaderboard input[type=search]", "POOR")
    assert names(here) == ["b/poor+thinker"]
    assert here.tab.locator("#leaderboard .count").inner_text() == "1 of 4 systems"
    here.tab.fill("#leaderboard input[type=search]", "")
    here.tab.select_option("#leaderboard select[data-filter=type]", "Control")
    assert names(here) == ["gold+thinker"]
    here.tab.fill("#leaderboard input[type=search]", "no such system")
    assert here.tab.get_by_text("No system matches").is_visible()


def test_charts_have_the_colors_of_the_theme_and_what_the_reader_chooses(visit):
    here = visit(color_scheme="light")
    here.see_all()
    titles = lambda: here.tab.locator("#tradeoffs .xtitle").all_text_contents()  # noqa: E731
    assert titles() == ["Parameters, billion"] * 4
    here.tab.select_option("#tradeoffs select", "RTFx, transcribing")
    here.tab.locator("#tradeoffs-apply .xtitle", has_text="RTFx").wait_for()
    assert titles() == ["RTFx, transcribing"] * 4
    colors = "[getComputedStyle(document.body).backgroundColor, document.querySelector('#bell .js-line').style.stroke]"
    light = here.tab.evaluate(colors)
    here.tab.click("#theme")
    here.tab.wait_for_function(f"(before) => JSON.stringify({colors}) !== before", arg=json.dumps(light))
    here.tab.locator("#bell .textpoint", has_text="gold").wait_for()
    here.tab.locator("#tradeoffs-siq :is(.textpoint, .annotation-text)", has_text="good").wait_for()
    assert titles() == ["RTFx, transcribing"] * 4
    assert all(before != after for before, after in zip(light, here.tab.evaluate(colors), strict=True))
    here.open()
    assert here.tab.evaluate(colors.replace(", document", ", null && document"))[0] != light[0], "the choice is kept"


LABELS_OF = r"""(id) => {
  const list = document.querySelector(`[data-unlabeled="${id}"]`)?.textContent ?? "";
  const shown = [...document.getElementById(id).querySelectorAll(".textpoint, .annotation-text")];
  return new Set([...shown.map((one) => one.textContent), list].join(" ").match(/recognizer-\d+/g)).size;
}"""


def test_each_mark_has_its_label_where_marks_touch(chromium, tmp_path):
    for number in range(12):
        change = lambda clip, text, number=number: text if clip[-1] == "r" else text[: -4 * (number // 3) or None]  # noqa: E731
        write_system(tmp_path / str(number), f"owner/recognizer-{number}+thinker", change, "BBBBA"[number % 2 :])
    report.write_report(report.build_report([tmp_path], bootstrap=0), tmp_path / "report.html")
    for size in SIZES.values():
        here = Visit(chromium, tmp_path / "report.html", viewport=size)
        for chart in ("bell", "similarity", "accuracy"):
            here.tab.locator(f"#{chart}").scroll_into_view_if_needed()
            here.tab.wait_for_function(f"(id) => ({LABELS_OF})(id) === 12", arg=chart)
        here.close()


def test_a_clip_is_found_played_and_compared(kept):
    here = kept("#clips")
    here.tab.fill("#clip-search", "LISINOPRIL")
    here.tab.locator("#clip-count", has_text="1 of 5 clips").wait_for()
    here.tab.fill("#clip-search", "no such words")
    here.tab.locator("#clip-table", has_text="No clip matches").wait_for()
    here.tab.click("#deciding a.to-clip:has-text('demo/kennedy') >> nth=0")
    written = here.tab.locator(".detail .transcript", has_text="b/poor+thinker")
    written.wait_for()
    changed = [written.locator(mark).all_inner_texts() for mark in ("ins", "del")]
    assert changed == [["yellow"], ["fellow"]]
    assert "audio coverage 50 %" in written.inner_text()
    assert here.tab.locator(".detail .reference").inner_text() == TEXTS["demo/kennedy"]
    assert here.tab.locator(".options .right").first.inner_text().startswith("(B) cod")
    length = here.tab.locator(".detail audio").evaluate(
        "(one) => new Promise((done) => { one.onloadedmetadata = () => done(one.duration); one.preload = 'metadata'; })"
    )
    assert length == pytest.approx(11.0, abs=0.1)


def test_links_and_marks_lead_to_the_clip(kept):
    here = kept("#clips")
    opened, closed = (
        here.tab.locator(f"[data-clip='demo/kennedy'][aria-expanded={is_open}]") for is_open in ("true", "false")
    )
    link = here.tab.locator("#deciding a.to-clip", has_text="kennedy").first
    for _ in range(2):
        link.click()
        opened.click()
        closed.wait_for()
    here.tab.locator("#clips-wer").scroll_into_view_if_needed()
    here.tab.locator("#clips-wer .point").first.click(force=True)
    here.tab.locator("#clip-table [aria-expanded=true]").wait_for()


def test_a_review_is_kept_exported_and_confirmed(visit, tmp_path):
    here = visit()
    card = here.tab.locator("#review .card")
    card.wait_for()
    count = int(card.locator(".head").inner_text().split(" of ")[1].split()[0])
    assert count >= 2 and card.count() == 1
    here.tab.keyboard.press("1")
    assert here.tab.locator("#review-count").inner_text() == f"0 of {count} judged", "keys work in the review alone"
    save = here.tab.locator("#review-save")
    unjudged = [json.loads(line) for line in here.download(save).splitlines()]
    assert len(unjudged) == count and all((row["verdict"], row["note"]) == (None, "") for row in unjudged)
    assert card.locator(".revealed").count() == 0
    card.get_by_label("Unanswerable").check()
    assert "(B) \u2713" in card.locator(".revealed").inner_text()
    card.get_by_label("Note").fill("says <nothing> of it")
    for _ in range(1, count):
        card.locator(".next").click()
        here.tab.keyboard.press("3")
    here.open()
    card.wait_for()
    assert here.tab.locator("#review-count").inner_text() == f"{count} of {count} judged: save the file"
    file = tmp_path / "review.jsonl"
    file.write_text(here.download(save), encoding="utf-8")
    first = json.loads(file.read_text(encoding="utf-8").splitlines()[0])
    assert (first["verdict"], first["note"]) == ("unanswerable", "says <nothing> of it")
    confirmed = unanswerable.confirm(file)
    assert confirmed["reviewed"] == count and len(confirmed["questions"]) == 1


def test_pages_of_a_list_turn_by_keyboard(visit, tmp_path):
    texts = {f"set/{number:02}": TEXTS["set/two"] for number in range(30)}
    for name, letters in (("a", "B"), ("b", 19 * "B" + "C")):
        change = lambda clip, text, name=name: f"{name} {text}" * (name == "b")  # noqa: E731
        write_system(tmp_path / name, name, change, letters, texts=texts)
    report.write_report(report.build_report([tmp_path], bootstrap=0), tmp_path / "report.html")
    here = visit(tmp_path / "report.html")
    for section, pages in (("review", 3), ("clips", 2)):
        here.tab.locator(f"#{section}").scroll_into_view_if_needed()
        here.tab.locator(f"#{section} nav.pages button", has_text="Next").focus()
        for turned in range(2, pages + 1):
            here.tab.keyboard.press("Enter")
            here.tab.locator(f"#{section} .pages", has_text=f"{turned} of {pages}").wait_for()
            held = "Next" if turned < pages else "Previous"
            here.tab.locator(f"#{section} nav.pages button:focus", has_text=held).wait_for()


def test_on_a_phone_nothing_covers_a_heading_or_a_number(kept):
    here = kept("#clips", size="phone")
    here.see_all()
    heads = here.tab.locator("#clip-table thead button:visible").all()
    boxes = [head.bounding_box() for head in heads]
    assert len(boxes) == 4
    assert all(left["x"] + left["width"] <= right["x"] for left, right in pairwise(boxes))
    z = here.tab.locator("#profiles .xtick").all_text_contents()
    assert any(tick.startswith(page.MINUS) for tick in z) and "0" in z
    chart, title = (here.tab.locator(f"#profiles {part}").bounding_box() for part in (".main-svg >> nth=0", ".xtitle"))
    assert chart["x"] <= title["x"] and title["x"] + title["width"] <= chart["x"] + chart["width"]
    assert NAME in here.tab.locator("#profiles .annotation-text").all_text_contents()


def test_on_a_phone_the_table_comes_before_the_facts_of_the_runs(kept):
    top = "(one) => one.getBoundingClientRect().top + scrollY"
    tops = {}
    for size in SIZES:
        here = kept(size=size)
        tops[size] = [here.tab.locator(part).evaluate(top) for part in ("#standings", ".made")]
    assert tops["phone"][0] < SIZES["phone"]["height"] and tops["phone"][0] < tops["phone"][1]
    assert tops["desk"][1] < tops["desk"][0]


@pytest.mark.parametrize("size", SIZES)
def test_notes_below_tables_take_three_lines_and_open(kept, size):
    here = kept(size=size)
    lines = "(note) => note.getBoundingClientRect().height / parseFloat(getComputedStyle(note).lineHeight)"
    notes = here.tab.locator(".notes > .note:visible")
    assert notes.count() >= 3 and max(note.evaluate(lines) for note in notes.all()) < 3.1
    first = here.tab.locator("#leaderboard .notes")
    assert not first.get_by_text("bootstrap samples of clips").is_visible()
    first.get_by_text("More notes").click()
    assert first.get_by_text("bootstrap samples of clips").is_visible()
    cut = "(note) => note.scrollHeight - note.clientHeight"
    assert max(note.evaluate(cut) for note in first.locator(".note:visible").all()) <= 1


def test_on_paper_everything_is_there_and_light(visit):
    here = visit(color_scheme="dark")
    here.tab.locator("#clips-wer .point").first.wait_for(state="attached")
    here.tab.locator("#clip-table tbody tr").first.wait_for(state="attached")
    here.tab.emulate_media(media="print", color_scheme="dark")
    here.tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert here.tab.locator(".chart svg.main-svg").count() >= here.tab.locator(".chart").count()
    assert here.tab.locator("#review .card:visible").count() >= 2
    assert here.tab.locator("#clip-table tbody tr").count() == 5
    assert here.tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(253, 253, 252)"
    width = "(one) => one.scrollWidth - one.clientWidth"
    assert here.tab.locator(".scroll").first.evaluate(width) <= 1
    here.tab.evaluate("dispatchEvent(new Event('afterprint'))")
    assert here.tab.locator("html.printing").count() == 0


def test_charts_and_tables_are_saved(kept):
    here = kept("#leaderboard")
    assert here.download(here.tab.get_by_label("Save the chart bell as SVG")).startswith("<svg")
    assert here.download(here.tab.get_by_label("Save the chart bell as PNG"))[1:4] == "PNG"
    table = here.download(here.tab.get_by_label("Save the table leaderboard as CSV"))
    rows = list(csv.DictReader(table.splitlines()))
    assert [row["System"] for row in rows] == [name.strip() for name in names(here)]
    assert (rows[-1]["Rank"], rows[-1]["System"]) == ("", "gold+thinker") and rows[0]["Rank"] == "1"
    assert float(rows[0]["Remember, WER %"]) >= 0 and float(rows[0]["SIQ"]) > 0


def test_a_saved_table_has_whole_names_and_plain_headings(visit, tmp_path):
    stages = "+a_very_long_name_of_a_corrector+another_long_name_of_a_thinker"
    for number, letters in enumerate(("BBBBBBBBBA", "BAEBBACDBA", "?BA")):
        name = f"owner/recognizer-{number}-with-a-name-that-is-long{stages}"
        drop = lambda clip, text, number=number: text[3 * number :]  # noqa: E731
        write_system(tmp_path / str(number), name, drop, letters)
    report.write_report(report.build_report([tmp_path], bootstrap=50), tmp_path / "report.html")
    here = visit(tmp_path / "report.html")
    saved = {}
    for table in ("leaderboard", "firmness"):
        text = here.download(here.tab.get_by_label(f"Save the table {table} as CSV"))
        saved[table] = list(csv.DictReader(text.splitlines()))
    shown, stable = ({row["System"] for row in rows} for rows in saved.values())
    assert shown == stable and all(stages in name for name in shown)
    assert "Largest shift, SIQ" in saved["firmness"][0]
    assert "without …" in here.tab.locator("#firmness thead").inner_text()


def test_links_say_what_the_headings_say_and_the_head_says_what_it_is(kept):
    here = kept()
    for link in here.tab.locator(".top-links a").all():
        heading = here.tab.locator(f"{link.get_attribute('href')} h2")
        assert heading.inner_text() == link.inner_text()
    head = here.tab.locator(".made").inner_text()
    assert "demo (1 clip)" in head and "1970-01-01" in head and "speechiq" in head


def test_without_scripts_the_tables_are_there(visit):
    here = visit(java_script_enabled=False)
    assert len(names(here)) == 4
    assert here.tab.get_by_text("5 clips; showing them needs JavaScript.").is_visible()
