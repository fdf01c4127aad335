"""A report whose clips lie in a folder beside the page: it works as the page that has them inside."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from urllib.parse import quote

import pytest
from pypdf import PdfReader

from speechiq.core.files.page import PART, name_folder
from speechiq.reducer.output.page import build as report
from speechiq.reducer.output.page import page as pages
from speechiq.reducer.output.page.clips import list_texts
from speechiq.reducer.output.page.study import gather_report
from speechiq.reducer.output.scoreboard_records import rows_of
from tests.commands import refusal, succeed
from tests.records import edit_rows
from tests.reducer.output.page.conftest import HOSTILE, NAME, TEXTS, write_system
from tests.reducer.output.page.test_views import PAIR

CLIP = f"#clip/{quote(HOSTILE, safe='')}"


@pytest.fixture(scope="module")
def patched():
    """Make every clip a part, and put the parts of every report beside its page."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "PART", 1)
        patch.setattr(pages, "LARGEST", 0)
        yield


@pytest.fixture(scope="module")
def folder_page(study, patched, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("folder") / "my report #1.html"
    report.write_report(report.build_report([study], bootstrap=100), path)
    return path


def test_the_page_has_no_texts_and_the_parts_have_no_names_of_clips(folder_page, page_file):
    names = sorted(file.name for file in name_folder(folder_page).iterdir())
    assert len(names) == 2 + len(TEXTS) + 1 and all(map(PART.fullmatch, names))
    parts = [file.read_text() for file in name_folder(folder_page).iterdir()]
    assert all(re.fullmatch(r'takePart\("[a-z]+(-\d)?","[A-Za-z0-9+/=]+"\)\n', part) for part in parts)
    page = folder_page.read_text()
    assert 'id="data-texts-0"' not in page and 'id="data-clips"' not in page and "nonce-" in page
    inside = page_file.read_text()
    assert 'id="data-texts-0"' in inside and "nonce-" not in inside and "data-parts" not in inside


def test_the_same_runs_give_the_same_files(study, folder_page, patched):
    again = report.build_report([study], bootstrap=100)
    assert again.parts == {file.name: file.read_text() for file in name_folder(folder_page).iterdir()}


def test_everything_of_the_one_page_works_and_nothing_else_runs(visit, folder_page):
    here = visit(folder_page, fragment=CLIP)
    here.tab.locator(".detail .transcript").first.wait_for()
    here.see_all()
    written = here.tab.locator(".detail .transcript", has_text=NAME)
    written.locator("summary").click()
    assert HOSTILE in written.locator("details p").inner_text()
    here.tab.locator("html[data-drawn]").wait_for(state="attached")
    here.tab.evaluate("document.body.append(Object.assign(document.createElement('script'), {text: 'hacked = 3'}))")
    here.tab.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=hacked=5>')")
    here.expected = ("Content Security Policy",)


def test_clips_are_found_by_their_texts_and_compared(visit, folder_page):
    here = visit(folder_page, fragment="#clips?q=lobster")
    rows = here.tab.locator("#clip-table button[data-clip]")
    here.tab.wait_for_function(
        f"() => document.querySelectorAll('#clip-table button[data-clip]').length === {len(TEXTS) + 1}"
    )
    here.tab.fill("#clip-search", "YELLOW americans")
    here.tab.wait_for_function("() => document.querySelectorAll('#clip-table button[data-clip]').length === 1")
    assert rows.first.inner_text() == "demo/kennedy"
    rows.first.click()
    assert "ask not what" in here.tab.locator(".detail .reference").inner_text()
    here.follow(PAIR)
    first = here.tab.locator("#compare-clips .compared").first
    first.locator(".transcript").nth(1).wait_for()
    here.tab.locator("#review-items .card").wait_for()
    for address in ("#clip/../../x", "#clip/__proto__", "#clip/texts-0"):
        here.follow(address)
        here.tab.get_by_text(f"No clip of this report is called {address.removeprefix('#clip/')}").wait_for()


def test_the_pdf_has_every_chart_and_column(visit, folder_page, tmp_path):
    here = visit(folder_page, color_scheme="dark")
    here.tab.locator("html[data-drawn]").wait_for(state="attached")
    here.tab.pdf(path=tmp_path / "report.pdf", prefer_css_page_size=True, print_background=True)
    text = "".join(pdf_page.extract_text() for pdf_page in PdfReader(tmp_path / "report.pdf").pages)
    found = " ".join(text.split())
    charts = ("Speech IQ", "Z: standard deviations from the mean", "Word error rate, %", "error rate of the clip, %")
    columns = ("Largest shift", "Audio encoder", "Better", "% of the SIQ", "set/three", "set/four", "Whose quota 0?")
    assert [words for words in (*charts, *columns) if words not in found] == []
    assert found.count("lm_eval --model hf-audio") == 4
    here.tab.emulate_media(media="print")
    here.tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    widest = "(all) => Math.max(...all.map((one) => one.width.baseVal.value))"
    assert here.tab.locator("svg.main-svg").evaluate_all(widest) <= 1024
    assert here.tab.locator("#bell .js-line").first.evaluate("(line) => line.style.stroke") == "rgb(93, 98, 102)"


def test_a_page_without_its_folder_says_what_is_missing(visit, folder_page, tmp_path):
    alone = shutil.copy(folder_page, tmp_path)
    here = visit(Path(alone))
    here.expected = ("net::ERR_FILE_NOT_FOUND", "is not beside the page")
    note = here.tab.locator("#parts-missing")
    note.wait_for()
    assert "put the folder my report #1_files" in note.inner_text() and note.count() == 1
    assert here.tab.locator("#standings tbody tr").count() == 4


def test_the_command_names_the_folder_and_refuses_one_with_other_files(study, patched, tmp_path):
    file = tmp_path / "report.html"
    said = succeed("score", study, "-o", file, "--bootstrap", 0).stderr
    assert f"siq: wrote {file} and the folder report_files beside it" in said
    assert name_folder(file).is_dir()
    name_folder(file).joinpath("notes.txt").write_text("mine")
    assert "name another page" in refusal("score", tmp_path / "nowhere", "-o", file, "--force")
    assert name_folder(file).joinpath("notes.txt").read_text() == "mine"


def test_equal_transcripts_are_there_once(study):
    gathered = gather_report([study], bootstrap=0)
    names = [row["system"] for row in rows_of(gathered.scoreboard)]
    texts = list_texts(gathered.clips, gathered.answers, gathered.signs, gathered.replies, names)
    clips = [*map(json.loads, texts)]
    assert len(clips) == len(gathered.clips)
    for clip, view in zip(clips, gathered.clips, strict=True):
        written = [clip["written"][number][0] for number in clip["by"]]
        assert written == [view.transcripts[name].text for name in names]
        assert len(clip["written"]) == len({*written}) < len(names)
        assert [clip["written"][number][1] for number in clip["by"]] == [view.transcripts[name].ops for name in names]


def test_a_question_has_its_prompt_and_what_each_system_replied_word_for_word(tmp_path):
    long = "Let me think. " * 20
    for name, replies in (("talks", ["It is (B).", "It is (B).", long]), ("short", ["B", "B", "A"])):
        write_system(tmp_path / name, name, lambda clip, text: text, "B")
        asked = {"arguments": {"gen_args_0": {"arg_0": "Here is <audio>", "arg_1": {}}}, "resps": [replies]}
        edit_rows(tmp_path / name, lambda row, asked=asked: row | asked, "samples_t_apply*")
    gathered = gather_report([tmp_path], bootstrap=0)
    texts = list_texts(gathered.clips, gathered.answers, gathered.signs, gathered.replies, ["short", "talks"])
    question = json.loads(next(texts))["questions"][0]
    assert question["prompt"] == "Here is <audio>"
    assert question["replies"] == [["B", "A"], ["It is (B).", long]]
    letters = list_texts(gathered.clips, gathered.answers, {}, gathered.replies, ["short"])
    assert "prompt" not in json.loads(next(letters))["questions"][0], "the letters are shown anyway"
