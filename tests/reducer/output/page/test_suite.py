"""The section of a suite: what the judge wrote, the filter of answers, and spoken replies with their players."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from speechiq.core.recordings.audio_file import save_samples
from speechiq.siq_tasks.loaders import bundled
from tests.commands import siq
from tests.reducer.judged_runs import JUDGE, judged_row, write_judged


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    """A page of two systems; one refuses once, and one answer of the other is unjudged."""
    place = tmp_path_factory.mktemp("judged")
    for system, shift in (("good", 3), ("bad", 0)):
        rows = [judged_row(f"talks/{i}", "q", [i % 3 + shift, i % 3 + shift], f1=(i % 3 + shift) / 5) for i in range(8)]
        if system == "good":
            rows[2] = judged_row("talks/2", "q", [None, None], answer="<b>bold</b>")
        else:
            rows[5] |= {"refusal": 1.0}
            rows[6] |= {"exact_match": 1.0, "judge": 0.0}
        write_judged(place / system, rows, system)
    siq("score", place, "-o", place / "r.html", "--bootstrap", 100)
    return place / "r.html"


def test_it_has_what_the_judge_wrote_and_its_figures(page):
    text = page.read_text()
    assert "reliability of the judge" in text and "judge: 4, 4" in text and "judge: no score, no score" in text
    assert "no number here" in text and "&lt;b&gt;bold&lt;/b&gt;" in text and "<b>bold" not in text
    assert "judged by openai:gpt-4o, rubric grade_0_5 v1, 3 judgments" in text and "1 of 8 unjudged" in text
    assert "The answers on which judge and rule differ most" in text
    assert "What is q? | the right one" in text, "the question and its reference"


def test_answers_are_filtered(page, open_page):
    here = open_page(page)
    tools = here.tab.locator(".tools[data-marks]")
    here.tab.locator("details.as-table summary", has_text="Every item").click()
    rows = here.tab.locator("#suite-listening-items-answers tbody tr")
    assert rows.count() == 8 and tools.locator(".count").inner_text() == "8 of 8 items"
    for mark, item in (("unjudged", "talks/2"), ("refusal", "talks/5"), ("differs", "talks/6")):
        tools.locator("select").select_option(mark)
        visible = [row for row in rows.all() if row.is_visible()]
        assert len(visible) == 1 and item in visible[0].inner_text()
        assert tools.locator(".count").inner_text() == "1 of 8 items"
    tools.locator("select").select_option("")
    assert all(row.is_visible() for row in rows.all())


NAMES = ("demo_reply/bread", "demo_reply/kennedy")
QUERIES = [
    clip | {"checklist": "Gives a time of about one to two hours."}
    for clip in bundled.list_clips("wildspeech/demo")
    if clip["id"] in NAMES
]
MEASURE = {"column": "judge_points", "direction": "higher", "unit": "points 1-10", "range": [1, 10]}
LOAD = """(player) => new Promise((done) => {
    player.onloadedmetadata = () => done(player.duration);
    player.onerror = () => done(-1);
    player.load();
})"""


def reply_row(query, audio):
    """Return the row of a reply, spoken as the clip `audio` or only written."""
    said = {"answer": "Two ours.", "written": "Two hours.", "audio": audio, "scores": [7.0], "texts": ["Score: 7"]}
    said |= {"scores_written": [8.0], "texts_written": ["Score: 8"], "coverage": 1.0}
    said |= {"speech_quality": 3.25} if audio else {"answer": "Two hours.", "speech_quality": None}
    row = judged_row(query["id"], query["id"], [7.0], filtered_resps=[json.dumps(said)])
    doc = {"question": query["text"], "text": query["text"], "answer": "", "checklist": query["checklist"]}
    doc |= {"audio": {"path": query["path"], "sha256": query["sha256"], "duration": query["duration"]}}
    doc |= {} if audio else {"language_rule": "lowest"}
    row |= {"not_english": 1.0}
    return row | {"doc": row["doc"] | doc | {"reply": {"reply_asr": "x"}}, "speech_text_wer": 0.5 if audio else None}


@pytest.fixture(scope="module")
def replies_page(tmp_path_factory):
    """Return a page of a system with a voice, one whose speech was removed, and one that only writes."""
    place = tmp_path_factory.mktemp("replies")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SIQ_CACHE", str(place / "cache"))
        tone = (0.1 * np.sin(np.arange(32_000))).astype(np.float32)
        spoken = save_samples(tone, "a") | {"duration": 2.0}
        systems = {"speaks": spoken, "lost": spoken | {"path": "clips/lost.flac"}, "writes": None}
        for system, audio in systems.items():
            rows = [reply_row(query, audio) for query in QUERIES]
            write_judged(place / system, rows, system, JUDGE | {"judge_rubric": "points_1_10"}, measure=MEASURE)
        siq("score", place, "-o", place / "r.html", "--bootstrap", 0)
    return place / "r.html"


def test_question_and_reply_play_beside_transcript_written_text_checklist_and_scores(replies_page, open_page):
    here = open_page(replies_page)
    here.tab.locator("details.as-table summary", has_text="Every item").click()
    head = here.tab.locator("#suite-listening-items-answers thead th").all_inner_texts()
    row = here.tab.locator("#suite-listening-items-answers tbody tr", has_text=QUERIES[0]["text"])
    asked, *replies = row.locator("td").all()
    assert asked.inner_text().count(QUERIES[0]["text"]) == 1 and QUERIES[0]["checklist"] in asked.inner_text()
    assert asked.locator("audio").evaluate(LOAD) == pytest.approx(QUERIES[0]["duration"], abs=0.1)
    by_system = dict(zip(head[2:], replies, strict=True))
    speaks, lost, writes = (by_system[name].inner_text() for name in ("speaks", "lost", "writes"))
    assert by_system["speaks"].locator("audio").evaluate(LOAD) == pytest.approx(2, abs=0.1)
    words = ("7.00 Transcript: Two ours.", "Written: Two hours.", "2.0 s of speech", "quality 3.25", "WER", "50.0")
    assert all(each in speaks for each in words), speaks
    assert "written: 8.00 points" in speaks and "not on this machine" not in speaks
    assert "Written: Two hours." in lost and "its audio is not on this machine" in lost
    assert "not in English: the lowest points" in writes and "not in English" not in speaks
    assert "written only" in writes and "Transcript" not in writes and "Written:" not in writes
    assert by_system["lost"].locator("audio").count() == by_system["writes"].locator("audio").count() == 0


def test_players_have_their_buttons_on_a_narrow_screen(replies_page, open_page):
    here = open_page(replies_page, viewport={"width": 360, "height": 740})
    here.tab.locator("details.as-table summary", has_text="Every item").click()
    assert all(player.bounding_box()["width"] >= 200 for player in here.tab.locator("audio").all())
    assert here.tab.evaluate("document.documentElement.scrollWidth") == 360
