"""The question file: bad lines are named by file and line, clips are joined by id."""

import errno
import json
import os

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.questions.file import (
    find_questions,
    join_questions,
    read_questions,
    write_questions,
    write_template,
)

GOOD = {
    "id": "set/a", "question_id": "a-q1", "question": "Who won?", "options": ["Ann", "Dan", "Jan", "Stan"],
    "answer": "B", "writer": "hand", "checkers": [], "prompt_version": 0,
}  # fmt: skip
LEFT_OUT = {"id": "set/b", "question_id": "b-q1", "left_out": "no question passed"}


def line(**changes):
    return json.dumps(GOOD | changes)


BAD = {
    "not JSON": ('{"id": "a"', "not a whole JSON object"),
    "a list": ("[1]", "not a whole JSON object (it is [1])"),
    "a missing key": (json.dumps({k: v for k, v in GOOD.items() if k != "options"}), "misses 'options'"),
    "a key twice": (line()[:-1] + ', "id": "set/b"}', "the key 'id' occurs twice"),
    "a wrong type": (line(question=3), "'question' is 3, not a str"),
    "true for a number": (line(prompt_version=True), "'prompt_version' is True, not a int"),
    "an empty question": (line(question=" "), "'question' is empty"),
    "an answer not among the options": (line(answer="F"), "'answer' is 'F', neither a letter, A to D, nor the text of"),
    "the text of no option": (line(answer="Anna"), "neither a letter, A to D, nor the text of one of ['Ann', 'Dan', "),
    "two letters": (line(answer="AB"), "'answer' is 'AB', neither a letter"),
    "three options": (line(options=["a", "b", "c"]), "'options' has 3 texts, not 4"),
    "an option that is a number": (line(options=["a", "b", "c", 4]), "option 4 is not a text"),
    "options alike": (line(options=["Ann", "ann.", "Jan", "Stan"]), "are not all different"),
    "a tag": (line(options=["Ann", "<inaudible>", "Jan", "Stan"]), "'<inaudible>' contains a transcriber's tag"),
    "the fifth option": (line(options=["None of the above.", "Dan", "Jan", "Stan"]), "is added as (E)"),
    "an id twice": (line(), "question_id 'a-q1' is that of line 1 already"),
    "a huge value": (line(question=["x" * 10**6]), f"'question' is ['{'x' * 198}..., not a str"),
    "a huge option": (line(options=["a", "b", "c", [1] * 10**5]), "1, 1, 1... is not a text"),
    "a huge number": (
        line().replace('"prompt_version": 0', f'"prompt_version": {"9" * 5000}'),
        "not a whole JSON object",
    ),
    "deep nesting": (line(id=None).replace("null", "[" * 100_000), "not a whole JSON object"),
    "left out without reason": (json.dumps(LEFT_OUT | {"left_out": ""}), "'left_out' is empty"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_line_is_named_in_one_line_of_bearable_length(case, tmp_path):
    text, message = BAD[case]
    file = tmp_path / "set.jsonl"
    file.write_text(f"{line()}\n\n{text}\n")
    with pytest.raises(SpeechIQError) as error:
        read_questions(file)
    assert str(error.value).startswith(f"{str(file)!r} line 3") and message in str(error.value)
    assert "\n" not in str(error.value) and len(str(error.value)) < 700


def test_a_byte_order_mark_and_carriage_returns_change_nothing(tmp_path):
    file = tmp_path / "set.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + f"{line()}\r\n\r\n{json.dumps(LEFT_OUT)}\r\n".encode())
    assert read_questions(file) == [GOOD, LEFT_OUT]


HAND = {"id": "a", "question": "Who won?", "options": ["Ann", "Dan", "Jan", "Stan"], "answer": "B"}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("q.jsonl", "".join(json.dumps(HAND | {"answer": answer}) + "\n" for answer in ("B", "(b)"))),
        ("q.csv", "id,question,A,B,C,D,answer\na,Who won?,Ann,Dan,Jan,Stan,B\na,Who won?,Ann,Dan,Jan,Stan,b) Dan\n"),
        (
            "q.CSV",
            "sep=;\r\nID;Question;a;b;c;d;Answer;reference\r\na; Who won? ;Ann;Dan;Jan;Stan;dan.;We won.\r\n"
            "a;;;;;;;We won.\r\n;;;;;;;\r\na;Who won?;Ann;Dan;Jan;Stan; Dan;We won.\r\n",
        ),
        ("q.tsv", "question\tanswer\tD\tC\tB\tA\tid\n" + "Who won?\tDAN\tStan\tJan\tDan\tAnn\ta\n" * 2),
    ],
)
def test_questions_by_hand_need_neither_all_keys_nor_a_letter(tmp_path, name, content):
    tmp_path.joinpath(name).write_text(content)
    assert read_questions(tmp_path / name) == [
        HAND | {"question_id": f"a-q{number}", "writer": "hand", "checkers": [], "prompt_version": 0}
        for number in (1, 2)
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id,question,A,B,C,answer\na,Who?,x,y,z,x\n", "no column 'D'; it has id, .*, answer; rename a column$"),
        ("id,question,A,B,C,D,answer\na,Who?,x,y,z,,x\n", "line 2: option '' is not a text; correct or delete"),
        (
            "id,question,A,B,C,D,answer\na,Which?,B,C,D,A,b\n",
            r"line 2: answer 'b' is the letter of 'C' and the text of option A; write 'B\. C' or 'A\. b'$",
        ),
        ("id,question,A,B,C,D,answer\n\n,Who?,x,y,z,w,x\n", "line 3: misses 'id'"),
    ],
)
def test_a_table_of_questions_that_cannot_be_read_is_named(tmp_path, content, message):
    tmp_path.joinpath("q.csv").write_text(content)
    with pytest.raises(SpeechIQError, match=message):
        read_questions(tmp_path / "q.csv")


