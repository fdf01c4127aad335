"""Logs of AudioBench."""

import json

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.imports.audiobench import FORM

ANSWER = {
    "question": "What barks?",
    "reference": "A dog.",
    "model_prediction": "The dog.",
    "judge_response": "Rating: 4",
}


def write(folder, name, content):
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=4), encoding="utf-8")
    return path


def write_answers(folder, rows, name="calls_test_llama3_70b_judge_score.json"):
    return write(folder, name, {"llama3_70b_judge": {"judge_score": 50, "success_rate": 1}, "details": rows})


def test_words_of_both_kinds_of_rows(tmp_path):
    rows = [{"reference": "good day", "prediction": "god day", "wer": 0.5}, ["bye", "by", 1.0], ["alone"], 7]
    path = write(tmp_path / "whisper", "calls_test_wer_score.json", {"wer": 0.5, "sample_wer": rows})
    found = [*FORM.read([path])]
    assert [(row.reference, row.transcript) for row in found] == [
        ("good day", "god day"),
        ("bye", "by"),
        ("alone", None),
        (None, None),
    ]
    assert [row.clip for row in found] == [str(number) for number in (1, 2, 3, 4)]
    assert {(row.system, row.category) for row in found} == {("whisper", "calls_test")}
    assert found[1].where == f"{path} row 2" and found[1].question_id is None


def test_a_judged_answer(tmp_path):
    (row,) = FORM.read([write_answers(tmp_path / "qwen", [ANSWER | {"rate_score": 4.0, "success": 1}])])
    assert (row.system, row.clip, row.question_id, row.category) == ("qwen", "1", "1", "calls_test")
    assert (row.question, row.key, row.answer, row.score) == ("What barks?", "A dog.", "The dog.", 0.8)


@pytest.mark.parametrize(
    ("name", "fields", "score"),
    [
        ("calls_llama3_70b_judge_score.json", {"rate_score": 5, "success": 1}, 1.0),
        ("calls_llama3_70b_judge_score.json", {"rate_score": 0.0, "success": 0}, None),
        ("calls_gpt4o_judge_score.json", {"rate_score": 10.0, "success": 1}, None),
        ("calls_gpt4o_judge_score.json", {"rate_score": -1}, None),
        ("calls_gpt4o_judge_score.json", {"rate_score": "bad"}, None),
        ("calls_gpt4o_judge_score.json", {}, None),
        ("calls_llama3_70b_judge_binary_score.json", {"rate_score": 1.0, "success": 1}, 1.0),
        ("calls_llama3_70b_judge_binary_score.json", {"rate_score": 2.0, "success": 1}, None),
    ],
)
def test_a_score_is_a_share_of_the_judges_highest(tmp_path, name, fields, score):
    (row,) = FORM.read([write_answers(tmp_path, [ANSWER | fields], name)])
    assert (row.score, row.category) == (score, "calls")


def test_answers_with_choices_are_read_by_their_letters(tmp_path):
    choices = {"choices": ["(A) A cat", "(B) A dog"], "task": "sound", "rate_score": 1.0}
    rows = [ANSWER | choices | {"reference": "(B) A dog"}, ANSWER | choices | {"choices": ["A cat", "A dog"]}]
    path = write(tmp_path, "mini_string_match_score.json", {"string_match": {"judge_score": 100}, "details": rows})
    first, second = FORM.read([path])
    assert (first.options, first.key, first.answer, first.score) == (("A cat", "A dog"), "B", "The dog.", None)
    assert (second.options, second.key, second.groups) == (("A cat", "A dog"), "A dog.", {"task": "sound"})


def test_an_odd_row_is_yielded_with_what_it_has(tmp_path):
    rows = [ANSWER | {"model_prediction": None, "rate_score": 4}, "lost", ANSWER]
    first, second, third = FORM.read([write_answers(tmp_path, rows)])
    assert (first.answer, first.score) == (None, 0.8)
    assert (second.clip, second.question_id, second.answer) == ("2", "2", None)
    assert third.clip == "3"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "calls.json",
            {"details": []},
            "calls.json': not a log of AudioBench; name files that end in _wer_score.json, _j",
        ),
        ("a_wer_score.txt", {"sample_wer": []}, "not a log of AudioBench; name files"),
        ("a_wer_score.json", {"wer": 0.1}, "a_wer_score.json': no rows in 'sample_wer'; name a log with rows"),
        (
            "a_gpt4o_judge_score.json",
            {"details": []},
            "a_gpt4o_judge_score.json': no rows in 'details'; name a log with",
        ),
        ("a_wer_score.json", '{"sample_wer": [', r"a_wer_score.json': not a log of AudioBench \(.*\); name a whole"),
        ("a_wer_score.json", {"sample_wer": 3}, r"a_wer_score.json': not a log of AudioBench \(.*\); name a whole log"),
    ],
)
def test_a_file_that_is_no_log_is_refused(tmp_path, name, content, message):
    with pytest.raises(SpeechIQError, match=message):
        [*FORM.read([write(tmp_path, name, content)])]


def test_a_log_that_cannot_be_read_is_refused(tmp_path):
    path = tmp_path / "a_wer_score.json"
    assert not FORM.fits(path)
    with pytest.raises(SpeechIQError, match=r"cannot be read \(No such file or directory\); correct the path"):
        [*FORM.read([path])]


def test_two_judges_of_the_same_answers_are_refused(tmp_path):
    names = ("calls_llama3_70b_judge_score.json", "calls_gpt4o_judge_score.json")
    paths = [write_answers(tmp_path, [ANSWER], name) for name in names]
    with pytest.raises(
        SpeechIQError, match=r"gpt4o.*: .*llama3.* has scores of the same answers; import those of one judge"
    ):
        [*FORM.read(paths)]
    other = write_answers(tmp_path / "other", [ANSWER], names[1])
    assert len([*FORM.read([paths[0], other])]) == 2
