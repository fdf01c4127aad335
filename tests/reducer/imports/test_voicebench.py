"""Responses of VoiceBench."""

import json

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.imports.items import ImportSettings
from speechiq.reducer.imports.runs import import_outputs
from speechiq.reducer.imports.voicebench import FORM


def make_row(**changes):
    return {"prompt": "What barks?", "response": "A dog barks."} | changes


def write(folder, rows, name="qwen2-commoneval-test-audio.jsonl"):
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_judged_answer(tmp_path):
    path = write(tmp_path, [make_row(score=["4", "5", "4"]), make_row(reference="dog", score=["Yes", "yes", "No."])])
    first, second = FORM.read([path])
    assert (first.system, first.clip, first.question_id) == ("qwen2", "1", "1")
    assert (first.category, first.where) == ("commoneval-test", f"'{path}' line 1")
    assert (first.question, first.key, first.answer) == ("What barks?", None, "A dog barks.")
    assert (first.score, second.score, second.key) == (pytest.approx(13 / 15), 1.0, "dog")


@pytest.mark.parametrize(
    ("score", "found"),
    [
        (5, 1.0),
        ("3", 0.6),
        ("Rating: [[2]]", 0.4),
        (["5", "", "no idea"], 1.0),
        (["No", "No", "Yes"], 0.0),
        (["Yes."], 1.0),
        (["7"], None),
        (["-1"], None),
        ([], None),
        (None, None),
        ("nan", None),
        ({"a": 1}, None),
        (True, None),
    ],
)
def test_a_score_is_read_from_the_replies_of_the_judge(tmp_path, score, found):
    (row,) = FORM.read([write(tmp_path, [make_row(score=score)])])
    assert row.score == found


@pytest.mark.parametrize(
    ("prompt", "reference", "options"),
    [
        ("What barks?\nA. A cat\nB. A dog", "B", ("A cat", "A dog")),
        ("What barks? \n (a)\nA) A cat \n  B: A dog\n", " B", ("A cat", "A dog")),
        ("What barks?\nB. A dog\nC. A cat", "B", ()),
        ("What barks? A. A cat B. A dog", "B", ()),
        ("What barks?\nA. A cat\nB. A dog", "a dog", ()),
    ],
)
def test_the_options_of_a_question_are_in_its_prompt(tmp_path, prompt, reference, options):
    (row,) = FORM.read([write(tmp_path, [make_row(prompt=prompt, reference=reference)])])
    assert (row.options, row.key, row.score) == (options, reference, None)


@pytest.mark.parametrize(
    ("name", "system", "category"),
    [
        ("result-gpt-4o-alpacaeval_full-test-audio.jsonl", "gpt-4o", "alpacaeval_full-test"),
        ("qwen2-sd-qa-usa-audio.jsonl", "qwen2", "sd-qa-usa"),
        ("qwen2-mmsu-law-text.jsonl", "qwen2-text", "mmsu-law"),
        ("mine.jsonl", "mine", None),
    ],
)
def test_the_name_of_a_file_has_the_system_and_the_set(tmp_path, name, system, category):
    (row,) = FORM.read([write(tmp_path, [make_row()], name)])
    assert (row.system, row.category, row.clip) == (system, category, "1")


def test_odd_rows_are_yielded_with_what_they_have(tmp_path):
    rows = [make_row(), make_row(response=None), {"prompt": "What?"}, {}]
    found = [*FORM.read([write(tmp_path, rows)])]
    assert [row.answer for row in found] == ["A dog barks.", None, None, None]
    assert found[-1].question is None and [row.clip for row in found][2:] == ["3", "4"]


def test_sets_of_a_folder_without_scores_are_left_out_with_a_warning(tmp_path):
    write(tmp_path / "vb", [make_row(score="4")] * 3)
    for name in ("qwen2-ifeval-test-audio.jsonl", "naive-ifeval-test-audio.jsonl"):
        write(tmp_path / "vb", [make_row()] * 3, name)
    written = import_outputs(ImportSettings(FORM, [tmp_path / "vb"]), tmp_path / "runs", force=False)
    assert written.systems == ["qwen2"] and written.levels == ["judged"] and written.left_out == 0
    assert written.warnings == ["data set 'ifeval-test' is left out: none of its 6 rows has a score"]


def test_the_file_that_was_judged_is_not_read_beside_the_one_with_scores(tmp_path):
    write(tmp_path / "vb", [make_row()])
    path = write(tmp_path / "vb", [make_row(score="4")], "result-qwen2-commoneval-test-audio.jsonl")
    (row,) = FORM.read([tmp_path / "vb"])
    assert row.where == f"'{path}' line 1"


@pytest.mark.parametrize(
    "files",
    [
        {"a-ifeval-test-audio.jsonl": [{}], "a-bbh-test-audio.jsonl": [{}]},
        {"a-ifeval-test-audio.jsonl": [{"score": 4}], "b-ifeval-test-audio.jsonl": [{}]},
        {"a-ifeval-test-audio.jsonl": [{"score": 4}], "a-bbh-test-audio.jsonl": [{"score": 4}, {}, {}]},
    ],
)
def test_a_set_with_scores_of_some_rows_is_refused(tmp_path, files):
    for name, rows in files.items():
        write(tmp_path / "vb", [make_row(**row) for row in rows], name)
    with pytest.raises(SpeechIQError, match=r"cannot be scored, .*: no score"):
        import_outputs(ImportSettings(FORM, [tmp_path / "vb"]), tmp_path / "runs", force=False)


def test_a_file_with_other_columns_is_refused(tmp_path):
    path = write(tmp_path, [{"prompt": "What?"}])
    assert not FORM.fits(path)
    with pytest.raises(SpeechIQError, match="line 1: no column 'response'; it has prompt; name a file of responses"):
        [*FORM.read([path])]