def test_options_that_are_letters_may_be_answered_by_letter_and_text(tmp_path):
    file, head = tmp_path / "q.csv", "id,question,A,B,C,D,answer"
    file.write_text(f"{head}\na,Which?,B,C,D,A,B. C\na,Which?,B,C,D,A,A. B\na,Which?,A,B,C,D,B\n")
    assert [row["answer"] for row in read_questions(file)] == ["B", "A", "B"]


def test_a_template_is_a_table_that_has_no_questions_yet(tmp_path):
    file = tmp_path / "q.csv"
    write_template(file, [{"id": "set/a", "text": "Où? \n Yes, sir."}, {"id": "set/b", "text": "No."}])
    lines = file.read_text(encoding="utf-8-sig").splitlines()
    assert lines == [
        "id,question,A,B,C,D,answer,reference",
        *['set/a,,,,,,,"Où? Yes, sir."'] * 3,
        *["set/b,,,,,,,No."] * 3,
    ]
    assert read_questions(file) == []


def test_what_is_written_is_read_again(tmp_path):
    file = tmp_path / "deep" / "set.jsonl"
    write_questions(file, [GOOD | {"question": "Où?\u2028Ja"}, LEFT_OUT])
    assert read_questions(file) == [GOOD | {"question": "Où?\u2028Ja"}, LEFT_OUT]
    assert list(file.parent.iterdir()) == [file]


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    file = tmp_path / "set.jsonl"
    write_questions(file, [GOOD])

    def full(_descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SpeechIQError, match=r"cannot write .*set\.jsonl.*: No space left"):
        write_questions(file, [LEFT_OUT])
    assert read_questions(file) == [GOOD] and list(tmp_path.iterdir()) == [file]


def test_locate_prefers_the_file_named_then_the_users(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_QUESTIONS", str(tmp_path))
    with pytest.raises(
        SpeechIQError, match=r"nowhere\.jsonl; write it with `siq data questions --dataset nowhere --wr"
    ):
        find_questions("nowhere")
    mine, other = tmp_path / "nowhere.jsonl", tmp_path / "other.jsonl"
    mine.touch()
    assert find_questions("nowhere") == mine
    for named in (other, "~nobody-of-this-name/other.jsonl", "x" * 300 + "other.jsonl"):
        with pytest.raises(SpeechIQError, match=r"no question file .*other\.jsonl"):
            find_questions("nowhere", named)
    other.with_suffix(".csv").touch()
    assert find_questions("nowhere", str(other)) == other.with_suffix(".csv")
    other.touch()
    with pytest.raises(SpeechIQError, match=r"other\.csv': questions are in other\.jsonl too; remove one of the two"):
        find_questions("nowhere", str(other))
    other.with_suffix(".csv").unlink()
    assert find_questions("nowhere", str(other)) == other


def test_a_set_of_ones_own_is_named_by_its_folder_in_the_error(tmp_path):
    (tmp_path / "siq_calls_remember.yaml").touch()
    with pytest.raises(SpeechIQError, match=f"siq data questions --dataset {tmp_path} --writer"):
        find_questions("calls", tmp_path / "questions.jsonl")


def test_join_is_by_id_in_the_order_of_the_clips():
    rows = [GOOD | {"id": clip, "question_id": f"{clip}-{n}"} for n in range(2) for clip in "ab"]
    rows += [{"id": clip, "question_id": f"{clip}-2", "left_out": "why"} for clip in "ba"]
    joined = join_questions(rows, ["b", "a"], "set")
    assert [row["question_id"] for row in joined] == ["b-0", "b-1", "a-0", "a-1"]


def test_questions_for_unknown_clips_are_counted():
    with pytest.raises(SpeechIQError, match="set: questions for 2 clips that the set does not have, x among them"):
        join_questions([GOOD | {"id": clip} for clip in "xyx"], ["a"], "set")


def test_a_partial_file_is_one_error_that_says_how_to_complete_it():
    with pytest.raises(
        SpeechIQError, match=r"2 of 2 clips have too few questions, a among them with 1 of 3; .*--dataset set"
    ):
        join_questions([GOOD | {"id": "a"}], ["a", "b"], "set")
