"""`siq score -o report.html`: from runs to a file, and what it finds in the data."""

from __future__ import annotations

import json
import shutil

import pytest

from speechiq.reducer.output.page import browser, items
from speechiq.reducer.output.page import build as report
from speechiq.reducer.output.page.build import find_candidates, list_sections
from speechiq.reducer.output.page.review import review_questions
from speechiq.reducer.output.page.study import gather_report
from speechiq.reducer.output.page.tables import leaderboard_table, stability_table
from speechiq.reducer.output.scoreboard_records import rows_of
from speechiq.reducer.scores.suites import read_answers
from speechiq.reducer.studies import unanswerable
from tests.commands import refusal, siq, succeed
from tests.reducer.output.page.conftest import NAME, cascade, write_system

pytestmark = pytest.mark.slow


def review_of(study):
    return review_questions(find_candidates(study))


def shown(study, section: str) -> dict:
    """What the template of a section gets."""
    sections = list_sections(study, rows_of(study.scoreboard), review_of(study))
    return next(each.values for each in sections if each.id == section)


@pytest.fixture(scope="module")
def gathered(study):
    return gather_report([study], bootstrap=100)


def test_the_command_writes_a_page_once(study, tmp_path):
    file = tmp_path / "report.html"
    first = succeed("score", study, "-o", file, "--bootstrap", 0, "--weights", "1,1,2")
    assert f"siq: wrote {file}" in first.stderr and "1,1,2" in file.read_text(encoding="utf-8")
    assert "add --force" in refusal("score", study, "-o", file)
    siq("score", study, "-o", file, "--bootstrap", 50, "--force")
    text = file.read_text(encoding="utf-8")
    assert "50 bootstrap samples" in text and text.count("95 % intervals of SIQ of 14 clips contained") == 1


def test_verdicts_belong_to_the_wording_of_a_question(gathered):
    questions, candidate = gathered.answers.questions, unanswerable.find_unanswerable(gathered.answers)[0]
    item = candidate["id"], candidate["question_id"]
    reworded = questions | {item: questions[item]._replace(question="And whose is it now?")}
    other = gathered._replace(answers=gathered.answers._replace(questions=reworded))
    kept, new = ([item.key for item in review_of(study).items] for study in (gathered, other))
    assert len(kept) == len(new) >= 2 and len({*kept} & {*new}) == len(kept) - 1


def test_one_system_has_a_page_with_norms(study, tmp_path):
    norms, file = tmp_path / "norms.json", tmp_path / "report.html"
    siq("score", study, "--save-norms", norms)
    siq("score", study / "a", "-o", file, "--norms", norms, "--bootstrap", 50)
    text = file.read_text(encoding="utf-8")
    assert "1 system," in text and "Norms: " in text


def test_what_was_not_asked_alike_is_refused_or_marked(study, tmp_path):
    shutil.copytree(study, tmp_path / "runs")
    (results,) = tmp_path.glob("runs/a/results_*")
    results.write_text(results.read_text().replace('"version": 1', '"version": 2'))
    command = ("score", tmp_path / "runs", "-o", tmp_path / "report.html")
    assert "--allow-mismatch" in refusal(*command)
    siq(*command, "--allow-mismatch", "--bootstrap", 0)
    assert "Not asked the same" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_what_can_be_scored_can_be_shown(two_runs, tmp_path):
    done = succeed("score", two_runs, "-o", tmp_path / "report.html", "--bootstrap", 0)
    assert "siq: warning: no questions are shown: " in done.stderr
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert text.count("No questions are shown: &#39;") >= 2 and "At least half of the systems fail" not in text


def test_questions_that_all_share_are_shown_if_the_others_are_left_out(study, tmp_path):
    shutil.copytree(study, tmp_path / "runs")
    (samples,) = tmp_path.glob("runs/b/samples_t_apply_*")
    samples.write_text("".join(samples.read_text().splitlines(keepends=True)[:-1]))
    siq("score", tmp_path / "runs", "-o", tmp_path / "report.html", "--allow-mismatch", "--bootstrap", 0)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "questions are left out: not all systems answered them" in text and "No questions are shown" not in text
    assert "At least half of the systems fail" in text and 'id="review-tools"' in text


