"""Test the page on which people take the test: what is in it, and how a person works on it."""

import json

import pytest

from speechiq.core.clip import file_clip
from speechiq.core.errors import SpeechIQError
from speechiq.reducer.output.page import review as pages
from speechiq.siq_tasks.catalog.data_sets import list_clips
from speechiq.siq_tasks.questions.exam import Asked, build_exam, read_saved

COMMAND = "siq eval people:NAME.jsonl --tasks siq_demo --output runs/people"
OPTIONS = ("<img src=x onerror='window.hacked=1'>", "a strike", "a fine", "a price", "None of the above")
LISTED = sorted(list_clips("demo"), key=lambda clip: clip["duration"])[:2]
FIRST, SECOND = (file_clip(clip, clip["id"]) for clip in LISTED)
EXAM = build_exam(
    [Asked(FIRST), Asked(SECOND), Asked(FIRST, "q1", "Why?", OPTIONS), Asked(FIRST, "q2", "Who?", OPTIONS[1:])]
)


@pytest.fixture
def page(tmp_path):
    file = tmp_path / "exam.html"
    file.write_text(pages.render_exam(EXAM, ["siq_demo"], COMMAND), encoding="utf-8")
    return file


def test_the_data_has_neither_references_nor_right_letters():
    described = pages.describe_exam(EXAM.clips)
    first, second = described["clips"]
    assert {*first} == {"id", "digest", "questions"} and len(second["questions"]) == 0
    assert {*first["questions"][0]} == {"id", "digest", "text", "options"}
    text = json.dumps(described)
    assert not any(clip["text"][:30] in text for clip in LISTED)


def test_the_page_has_its_sounds_inside_and_names_what_it_is_for(page):
    text = page.read_text(encoding="utf-8")
    assert "siq_demo (2 clips, 2 questions)" in text and COMMAND in text
    assert "default-src &#39;none&#39;" in text or "default-src 'none'" in text
    assert "http" not in text.split("<body>")[1].split("<script")[0]


def test_too_much_sound_for_a_page_is_refused(monkeypatch):
    monkeypatch.setattr(pages, "LARGEST", 1000)
    with pytest.raises(
        SpeechIQError, match=r"exam of 2 clips: the sound of 1 of them .*choose fewer clips with --limit"
    ):
        pages.render_exam(EXAM, ["siq_demo"], COMMAND)


def test_a_person_listens_writes_answers_comes_back_and_saves(page, open_page, tmp_path):
    here = open_page(page)
    tab = here.tab
    count, field = tab.locator("#exam-count"), tab.locator("#exam-clip textarea")
    assert count.inner_text() == "0 of 2 clips written down, 0 of 2 questions answered"
    assert tab.locator("#exam-clip fieldset").count() == 0
    field.press("Escape")
    tab.locator(".plays", has_text="Played 1 time").wait_for()
    field.press("Escape")
    field.press("Escape")
    assert tab.locator(".plays").inner_text() == "Played 1 time"
    tab.click("#exam-finish")
    assert "press again if you understood nothing" in count.inner_text() and field.is_editable()
    field.fill("so it goes <b>on")
    tab.click("#exam-finish")
    assert not field.is_editable() and tab.locator("#exam-clip fieldset").count() == 2
    tab.keyboard.press("Space")
    here.open()
    assert tab.locator("#exam-clip input:checked").input_value() == "A" and field.input_value() == "so it goes <b>on"
    assert "1 of 2 clips written down, 1 of 2 questions answered" in count.inner_text()
    tab.click("#exam-save")
    assert "Enter your name or code first" in count.inner_text()
    tab.fill("#exam-person", "Ana + 4, é")
    saved = tmp_path / "ana.jsonl"
    saved.write_text(here.download(tab.locator("#exam-save")), encoding="utf-8")
    assert "Saved as Ana_4_é.jsonl, but 2 clips are not finished" in count.inner_text()
    answers = read_saved(saved)
    assert answers.person == "Ana + 4, é" and answers.find_transcript(FIRST).text == "so it goes <b>on"
    assert answers.find_transcript(FIRST).plays == 1 and answers.find_transcript(SECOND).plays == 0
    assert answers.find_letter(FIRST, "Why?", OPTIONS) == "A" and answers.find_letter(FIRST, "Who?", OPTIONS[1:]) == ""
    tab.locator("#exam-clip fieldset").nth(1).locator("input").nth(3).check()
    tab.click("#exam-pages >> text=Next")
    field.fill("and on")
    tab.click("#exam-finish")
    assert count.inner_text().endswith("2 of 2 questions answered: save your answers")
    tab.on("dialog", lambda dialog: dialog.accept())
    tab.click("#exam-clear")
    assert count.inner_text() == "0 of 2 clips written down, 0 of 2 questions answered"
    assert field.input_value() == "" and tab.input_value("#exam-person") == ""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everyone_can_read_the_page(page, open_page, theme):
    here = open_page(page, color_scheme=theme, bypass_csp=True, viewport={"width": 390, "height": 900})
    for state in ("a transcript", "questions"):
        assert here.find_barriers() == [], state
        if state == "a transcript":
            here.tab.fill("#exam-clip textarea", "so it goes")
            here.tab.click("#exam-finish")
