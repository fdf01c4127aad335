"""Test signs of hallucination: right answers that were not heard, and options that were not offered (Appendix C)."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from speechiq.metrics.choice import vote
from speechiq.metrics.letters.offered import find_unoffered
from speechiq.metrics.letters.reading import parse_letter
from speechiq.reducer.output.page.clips import list_texts
from speechiq.reducer.output.page.study import gather_report
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.signs import AnswerSigns, read_signs
from speechiq.reducer.scores.levels import LEVELS
from tests.commands import refusal, succeed
from tests.records import edit_rows, judge_transcripts
from tests.reducer.conftest import write_run

OPTIONS = ["refrigerated freight", "twenty drivers", "a legal fine", "the main office moved", "None of the above"]
REFERENCE = "Refrigerated freight grew, and we paid 20 drivers in January."


@pytest.mark.parametrize(
    ("answer", "claimed"),
    [
        ("(B) natural gas", "B: natural gas"),
        ("The answer is (C) a prison term.", "C: a prison term"),
        ("So the correct option is D: the warehouse burnt", "D: the warehouse burnt"),
        ("**A.** cheap rail transport", "A: cheap rail transport"),
        ("(E) All of the above", "E: All of the above"),
        ("(F) all of them", "F: all of them"),
        ("The answer is F.", "F"),
        ("G", "G"),
        ("<think>(B) natural gas</think>(B)", ""),
        ("B", ""),
        ("(B) Twenty drivers.", ""),
        ("(B) 20 drivers", ""),
        ("B: driver", ""),
        ("(A) freight that is refrigerated", ""),
        ("(A) refrigerated freihgt", ""),
        ("(A) refrigerated freight, which grew", ""),
        ("(A) a legal fine", ""),
        ("(D) The office", ""),
        ("(E) None of these", ""),
        ("(E) The speaker does not say", ""),
        ("(B) because they paid them", ""),
        ("The answer is (B). They were paid.", ""),
        ("B, natural gas", ""),
        ("(B) the speaker says that they had to pay a good many people in winter", ""),
        ("(A) rail is wrong, so the answer is (B).", ""),
        ("F. Scott wrote it, so (B).", ""),
        ("Vitamin C: it was lemons", ""),
        ("", ""),
    ],
)
def test_an_option_that_was_not_offered(answer, claimed):
    assert find_unoffered(answer, parse_letter(answer, OPTIONS), OPTIONS) == claimed


def write_system(
    folder: Path, system: str, transcript: str | None, answers: dict[str, list[str]], right: str = "A", **doc: str
) -> None:
    """Write the runs of a system on a clip: its transcript, if there is one, and the answers to each question."""
    scores = {"remember": {"clip": 0.5}} if transcript is not None else {}
    write_run(folder / system, scores | {"apply": {"clip": dict.fromkeys(answers, 1.0)}}, system=system)

    def tell(row: dict) -> None:
        row["doc"] |= {"text": REFERENCE} | doc
        if "acc" in row["metrics"]:
            row["doc"] |= {"options": OPTIONS[:-1], "answer": right}
            texts = answers[row["doc"]["question_id"]]
            letters = [parse_letter(text, OPTIONS) for text in texts]
            row |= {"resps": [texts], "filtered_resps": [[vote(letters), letters]]}
        else:
            row |= {"filtered_resps": [transcript]}

    edit_rows(folder / system, tell)


def read(folder: Path, system: str) -> list[AnswerSigns]:
    """Return the signs in the answers of a system, question by question."""
    tasks = []
    for file in sorted((folder / system).glob("samples_*.jsonl")):
        level = LEVELS["apply" if '"acc"' in file.read_text() else "remember"]
        (results,) = (folder / system).glob("results_*.json")
        task = TaskRun(0.0, str(results), system, file.name.split("_2025")[0].removeprefix("samples_"), level, {}, {})
        tasks.append(task)
    return [*read_signs(tasks)[system].values()]


@pytest.mark.parametrize(
    ("transcript", "right", "letter", "checked", "unheard"),
    [
        ("Refrigeration freight grew", "A", "A", True, False),
        ("Something grew a lot", "A", "A", True, True),
        ("", "A", "A", True, True),
        ("Something grew a lot", "A", "B", False, False),
        ("We paid twenty people", "B", "B", True, False),
        ("We paid 20 people", "B", "B", True, False),
        ("We paid 200 people", "B", "B", True, True),
        # No word of the option is in the reference, so there is nothing to hear.
        ("Something grew a lot", "C", "C", False, False),
        ("Something grew a lot", "E", "E", False, False),
        (None, "A", "A", False, False),
    ],
)
def test_a_right_answer_that_was_not_heard(tmp_path, transcript, right, letter, checked, unheard):
    write_system(tmp_path, "s", transcript, {"q": [letter] * 5}, right=right)
    (sign,) = read(tmp_path, "s")
    assert (sign.right, sign.unheard, sign.answers, sign.unoffered) == (checked, unheard, 5, ())


def test_a_transcript_whose_meaning_was_judged_has_the_same_words(tmp_path):
    write_system(tmp_path, "s", "Something grew a lot", {"q": ["A"] * 5}, text="The answer")
    edit_rows(tmp_path, lambda row: row["doc"].update(options=["the answer", *OPTIONS[1:-1]]))
    (before,) = read(tmp_path, "s")
    judge_transcripts(tmp_path)
    assert read(tmp_path, "s") == [before] and before.unheard


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Return runs of a system that guesses and changes options, and one that does neither."""
    folder = tmp_path / "runs"
    answers = {"q1": ["(A) cheap rail", "(A)", "(A)", "A", "A"], "q2": ["B"] * 5, "q3": ["(F) all of them", *"AAAA"]}
    write_system(folder, "guesses", "Something grew", answers)
    write_system(folder, "hears", REFERENCE, {"q1": ["A"] * 5, "q2": ["A"] * 5, "q3": ["A"] * 5})
    return folder