def test_words_that_encoders_agree_on_are_listed_once(gathered):
    rows = shown(gathered, "suspects")["disagreements"].rows
    assert rows and all("<del>harbor</del> <ins>harvest</ins>" in row["words"] for row in rows)
    assert {row["agree"] for row in rows} == {"3 of 3"}
    same = items.disagreements(gathered.clips, dict.fromkeys(gathered.names, "one encoder"))
    assert same.rows == [], "systems that share an encoder are one witness"


def test_questions_that_gold_fails_too_are_listed(gathered):
    rows = shown(gathered, "suspects")["failed"].rows
    shares = [[int(number) for number in row["failed"].split(" of ")] for row in rows]
    assert rows and all(failed >= items.NEARLY_ALL * systems for failed, systems in shares)
    gold = gathered.answers.votes["gold+thinker"]
    answered = [item for item, answer in gold.items() if answer.vote == "B"]
    assert not any(f"votes of {question}" in row["votes"] for _, question in answered for row in rows)


def test_weights_of_the_clips_are_all_of_the_siq(gathered):
    clips = browser.describe_clips(gathered, rows_of(gathered.scoreboard))["clips"]
    assert sum(clip["weight"] for clip in clips) == pytest.approx(100, abs=0.01)
    deciding = items.deciding(gathered.scoreboard.pool, gathered.scale, gathered.listening)
    assert [*deciding] == ["remember", "understand", "apply"]
    _, hardest = deciding["remember"]
    assert hardest.rows[0]["mean"] == max(row["mean"] for row in hardest.rows)


def test_flags_are_in_the_rows_and_unknown_ones_are_none(gathered):
    records = rows_of(gathered.scoreboard)
    names = [record["system"] for record in records]
    rows = dict(zip(names, leaderboard_table(gathered, records).rows, strict=True))
    assert rows["b/poor+thinker"]["incomplete_audio"] == 1.0
    assert rows[NAME]["incomplete_audio"] is None and rows[NAME]["unparsed"] > 0
    assert rows["gold+thinker"]["kind"] == "Control" and rows[NAME]["kind"] == "End to end"
    scores = [row["siq"] for row in rows.values()]
    assert all(score.low - 1e-9 <= score.value <= score.high + 1e-9 for score in scores)


def test_only_controls_make_a_page_too(tmp_path):
    for name, letters, text in (("gold+l", "B", "same"), ("silence+l", "A", "")):
        described = cascade({"control": name.partition("+")[0]})
        write_system(
            tmp_path / name, name, lambda clip, reference, text=text: reference * bool(text), letters, described
        )
    text = report.build_report([tmp_path], bootstrap=0).text
    assert "None: no question fails in half of the systems." in text
    assert "Controls have no rank" in text


def test_a_control_takes_no_rank_from_a_system(gathered):
    rows = leaderboard_table(gathered, rows_of(gathered.scoreboard)).rows
    assert [row["rank"] for row in rows] == [1, 2, 3, ""]
    best = [row["best"] for row in stability_table(gathered).rows if "best" in row]
    assert len(best) == 3 and sum(best) >= 1 - 1e-9, "some system is first in every draw"
    facts = [page.facts.get("Rank") for page in shown(gathered, "systems")["system_pages"]]
    assert facts == ["1 of 3", "2 of 3", "3 of 3", None]


def test_questions_left_out_are_named_with_their_set(study, tmp_path):
    review, frozen, file = (tmp_path / name for name in ("review.jsonl", "set.json", "report.html"))
    first, *_ = unanswerable.find_unanswerable(read_answers([study]), 0)
    unanswerable.write_review([first | {"verdict": "unanswerable"}], review)
    unanswerable.write_set(unanswerable.confirm(review), frozen)
    siq("score", study, "-o", file, "--bootstrap", 0, "--exclude", frozen)
    expected = f"1 question of the unanswerable set {json.loads(frozen.read_text())['sha256'][:12]}"
    assert expected in file.read_text(encoding="utf-8")


def test_half_of_a_character_breaks_nothing(tmp_path):
    broken = {"set/\ud800": "half \ud800 a word", "set/b": "a whole word"}
    for name, letters in (("a", "B"), ("b", "A")):
        write_system(
            tmp_path / name, name, lambda clip, text, name=name: f"{name} {text}" * (name == "b"), letters, texts=broken
        )
    report.write_report(report.build_report([tmp_path], bootstrap=0), tmp_path / "report.html")
    assert "set/<wbr>\ufffd" in (tmp_path / "report.html").read_text(encoding="utf-8")
