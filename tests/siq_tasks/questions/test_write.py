"""Writing over real HTTP: what passes, what is left out, and a run that breaks and goes on."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter

import pytest

from speechiq.core.cache.row_files import seal, unseal
from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.loaders import bundled
from speechiq.siq_tasks.questions.authors import OpenAIAuthor, StoredAnswers
from speechiq.siq_tasks.questions.file import join_questions, read_questions, write_questions
from speechiq.siq_tasks.questions.write import (
    CostEstimate,
    WritingPlan,
    answers_of,
    ask_for_letter,
    ask_for_questions,
    write_missing,
)
from tests.commands import refusal, succeed
from tests.conftest import KEY
from tests.siq_tasks.conftest import read_lines
from tests.siq_tasks.questions.server import completion, draft, good_author, serving

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("endpoint_key")]

HANGS, AT_ONCE = 120, 60  # seconds; a busy machine needs some to end a Python process
CLIPS = bundled.list_clips()
IDS = [clip["id"] for clip in CLIPS]
COMMAND = "import sys; from speechiq.cli.main import main; sys.argv.insert(1, 'data'); main()"


def run(script, output, clips=CLIPS, workers=4, **settings):
    with serving(script) as server:
        author = OpenAIAuthor("good", server.url, max_retries=0)
        plan = WritingPlan(author, [author], **settings)
        return write_missing(clips, plan, output, "demo", workers), server.requests


def is_writing(prompt):
    return prompt.startswith("You write")


def test_braces_in_a_reference_are_text():
    assert ask_for_questions("so {count} it {}", 3).endswith("Transcript:\nso {count} it {}")
    assert "so {}" in ask_for_letter("Who {}?", ["{a}"], "so {}")


def test_a_good_author_writes_three_questions_a_clip_with_balanced_letters(tmp_path):
    outcome, requests = run(good_author, tmp_path / "demo.jsonl")
    rows = read_questions(tmp_path / "demo.jsonl")
    assert rows == outcome.rows and not outcome.failures
    assert [row["id"] for row in join_questions(rows, IDS, "demo")] == [clip for clip in IDS for _ in range(3)]
    counts = Counter(row["answer"] for row in rows)
    assert set(counts) == set("ABCD") and max(counts.values()) - min(counts.values()) <= 1
    assert all(row["options"]["ABCD".index(row["answer"])] == "rightly" for row in rows)
    assert len({tuple(row["options"]) for row in rows}) > 4
    assert rows[0]["checkers"] == ["openai:good"] and rows[0]["prompt_version"] == 1
    assert len(requests) == outcome.asked == CostEstimate(CLIPS, WritingPlan(None, [None])).requests == 14 * (1 + 3 * 2)


def test_the_file_does_not_depend_on_threads_but_on_the_seed(tmp_path):
    def hasty(prompt, number):
        time.sleep(number % 3 / 100)
        return good_author(prompt)

    files = [tmp_path / f"{name}.jsonl" for name in ("alone", "together", "other")]
    run(hasty, files[0], workers=1)
    run(hasty, files[1], workers=8)
    run(hasty, files[2], workers=8, seed=1)
    assert files[0].read_bytes() == files[1].read_bytes() != files[2].read_bytes()


BAD_WRITERS = {
    "a refusal": ("I'm sorry, I can't help with that.", "no JSON, perhaps a refusal"),
    "malformed JSON": ('{"questions": [', "no JSON, perhaps a refusal"),
    "broken JSON": ('{"questions": [}', "malformed JSON"),
    "another schema": ('{"questions": [{"q": 1}, {}, {}]}', "JSON of another schema"),
    "a list of texts": ('{"questions": ["Who?", "What?", "When?"]}', "JSON of another schema"),
    "too few": (draft("What is fact 1?"), "another number of questions"),
    "a tag": (draft("1?", "2?", "3?", distractors=["<inaudible>", "b", "c"]), "options that break a rule"),
    "options alike": (draft("1?", "2?", "3?", distractors=["b", "B", "c"]), "options that break a rule"),
    "one question thrice": (draft("1?", "1?", "1?"), "a question asked before"),
    "a leak": (draft("Is it rightly?", "Rightly, no?", "So rightly?"), "a question that contains its answer"),
}


@pytest.mark.parametrize("case", BAD_WRITERS)
def test_what_a_bad_writer_says_is_counted_and_left_out(case, tmp_path):
    text, reason = BAD_WRITERS[case]
    outcome, _ = run(
        lambda prompt, _: text if is_writing(prompt) else good_author(prompt), tmp_path / "q", CLIPS[:1], rewrites=0
    )
    left_out = [row for row in outcome.rows if "left_out" in row]
    assert outcome.failures[reason] and left_out and len(outcome.rows) == 3
    assert all(reason in row["left_out"] for row in left_out)
    assert len(join_questions(read_questions(tmp_path / "q"), IDS[:1], "demo")) == 3 - len(left_out)


def test_a_question_that_fails_its_check_is_written_anew_with_the_old_one_named(tmp_path):
    outcome, requests = run(
        lambda prompt, _: "E" if "fact 1?" in prompt and not is_writing(prompt) else good_author(prompt),
        tmp_path / "q", CLIPS[:1],
    )  # fmt: skip
    assert [row["question"] for row in outcome.rows] == ["What is fact 0?", "What is fact 3?", "What is fact 2?"]
    assert outcome.failures == {"not answered right by openai:good": 1}
    written = [request["messages"][0]["content"] for request in requests]
    again = [prompt for prompt in written if is_writing(prompt)][1]
    assert "Write one question about it" in again and "- What is fact 1?\n" in again


@pytest.mark.parametrize(("right_of_three", "kept"), [(1, 0), (2, 3)])
def test_a_checker_must_be_right_in_most_of_its_tries(right_of_three, kept, tmp_path):
    tries = Counter()

    def unsure(prompt, _number):
        tries[prompt] += 1
        return good_author(prompt) if is_writing(prompt) or tries[prompt] <= right_of_three else "?"

    outcome, _ = run(unsure, tmp_path / "q", CLIPS[:1], workers=1, rewrites=0)
    assert sum("question" in row for row in outcome.rows) == kept


def test_a_server_that_dies_half_way_keeps_what_was_answered(tmp_path):
    output = tmp_path / "demo.jsonl"
    answered = 40

    def dying(prompt, number):
        return good_author(prompt) if number <= answered else (500, {}, "{}")

    with pytest.raises(
        SpeechIQError, match=r"answered 500, .*; \d+ of 14 clips .* 40 answers cached in .*answers: run"
    ):
        run(dying, output)
    assert not output.exists()
    (file,) = answers_of(output).rglob("*.jsonl")
    with file.open("ab") as lines:
        lines.write(b'0815abcd ["torn apart by a ki')
    outcome, requests = run(good_author, output)
    assert len(requests) == outcome.asked == 98 - answered
    run(good_author, tmp_path / "clean.jsonl")
    assert output.read_bytes() == (tmp_path / "clean.jsonl").read_bytes()
    assert len(StoredAnswers(answers_of(output))) == 98


def test_a_run_killed_at_once_goes_on_without_paying_twice(tmp_path):
    output, workers = tmp_path / "demo.jsonl", 2

    def slow(prompt, _number):
        time.sleep(0.01)
        return good_author(prompt)

    with serving(slow) as server:
        good = f"openai:good,base_url={server.url}"
        arguments = f"questions --dataset demo --writer {good} --checker {good} --yes"
        command = [sys.executable, "-c", COMMAND, *arguments.split(), "--output", output, "--workers", str(workers)]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        while len(server.requests) < 30 and process.poll() is None:
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL and not output.exists()
        paid = len(server.requests)
        done = succeed("data", *command[3:])
        assert "answers of an earlier run in" in done.stderr and "42 questions, 0 left out" in done.stderr
        assert 30 <= paid < 90 and 98 <= len(server.requests) <= 98 + workers
        again = succeed("data", *command[3:])
        assert "0 of 14 clips have no or too few questions" in again.stderr and "; 0 requests; " in again.stderr
    run(good_author, tmp_path / "clean.jsonl")
    assert output.read_bytes() == (tmp_path / "clean.jsonl").read_bytes()


def test_a_partial_file_is_completed_and_what_it_holds_is_kept(tmp_path):
    output = tmp_path / "demo.jsonl"
    hand = read_lines(bundled.DEMO / "questions.jsonl")
    write_questions(output, hand[:4])
    outcome, requests = run(good_author, output)
    assert outcome.rows[:4] == hand[:4] and len(outcome.rows) == 42
    assert len(requests) == 13 + (42 - 4) * 2
    assert len(join_questions(read_questions(output), IDS, "demo")) == 42
    with pytest.raises(SpeechIQError, match="demo: questions for 1 clip that the set does not have, demo/earnings-1"):
        run(good_author, output, [clip for clip in CLIPS if clip["id"] != "demo/earnings-1"])


def test_the_key_is_nowhere_but_in_the_request(tmp_path):
    output = tmp_path / "demo.jsonl"

    def echo(prompt, number):
        return good_author(prompt) if number < 20 else (401, {}, '{"error": {"message": "wrong: {key}"}}')

    with pytest.raises(SpeechIQError) as error:
        run(echo, output)
    run(good_author, output)
    written = [file.read_text() for file in tmp_path.rglob("*") if file.is_file()]
    assert len(written) == 4 and not any(KEY in text for text in (*written, str(error.value), repr(error.value)))


def test_the_estimate_comes_first_and_alone_with_a_dry_run_that_needs_no_key(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    arguments = "data questions --dataset demo --writer openai:m --checker openai:m --checker openai:n --dry-run"
    printed = succeed(*arguments.split(), "--output", tmp_path / "q").stderr
    assert "siq: about 182 requests, " in printed and "at most" in printed
    assert not list(tmp_path.iterdir())


def test_writer_and_checkers_may_each_have_an_address_and_a_key(tmp_path, monkeypatch):
    monkeypatch.setenv("OTHER_KEY", "sk-other-0815")
    with serving(good_author) as one, serving(good_author) as other:
        more = f"openai:better,base_url={other.url},key_variable=OTHER_KEY,timeout=60"
        good = f"openai:good,base_url={one.url}"
        arguments = f"data questions --dataset demo --writer {good} --checker {good} --checker {more} --yes"
        done = succeed(*arguments.split(), "--output", tmp_path / "q")
    assert {asked["model"] for asked in one.requests} == {"good"} and len(one.requests) == 14 * 7
    assert {asked["model"] for asked in other.requests} == {"better"} and len(other.requests) == 14 * 6
    assert {header["Authorization"] for header in other.headers} == {"Bearer sk-other-0815"}
    assert read_questions(tmp_path / "q")[0]["checkers"] == ["openai:good", "openai:better"]
    assert "0815" not in done.stderr + "".join(file.read_text() for file in answers_of(tmp_path / "q").rglob("*.json*"))


@pytest.mark.parametrize(
    ("body", "reason"), [(completion([None]), "without text"), (completion(""), "empty reply")], ids=["null", "empty"]
)
def test_a_reply_without_an_answer_stops_the_run_and_is_not_kept(body, reason, tmp_path):
    def script(prompt, number):
        return good_author(prompt) if number < 20 else (200, {}, body)

    with pytest.raises(SpeechIQError, match=f"sent .*{reason}.* 19 answers cached in"):
        run(script, tmp_path / "q")
    assert not tmp_path.joinpath("q").exists()
    assert len(StoredAnswers(answers_of(tmp_path / "q"))) == 19
    outcome, requests = run(good_author, tmp_path / "q")
    assert len(requests) == 98 - 19 and not outcome.failures


def test_empty_edited_and_damaged_answers_are_asked_for_again(tmp_path):
    run(good_author, tmp_path / "q")
    (file,) = answers_of(tmp_path / "q").rglob("*.jsonl")
    lines = file.read_bytes().splitlines(keepends=True)
    lines[::7] = [seal(key, "") for line in lines[::7] for key in unseal(line)]
    lines[1::7] = [line.replace(b'"', b"'", 1) for line in lines[1::7]]
    lines[2::7] = [line[:40] for line in lines[2::7]]
    file.write_bytes(b"".join(lines))
    whole = tmp_path.joinpath("q").read_bytes()
    tmp_path.joinpath("q").unlink()
    _, requests = run(good_author, tmp_path / "q")
    assert len(requests) == 4 * 14 and tmp_path.joinpath("q").read_bytes() == whole


def test_one_ctrl_c_ends_writing_at_once_and_keeps_what_was_answered(tmp_path):
    enough, held, answered = threading.Event(), threading.Event(), 40

    def hanging(prompt, number):
        if number <= answered:
            return good_author(prompt)
        enough.set()
        held.wait(HANGS)
        return "late"

    with serving(hanging) as server:
        good = f"openai:good,base_url={server.url}"
        errors, took, status = interrupt(enough, "questions", "--dataset", "demo", "--writer", good,
            "--checker", good, "--output", str(tmp_path / "q"), "--yes")  # fmt: skip
        held.set()
    assert took < AT_ONCE and status == 130 and "Traceback" not in errors
    last = errors.splitlines()[-1]
    assert re.match(r"siq: stopped by hand after \d+ of 14; \d+ of 14 clips .*q\.answers: run the same command", last)
    assert f" {answered} answers cached in" in last and "Abort" not in errors
    _, requests = run(good_author, tmp_path / "q")
    assert len(requests) == 98 - answered


def test_one_ctrl_c_ends_a_check(tmp_path):
    enough, held = threading.Event(), threading.Event()
    questions = str(bundled.DEMO / "questions.jsonl")
    with serving(lambda *_: (enough.set(), held.wait(HANGS), "A")[2]) as server:
        errors, took, status = interrupt(enough, "check", questions, "--reader", f"openai:m,base_url={server.url}")
        held.set()
    assert took < AT_ONCE and status == 130 and errors.splitlines()[-1] == "siq: stopped by hand after 0 of 42"


def interrupt(enough, *arguments):
    """What a command says, how long it goes on, and its status, when Ctrl-C comes while its server hangs."""
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments], stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    try:
        assert enough.wait(HANGS)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        _, errors = process.communicate(timeout=HANGS)
        return errors, time.monotonic() - began, process.returncode
    finally:
        process.kill()


def test_an_output_that_is_no_file_is_refused_before_anything_is_asked(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path, tmp_path / "pipe"):
        arguments = f"data questions --dataset demo --writer openai:m --checker openai:m --output {place} --dry-run"
        assert "is a folder, a pipe or a device; name a file" in refusal(*arguments.split())