def test_signs_are_counted_for_each_system(runs, tmp_path):
    files = tmp_path / "signs.json", tmp_path / "signs.csv"
    done = succeed("study", "unanswerable", runs, "--signs", "-o", files[0], "-o", files[1])
    assert "Not heard" in done.stdout and "Not offered" in done.stdout
    guesses, hears = json.loads(files[0].read_text())["systems"]
    assert [guesses[key] for key in ("system", "right", "unheard", "answers", "unoffered")] == ["guesses", 2, 2, 15, 2]
    assert [hears[key] for key in ("system", "right", "unheard", "answers", "unoffered")] == ["hears", 3, 0, 15, 0]
    assert guesses["not_heard"]["value"] == 1.0 and guesses["not_offered"]["value"] == pytest.approx(2 / 15)
    assert guesses["not_offered"]["low"] > 0 and hears["not_heard"]["high"] > 0
    rows = list(csv.DictReader(files[1].read_text().splitlines()))
    assert float(rows[0]["not_offered"]) == pytest.approx(2 / 15) and {"unheard", "not_heard_low"} <= {*rows[0]}


def test_signs_need_no_common_questions(runs, tmp_path):
    write_system(runs, "asked less", "Something grew", {"q1": ["(A) cheap rail"] * 5})
    succeed("study", "unanswerable", runs, "--signs", "-o", tmp_path / "signs.json")
    systems = json.loads((tmp_path / "signs.json").read_text())["systems"]
    assert {row["system"]: row["answers"] for row in systems} == {"asked less": 5, "guesses": 15, "hears": 15}


def test_the_report_shows_the_signs_at_the_answers(runs):
    study = gather_report([runs], bootstrap=0)
    (clip,) = map(json.loads, list_texts(study.clips, study.answers, study.signs, study.replies, ["hears", "guesses"]))
    shown = {question["id"]: question.get("signs") for question in clip["questions"]}
    assert shown == {
        "q1": ["", "not heard; not offered: A: cheap rail"],
        "q2": None,
        "q3": ["", "not heard; not offered: F: all of them"],
    }
    edit_rows(runs, lambda row: {key: row[key] for key in row if key != "resps"})
    assert gather_report([runs], bootstrap=0).signs == {}, "rows without the texts of answers are shown without signs"


@pytest.mark.parametrize("option", ["--review", "--set"])
def test_signs_need_no_set(tmp_path, option):
    refused = refusal("study", "unanswerable", tmp_path, "--signs", option, tmp_path / "file")
    assert refused == f"{option} {tmp_path / 'file'} and --signs: signs need no set; leave one out"


def test_rows_without_answers_are_named(runs):
    edit_rows(runs / "hears", lambda row: {key: row[key] for key in row if key != "resps"})
    assert "line 1 needs id, question_id, options" in refusal("study", "unanswerable", runs, "--signs")
