"""Released questions, which name no clips, joined to clips by the text of their references."""

import json

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.loaders import bundled
from speechiq.siq_tasks.questions.file import join_questions, read_questions
from speechiq.siq_tasks.questions.released import join_released, parse_four_options, read_released
from tests.commands import call, siq

OPTIONS = "(A) a fire \n(B) higher prices\n (C) a fine \n(D) a strike"


def clip(name, text):
    return {"id": f"set/{name}", "text": text}


CLIPS = [
    clip("a", "Good morning, everybody; we begin with the quarterly results."),
    clip("b", "Where does it hurt?"),
    clip("c", "Where does it hurt?"),
    clip("d", "The <inaudible> numbers were rather good in the second quarter of the year."),
]


def asked(question, options=OPTIONS, answer="C"):
    return {"question": question, "options": options, "correct answer": answer}


def entry(gold, *questions):
    return {"gold": gold, "qa": list(questions) or [asked(f"{gold} {i}?") for i in range(3)]}


def released(folder, entries, text=None):
    file = folder / "released.json"
    file.write_text(json.dumps(entries) if text is None else text)
    return file


@pytest.fixture
def entries():
    return [
        entry("good morning everybody, we begin with the quarterly results"),
        entry("Where does it hurt?", *(asked(f"first {i}?") for i in range(3))),
        entry("Where does it hurt?", *(asked(f"second {i}?") for i in range(3))),
        entry("The inaudible numbers were rather good in the second quarter of the year."),
    ]


def test_entries_join_by_normalized_text_and_repeated_texts_in_order(tmp_path, entries):
    outcome = join_released(read_released(released(tmp_path, entries)), CLIPS)
    assert (outcome.joined, outcome.near, outcome.strangers, outcome.without) == (4, [], [], [])
    questions = {row["question_id"]: row["question"] for row in outcome.rows}
    assert questions["set/b-q1"] == "first 0?" and questions["set/c-q3"] == "second 2?"
    assert {row["answer"] for row in outcome.rows} == {"C"} and len(outcome.rows) == 12
    assert {row["writer"] for row in outcome.rows} == {"openai:gpt-4o"}


def test_near_matches_are_listed_and_joined_only_on_request(tmp_path, entries):
    entries[3] = entry("The numbers were rather good in the second quarter of this year.")
    given = read_released(released(tmp_path, entries))
    listed = join_released(given, CLIPS)
    assert [near.clip for near in listed.near] == ["set/d"] and listed.without == ["set/d"] and listed.joined == 3
    assert all("left_out" in row for row in listed.rows if row["id"] == "set/d")
    taken = join_released(given, CLIPS, take_near=True)
    assert taken.joined == 4 and not taken.strangers and len(taken.near) == 1


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        (asked("q?", "(A) a\n(B) b\n(C) c"), "options unreadable"),
        (asked("q?", "a, b, c, d"), "options unreadable"),
        (asked("q?", "(A) a\n(B) A.\n(C) c\n(D) d"), "duplicate options"),
        (asked("q?", answer="E"), "the right letter has no option"),
        (asked("q?", answer="a fine"), "the right letter has no option"),
        (asked("q?", "(A) a\n(B) b\n(C) Inaudible banking\n(D) d"), "the right option holds a transcriber's tag"),
        (asked("q?", "(A) a\n(B) <crosstalk>\n(C) c\n(D) d"), "a question or option that breaks a rule"),
    ],
)
def test_a_question_that_cannot_be_used_is_left_out_by_its_reason(tmp_path, question, reason):
    given = read_released(released(tmp_path, [entry(CLIPS[0]["text"], question, asked("x?"), asked("y?"))]))
    outcome = join_released(given, CLIPS[:1])
    ((found, count),) = outcome.left_out.items()
    assert found.startswith(reason) and count == 1
    assert sorted("left_out" in row for row in outcome.rows) == [False, False, True]


@pytest.mark.parametrize(
    "options",
    [
        ("-5", "5", "+5", "~5"),
        ("1.5", "15", "1,5", ".15"),
        ("5 %", "5", "5 kg", "5 g"),
        ("1:5", "1/5", "1-5", "15"),
        ("C", "C++", "C#", "C%"),
        ("€5", "£5", "$5", "5"),
    ],
)
def test_options_that_differ_by_a_sign_a_decimal_or_a_unit_are_imported(tmp_path, options):
    text = "\n".join(f"({letter}) {option}" for letter, option in zip("ABCD", options, strict=True))
    given = read_released(released(tmp_path, [entry(CLIPS[0]["text"], asked("q?", text), asked("x?"), asked("y?"))]))
    outcome = join_released(given, CLIPS[:1])
    assert not outcome.left_out and outcome.rows[0]["options"] == list(options)


@pytest.mark.parametrize("same", [("2,000", "two thousand"), ("5%", "five percent"), ("-5", "minus five"), ("a.", "A")])
def test_options_that_differ_in_writing_alone_are_duplicates(tmp_path, same):
    question = asked("q?", f"(A) {same[0]}\n(B) {same[1]}\n(C) c\n(D) d")
    given = read_released(released(tmp_path, [entry(CLIPS[0]["text"], question, asked("x?"), asked("y?"))]))
    assert join_released(given, CLIPS[:1]).left_out == {"duplicate options": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"gold": "a", "qa": [', "is not whole JSON"),
        ("[]", "has no entries"),
        ('{"gold": "a"}', "does not hold released questions"),
        ('[{"gold": "a", "qa": [{"question": "q?"}]}]', "does not hold released questions"),
    ],
)
def test_a_file_that_is_not_a_list_of_questions_is_one_line(tmp_path, text, message):
    with pytest.raises(SpeechIQError, match=message):
        read_released(released(tmp_path, None, text))


def test_options_are_read_with_and_without_brackets():
    assert parse_four_options("A) a\nB. b\n(C) c\n\nD) d ") == ["a", "b", "c", "d"]
    assert parse_four_options("(B) b\n(A) a\n(C) c\n(D) d") == []


def test_the_command_writes_a_question_file_that_the_tasks_read(tmp_path):
    clips = bundled.list_clips()
    made = [entry(clip["text"]) for clip in clips]
    file, out = released(tmp_path, made), tmp_path / "demo.jsonl"
    printed = siq("paper", "questions", file, "--dataset", "demo", "--output", out)
    assert f"{len(clips)} entries: {len(clips)} joined, 0 near matches, 0 strangers" in printed
    assert "right letters: A 0, B 0, C" in printed
    rows = join_questions(read_questions(out), [clip["id"] for clip in clips], "demo")
    assert len(rows) == 3 * len(clips) and len({row["source_sha256"] for row in rows}) == 1


def test_questions_of_another_data_set_are_refused_and_nothing_is_written(tmp_path, entries):
    out = tmp_path / "demo.jsonl"
    done = call("paper", "questions", released(tmp_path, entries), "--dataset", "demo", "--output", out)
    assert isinstance(done.exception, SpeechIQError) and "0 of 4 entries are about clips of demo" in str(done.exception)
    assert "stranger: 'good morning" in done.output and not out.exists()
