"""What is read of an Apply sample row, and which rows are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.samples import read_text_rows
from speechiq.reducer.runs.texts import AnswerVote
from speechiq.reducer.scores.suites import read_answers
from tests.records import edit_rows
from tests.reducer.conftest import write_answers


def refusal(*runs: Path) -> str:
    with pytest.raises(SpeechIQError) as caught:
        read_answers(runs)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_votes_questions_and_controls(tmp_path):
    write_answers(tmp_path / "a", "a+llm", {"q1": "AAABE", "q2": "??C??"})
    write_answers(tmp_path / "g", "gold+llm", {"q1": "AAAAA", "q2": "?????"}, asr={"control": "gold"})
    write_answers(tmp_path / "b", "letter:B", {"q1": "BBBBB", "q2": "BBBBB"}, kind="control", control="letter:B")
    found = read_answers([tmp_path])
    assert list(found.votes) == ["a+llm", "gold+llm", "letter:B"] and found.warnings == []
    assert found.votes["a+llm"] == {("clip", "q1"): AnswerVote("A", "AAABE"), ("clip", "q2"): AnswerVote("C", "??C??")}
    assert found.votes["gold+llm"]["clip", "q2"] == AnswerVote("?", "?????")
    assert found.controls == {"gold+llm": "gold", "letter:B": "letter:B"}
    question = found.questions["clip", "q1"]
    assert (question.question, question.answer, question.text) == ("What is q1?", "A", "the reference")
    assert question.options == ("one", "two", "three", "four") and question.audio == "clips/clip.ogg"


@pytest.mark.parametrize(
    "change",
    [
        {"doc": {"id": "clip"}},
        {"doc": 3},
        {"filtered_resps": ["A"]},
        {"filtered_resps": []},
        {"filtered_resps": [["A", ["A", "yes"]]]},
        {"filtered_resps": [[["A"], ["A"]]]},
    ],
    ids=str,
)
def test_a_row_without_a_vote_is_refused(tmp_path, change):
    write_answers(tmp_path, "s", {"q1": "AAAAA"})
    edit_rows(tmp_path, lambda row: row | change)
    assert "line 1 needs id, question_id" in refusal(tmp_path) and "rerun this task" in refusal(tmp_path)


def test_systems_that_were_not_asked_the_same_are_refused(tmp_path):
    write_answers(tmp_path / "a", "a", {"q1": "AAAAA", "q2": "AAAAA"})
    write_answers(tmp_path / "b", "b", {"q1": "AAAAA"})
    assert refusal(tmp_path).startswith("system 'b' did not answer 1 of 2 questions, such as clip 'clip' question 'q2'")
    write_answers(tmp_path / "b", "b", {"q1": "AAAAA", "q2": "AAAAA"})
    edit_rows(tmp_path / "b", lambda row: row["doc"].update(options=["four", "three", "two", "one"]))
    assert "line 1: clip 'clip' question 'q1' differs from another system's run in its wording" in refusal(tmp_path)


def test_a_question_answered_twice_is_refused(tmp_path):
    write_answers(tmp_path / "a", "a", {"q1": "AAAAA"}, tasks="one")
    write_answers(tmp_path / "b", "a", {"q1": "AAAAA"}, tasks="other")
    assert "clip 'clip' question 'q1' was already answered by system 'a'" in refusal(tmp_path)


def test_runs_without_apply(two_runs):
    for path in two_runs.glob("*/results_*"):
        written = json.loads(path.read_text())
        written["configs"].pop("demo_2")
        path.write_text(json.dumps(written))
        path.with_name(f"samples_demo_2_{path.stem.removeprefix('results_')}.jsonl").unlink()
    assert "Apply task" in refusal(two_runs)


@pytest.mark.parametrize(
    ("doc", "told"),
    [
        ({"audio": {"duration": 10**400}}, "cannot be used: it contains a number of 401 digits"),
        ({"audio": json.loads("[" * 90 + "]" * 90)}, "cannot be used: it is nested more than 64 deep"),
        ({"id": None}, "needs an object doc with an id (Expected `int | float | str`, got `null` - at `$.doc.id`)"),
    ],
)
def test_rows_that_nothing_can_use_are_refused_by_line(tmp_path, doc, told):
    write_answers(tmp_path, "s", {"q1": "AAAAA"})
    edit_rows(tmp_path, lambda row: row["doc"].update(doc))
    (path,) = tmp_path.glob("samples_*.jsonl")
    with pytest.raises(SpeechIQError) as caught:
        list(read_text_rows(path))
    assert str(caught.value) == f"{str(path)!r} line 1 {told}; rerun this task"
