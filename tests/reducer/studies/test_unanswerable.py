"""From what systems failed, over a person's verdicts, to a frozen set."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import add_checksum
from speechiq.reducer.scores.suites import read_answers
from speechiq.reducer.studies.unanswerable import (
    SCHEMA,
    VERSION,
    confirm,
    find_unanswerable,
    read_confirmed,
    write_review,
    write_set,
)
from tests.commands import call, print_and_write, refusal, succeed
from tests.reducer.conftest import frozen_set, levels, write_answers, write_run

ANSWERS = {
    "good": {"q1": "AAAAA", "q2": "AAAAA", "q3": "BBBAA", "q4": "EEEEE"},
    "bad": {"q1": "AAAAA", "q2": "CCCCC", "q3": "?????", "q4": "BBBBB"},
    "worse": {"q1": "BBBBB", "q2": "CCCCC", "q3": "DDDDD", "q4": "CCCCC"},
}
GOLD = {"q1": "AAAAA", "q2": "AAAAA", "q3": "AAAAA", "q4": "EEEEE"}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    for system, letters in ANSWERS.items():
        write_answers(folder / system, system, letters)
    write_answers(folder / "gold", "gold+llm", GOLD, asr={"control": "gold"})
    write_answers(folder / "letter", "letter:A", dict.fromkeys(GOLD, "AAAAA"), kind="control", control="letter:A")
    return folder


@pytest.fixture
def review(runs: Path, tmp_path: Path) -> Path:
    write_review(find_unanswerable(read_answers([runs])), tmp_path / "review.jsonl")
    return tmp_path / "review.jsonl"


def judge(review: Path, **changes: object) -> None:
    """Changes the line of each question: a dict of keys, None to delete, or a text to stand there instead."""
    lines = {json.loads(line)["question_id"]: line for line in review.read_text().splitlines()}
    for question, change in changes.items():
        lines[question] = change if isinstance(change, str) else json.dumps(json.loads(lines[question]) | change)
    review.write_text("".join(f"{line}\n" for line in lines.values() if line))


def verdicts(**of: str | None) -> dict[str, dict]:
    return {question: {"verdict": verdict} for question, verdict in of.items()}


JUDGED = verdicts(q2="answerable", q3="wrong_key", q4="unanswerable")


def error_of(function, *arguments) -> str:
    with pytest.raises(SpeechIQError) as caught:
        function(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_candidates_are_what_at_least_half_of_the_systems_fail(runs):
    rows = find_unanswerable(read_answers([runs]))
    assert [(row["question_id"], row["failed"], round(row["share"], 3)) for row in rows] == [
        ("q3", 3, 1.0),
        ("q4", 3, 1.0),
        ("q2", 2, 0.667),
    ]
    keys = "id, question_id, question, options, answer, text, audio, failed, share, systems, gold, verdict, note"
    assert ", ".join(rows[0]) == keys
    assert rows[0]["systems"] == {
        "bad": {"vote": "?", "letters": "?????"},
        "good": {"vote": "B", "letters": "BBBAA"},
        "worse": {"vote": "D", "letters": "DDDDD"},
    }
    assert rows[0]["gold"] == {"gold+llm": {"vote": "A", "letters": "AAAAA"}}
    assert {row["verdict"] for row in rows} == {None} and {row["note"] for row in rows} == {""}


@pytest.mark.parametrize(("share", "count"), [(0.0, 4), (1 / 3, 4), (2 / 3, 3), (0.67, 2), (1.0, 2)])
def test_the_share_is_the_users(runs, share, count):
    assert len(find_unanswerable(read_answers([runs]), share)) == count


def test_controls_alone_are_no_systems(tmp_path):
    write_answers(tmp_path, "silence+llm", GOLD, asr={"control": "silence"})
    assert error_of(find_unanswerable, read_answers([tmp_path])).startswith("only controls ('silence+llm')")


def test_a_review_is_frozen_and_read_back(review, tmp_path):
    judge(review, **JUDGED)
    frozen = confirm(review)
    assert frozen["reviewed"] == 3 and [row["question_id"] for row in frozen["questions"]] == ["q3", "q4"]
    write_set(frozen, tmp_path / "set.json")
    confirmed = read_confirmed(tmp_path / "set.json")
    assert {item: of.verdict for item, of in confirmed.items()} == {
        ("clip", "q3"): "wrong_key",
        ("clip", "q4"): "unanswerable",
    }


def test_an_editor_may_leave_its_marks(review):
    judge(review, **JUDGED)
    plain = confirm(review)
    lines = review.read_text().splitlines()
    review.write_bytes(("\ufeff" + "\r\n".join(reversed(lines)) + "\r\n\r\n").encode())
    assert confirm(review) == plain


def test_hostile_text_stays_text(tmp_path):
    name = "=HYPERLINK(1)</script>[red]\\"
    write_answers(tmp_path / "s", name, {"q1": "BBBBB"})
    (row,) = find_unanswerable(read_answers([tmp_path]))
    row["text"] = "=1+1\u2028"
    write_review([row | {"verdict": "unanswerable"}], tmp_path / "review.jsonl")
    written = json.loads((tmp_path / "review.jsonl").read_text(encoding="utf-8"))
    assert list(written["systems"]) == [name] and written["text"] == row["text"]
    assert confirm(tmp_path / "review.jsonl")["reviewed"] == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (verdicts(q3="wrong_key", q4="unanswerable"), "1 of 3 lines have no verdict, the first at line 3; fill in"),
        ({}, "3 of 3 lines have no verdict, the first at line 1, 2, 3"),
        (JUDGED | verdicts(q3="unaswerable"), "line 1: verdict 'unaswerable' is unknown: write unanswerable or"),
        (JUDGED | {"q3": {"verdict": ["unanswerable"]}}, "line 1: verdict ['unanswerable'] is unknown"),
        (JUDGED | {"q4": '{"id": "cli'}, "line 2 is not a whole JSON object"),
        (JUDGED | {"q4": "[1]"}, "line 2 is not a whole JSON object (it is [1])"),
        (JUDGED | {"q4": {"question_id": "q3"}}, "line 2: clip 'clip' question 'q3' is a duplicate of line 1"),
        (JUDGED | {"q4": {"options": "one"}}, "line 2: Expected `array`, got `str` - at `$.options`"),
        (JUDGED | {"q4": {"note": None}}, "line 2: Expected `str`, got `null` - at `$.note`"),
        (
            JUDGED | {"q4": {"answer": 10**400}},
            "line 2 is not a whole JSON object (it contains a number of 401 digits)",
        ),
        (JUDGED | {"q4": '{"\\ud800": 1}'}, "line 2 is not a whole JSON object (it contains half a surrogate pair"),
        (JUDGED | {"q4": '{"note": ' + "[" * 100_000}, "line 2 is not a whole JSON object (it is nested too deeply)"),
        (dict.fromkeys(JUDGED, ""), "has no line to confirm"),
    ],
    ids=lambda value: None if isinstance(value, dict) else value[:40],
)
def test_a_review_that_is_not_done_or_spoilt(review, changes, message):
    judge(review, **changes)
    assert message in error_of(confirm, review)


def test_a_review_that_is_no_text(review):
    review.write_bytes(b"\xff\xfe")
    assert "save it in UTF-8" in error_of(confirm, review)
    assert "cannot be read" in error_of(confirm, review.with_name("nowhere"))


def edit(path: Path, change) -> None:
    content = json.loads(path.read_text())
    path.write_text(json.dumps(change(content)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content | {"reviewed": 4}, "was changed after it was made"),
        (lambda content: content | {"version": 2}, "has version 2 of speechiq-unanswerable, this speechiq reads 1"),
        (lambda content: content | {"schema": "norms"}, "is not a speechiq-unanswerable file"),
    ],
)
def test_a_set_that_was_edited_or_is_none(review, tmp_path, change, message):
    judge(review, **JUDGED)
    path = tmp_path / "set.json"
    write_set(confirm(review), path)
    edit(path, lambda content: dict(reversed(content.items())))
    assert read_confirmed(path), "another order of keys is the same set"
    edit(path, change)
    assert message in error_of(read_confirmed, path)
    path.write_text("{")
    assert "is not JSON" in error_of(read_confirmed, path)
    assert "cannot be read" in error_of(read_confirmed, tmp_path / "nowhere")


def test_a_set_whose_hash_fits_but_whose_questions_do_not(tmp_path):
    for questions in (
        None,
        [3],
        [{"id": "a"}],
        [{"id": "a", "question_id": "b", "asked": "", "verdict": "answerable"}],
    ):
        write_set(add_checksum(SCHEMA, VERSION, {"questions": questions}), tmp_path / "set.json")
        assert "cannot be read" in error_of(read_confirmed, tmp_path / "set.json")


def test_the_commands_and_a_persons_work(runs, tmp_path):
    review, frozen = tmp_path / "review.jsonl", tmp_path / "set.json"
    found = succeed("study", "unanswerable", runs, "-o", review)
    assert "3 of 4 questions fail in at least 50 % of the systems" in found.stderr
    judge(review, **JUDGED)
    work = review.read_text()
    again = refusal("study", "unanswerable", runs, "-o", review)
    assert "exists; name another file" in again and review.read_text() == work
    done = succeed("study", "unanswerable", runs, "--review", review, "-o", frozen)
    assert "1 unanswerable, 1 wrong_key of 3 reviewed" in done.stderr
    assert "exists" in refusal("study", "unanswerable", runs, "--review", review, "-o", frozen)
    succeed("study", "unanswerable", runs, "-o", review, "--force")
    assert "no verdict" in refusal("study", "unanswerable", runs, "--review", review, "-o", frozen, "--force")
    assert read_confirmed(frozen)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--output nothing: the candidates are written to one file; name one that ends in .jsonl"),
        (["-o", "a.json"], "--output a.json: the candidates are written to one file; name one that ends in .jsonl"),
        (["--review", "r.jsonl", "-o", "a.jsonl"], "--output a.jsonl: the confirmed questions are written to one file"),
        (["--review", "r.jsonl", "--set", "s.json"], "--review r.jsonl and --set s.json: one makes a set"),
    ],
)
def test_options_that_do_not_fit_are_refused_before_anything_is_read(tmp_path, options, message):
    refused = refusal("study", "unanswerable", tmp_path / "nowhere", *options)
    assert refused.startswith(message)


def test_nothing_to_review(tmp_path):
    write_answers(tmp_path / "s", "s", {"q1": "AAAAA"})
    done = succeed("study", "unanswerable", tmp_path, "-o", tmp_path / "review.jsonl")
    assert "0 of 1 questions" in done.stderr and not (tmp_path / "review.jsonl").exists()


def test_questions_that_all_answered_are_used_if_that_is_allowed(runs, tmp_path):
    write_answers(runs / "more", "more", GOLD | {"q5": "BBBBB"})
    review = tmp_path / "review.jsonl"
    command = ("study", "unanswerable", runs, "-o", review)
    refused = "did not answer 1 of 5 questions, such as clip 'clip' question 'q5'; run all systems on the same tasks"
    assert refused in refusal(*command) and "or add --allow-mismatch to use the 4 that all answered" in refusal(
        *command
    )
    done = succeed(*command, "--allow-mismatch")
    assert "warning: 1 of 5 questions are left out: not all systems answered them" in done.stderr
    assert "of 4 questions fail in at least" in done.stderr
    assert all(len(json.loads(line)["systems"]) == 4 for line in review.read_text().splitlines())
    write_answers(runs / "other", "other", {"q6": "AAAAA"})
    alone = refusal(*command, "--allow-mismatch", "--force")
    assert "did not answer 5 of 6 questions" in alone or "did not answer 2 of 6 questions" in alone
    assert "--allow-mismatch" not in alone


def test_scores_without_the_set_say_so(two_runs):
    chosen = frozen_set(two_runs / "set.json", ("demo/0", "demo/0#0"), *(("demo/1", f"demo/1#{q}") for q in range(3)))
    printed, scores = print_and_write("score", two_runs, "--exclude", chosen, "--bootstrap", 40)
    assert "left out of Apply: 4 questions of the unanswerable set" in printed
    assert scores["excluded"] == 4
    assert scores["clips"] == {"remember": 4, "understand": 4, "apply": 3}, "clip 1 lost all its questions"


def test_questions_of_a_level_that_is_not_scored_are_not_left_out(two_runs):
    chosen = frozen_set(two_runs / "set.json", ("demo/0", "demo/0#0"))
    refused = refusal("score", two_runs, "--exclude", chosen, "--levels", "remember")
    fault = "it leaves out questions of Apply, which --levels does not name; add apply to --levels"
    assert refused.startswith(f"--exclude {chosen}: {fault}")


def test_a_set_of_other_questions_is_not_left_out(two_runs):
    refused = refusal("score", two_runs, "--exclude", frozen_set(two_runs / "set.json", ("demo/0", "q")))
    assert refused.startswith(
        "1 of 1 questions of the set are not in the runs of system 'bad', such as clip 'demo/0' question 'q'; give runs"
    )
    everything = [(f"demo/{clip}", f"demo/{clip}#{q}") for clip in range(4) for q in range(3)]
    refused = refusal("score", two_runs, "--exclude", frozen_set(two_runs / "set.json", *everything))
    assert refused.startswith("level apply: without the 12 excluded questions, system 'bad' has none left")


@pytest.mark.parametrize("command", ["score", "compare"])
@pytest.mark.parametrize(
    "change", [{"question": "Who?"}, {"options": ("two", "one", "three", "four")}, {"answer": "B"}]
)
def test_questions_that_read_otherwise_are_not_left_out(two_runs, command, change):
    chosen = frozen_set(two_runs / "set.json", ("demo/0", "demo/0#0"), **change)
    runs = [two_runs / "good", two_runs / "bad"]
    output = ["-o", two_runs / "out.json"]
    refused = call(command, *runs, *output, "--exclude", chosen)
    assert str(refused.exception).startswith("1 of 1 questions have another wording in the runs of system '")
    assert refused.stdout == "" and not (two_runs / "out.json").exists()


def test_rows_that_do_not_tell_their_question(two_runs):
    chosen = frozen_set(two_runs / "set.json", ("demo/0", "demo/0#0"))
    write_run(two_runs / "bad", levels(0.1), system="bad")
    for path in (two_runs / "bad").glob("samples_demo_2_*"):
        path.write_text(path.read_text().replace('"question": ', '"asked": '))
    assert "line 1 needs id, question_id, question" in refusal("score", two_runs, "--exclude", chosen)
