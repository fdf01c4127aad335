"""Test the exam of people: what is asked, and the files that they save."""

import json
from dataclasses import replace

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.questions.exam import Asked, build_exam, digest_clip, digest_question, read_saved
from tests.records import named

ONE, TWO = named("one"), named("two")
OPTIONS = ("a fire", "a strike", "a fine", "a price", "None of the above")
EXAM = build_exam(
    [Asked(ONE), Asked(TWO), Asked(ONE, "q1", "Why?", OPTIONS), Asked(ONE), Asked(ONE, "q2", "Who?", OPTIONS)]
)
TEXT = {"id": "one", "digest": digest_clip(ONE), "person": "ana", "text": "So it goes.", "plays": 2}
LETTER = {
    "id": "one",
    "digest": digest_question(ONE, "Why?", OPTIONS),
    "person": "ana",
    "letter": "B",
    "question_id": "q1",
}


def write(folder, *rows):
    file = folder / "ana.jsonl"
    file.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows))
    return file


def test_a_clip_of_several_tasks_is_heard_once_with_all_its_questions():
    assert [(clip.id, [question.id for question in clip.questions]) for clip in EXAM.clips] == [
        ("one", ["q1", "q2"]),
        ("two", []),
    ]
    assert EXAM.questions == 2 and EXAM.sounds == {"one": ONE, "two": TWO}
    twice = build_exam([Asked(ONE, "q1", "Why?", OPTIONS), Asked(ONE, "other", "Why?", OPTIONS)])
    assert twice.questions == 1


def test_a_clip_with_two_sounds_is_refused():
    with pytest.raises(SpeechIQError, match=r"^clip one: has two sounds in these tasks; make an exam of each task"):
        build_exam([Asked(ONE), Asked(replace(ONE, offset=0.5))])


def test_what_was_saved_is_found_by_clip_and_content(tmp_path):
    saved = read_saved(write(tmp_path, TEXT, LETTER))
    assert (saved.person, saved.find_transcript(ONE).text, saved.find_transcript(ONE).plays) == (
        "ana",
        "So it goes.",
        2,
    )
    assert saved.find_letter(ONE, "Why?", OPTIONS) == "B"


@pytest.mark.parametrize(
    ("clip", "question", "options", "fault"),
    [
        (TWO, "Why?", OPTIONS, "clip two is not among the 1 clips of the exam"),
        (replace(ONE, offset=0.5), "Why?", OPTIONS, "clip one sounds otherwise than in the exam"),
        (ONE, "Why not?", OPTIONS, "clip one has the question 'Why not.', which the exam does not ask"),
        (ONE, "Why?", OPTIONS[::-1], "clip one has the question 'Why.', which the exam does not ask with its options"),
    ],
)
def test_another_version_of_the_set_is_refused_with_the_clip(clip, question, options, fault, tmp_path):
    saved = read_saved(write(tmp_path, TEXT, LETTER))
    with pytest.raises(SpeechIQError, match=rf"ana.jsonl': {fault}.*; run the tasks, settings and --limit of the exam"):
        saved.find_letter(clip, question, options)


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        ((TEXT, LETTER, LETTER), "line 3: the file has two answers to a question about clip 'one'; delete one"),
        ((TEXT, TEXT), "line 2: the file has two transcripts of clip 'one'; delete one"),
        ((TEXT, '{"id": "one", "te'), "line 2 is not a whole JSON object"),
        ((TEXT, LETTER | {"letter": 2}), r"line 2: not a line of an exam \(Expected `str \| null`, got `int`"),
        (({"id": "one", "text": "So it goes."},), "line 1: not a line of an exam .*`digest`"),
        ((TEXT | {"letter": "B"},), "line 1: has not one of text and letter"),
        ((LETTER,), "has no transcript"),
        ((TEXT, LETTER | {"person": "ben"}), "has answers of 'ana' and 'ben'; give each a file"),
    ],
)
def test_a_damaged_file_is_refused_with_its_line(rows, fault, tmp_path):
    with pytest.raises(SpeechIQError, match=fault):
        read_saved(write(tmp_path, *rows))


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(SpeechIQError, match=r"nowhere.jsonl: no such file; give the .jsonl file that a person saved"):
        read_saved(tmp_path / "nowhere.jsonl")
    with pytest.raises(SpeechIQError, match=r"a folder; name one file, or all of them by `siq eval people:"):
        read_saved(tmp_path)
