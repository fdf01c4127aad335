"""Counting made-up answers, and showing them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.scores.suites import read_answers
from speechiq.reducer.studies.unanswerable import Confirmed, confirm, find_unanswerable, write_review, write_set
from speechiq.reducer.studies.unanswerable import count_hallucinations as count
from tests.commands import refusal, siq, succeed
from tests.reducer.conftest import write_answers

QUESTIONS = [f"q{number:02}" for number in range(17)]
HOSTILE = "=cmd|'/c calc'!A0"
CONTROL = "@letter:B"


def letters(made_up: int, unparsed: int = 0) -> dict[str, str]:
    """Answers to 17 questions: some made up, some unparsed, the others (E)."""
    votes = ["B"] * made_up + ["?"] * unparsed + ["E"] * (len(QUESTIONS) - made_up - unparsed)
    return {question: 5 * letter for question, letter in zip(QUESTIONS, votes, strict=True)}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    write_answers(folder / "qwen", "whisper+qwen", letters(2, unparsed=1), clips=17)
    write_answers(folder / "desta", HOSTILE, letters(12), clips=17)
    write_answers(folder / "letter", "letter:B", letters(17), clips=17, kind="control", control=CONTROL)
    return folder


def frozen_set(runs: Path, path: Path, wrong_key: int = 0) -> Path:
    rows = find_unanswerable(read_answers([runs]))
    for number, row in enumerate(rows):
        row["verdict"] = "wrong_key" if number < wrong_key else "unanswerable"
    write_review(rows, path.with_suffix(".jsonl"))
    write_set(confirm(path.with_suffix(".jsonl")), path)
    return path


def test_questions_of_a_clip_are_one_unit(tmp_path):
    """Answers to questions of one clip may depend on each other, so that two clips say less than 17."""
    widths = []
    for clips in (1, 2, 17):
        runs = tmp_path / str(clips)
        write_answers(runs, "a", dict.fromkeys(QUESTIONS, "EEEEE"), clips=clips)
        confirmed = frozen_set(runs, runs / "set.json")
        succeed("study", "unanswerable", runs, "--set", confirmed, "-o", runs / "h.json")
        (row,) = json.loads((runs / "h.json").read_text())["systems"]
        assert row["rate"]["low"] == 0.0
        widths.append(row["rate"]["high"])
    assert widths == pytest.approx([0.793, 0.658, 0.184], abs=1e-3), "Wilson's interval of 0 of 1, of 2 and of 17"


def test_counts_as_in_table_4(runs, tmp_path):
    files = tmp_path / "h.json", tmp_path / "h.csv"
    done = succeed(
        "study", "unanswerable", runs, "--set", frozen_set(runs, tmp_path / "set.json"), "-o", files[0], "-o", files[1]
    )
    assert "17 unanswerable questions" in done.stdout and "3.3 to 34.3" in done.stdout and HOSTILE in done.stdout
    counts = json.loads(files[0].read_text())["systems"]
    numbers = ("hallucinated", "none_of_the_above", "unparsed")
    assert [(of["system"], of["control"], *(of[number] for number in numbers)) for of in counts] == [
        ("whisper+qwen", "", 2, 14, 1),
        (HOSTILE, "", 12, 5, 0),
        ("letter:B", CONTROL, 17, 0, 0),
    ]
    assert counts[0]["rate"]["value"] == 2 / 17 and counts[2]["rate"]["high"] == 1.0
    rows = list(csv.DictReader(files[1].read_text().splitlines()))
    assert rows[1]["system"] == f"'{HOSTILE}" and float(rows[1]["rate"]) == 12 / 17
    assert rows[2]["control"] == f"'{CONTROL}"
    assert {*rows[0]} >= {*counts[0], "rate_low", "rate_high"}


def test_a_wrong_key_is_no_hallucination(runs, tmp_path):
    path = frozen_set(runs, tmp_path / "set.json", wrong_key=7)
    assert "10 unanswerable questions" in siq("study", "unanswerable", runs, "--set", path)


def test_a_set_that_does_not_fit_the_runs(tmp_path):
    write_answers(tmp_path / "runs", "s", letters(2))
    path = frozen_set(tmp_path / "runs", tmp_path / "set.json")
    other = tmp_path / "other"
    write_answers(other, "s", {"q03": "AAAAA", "q99": "AAAAA"})
    refused = refusal("study", "unanswerable", other, "--set", path)
    assert refused.startswith("16 of 17 questions of the set are not in the runs, such as clip 'clip' question 'q00'")
    answers = read_answers([other])
    with pytest.raises(
        SpeechIQError, match="1 of 1 questions have another wording in the runs than in the set, such as clip"
    ):
        count(answers, {("clip", "q03"): Confirmed("another wording", "unanswerable")})
    with pytest.raises(SpeechIQError, match="no question with the verdict 'unanswerable'"):
        count(answers, {("clip", "q03"): Confirmed("", "wrong_key")})
