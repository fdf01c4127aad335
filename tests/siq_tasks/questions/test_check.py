"""Test the lines of `siq data check` and `siq data croissant` about question files."""

import hashlib
import json
import shutil

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.loaders import bundled
from speechiq.siq_tasks.questions.check import WITH, WITHOUT, check_file, describe_report
from speechiq.siq_tasks.questions.file import read_questions, write_questions
from tests.commands import call, refusal, siq
from tests.siq_tasks.conftest import read_lines

QUESTIONS = bundled.DEMO / "questions.jsonl"
REFERENCES = {clip["id"]: clip["text"] for clip in bundled.list_clips()}


class Cheat:
    """Knows the answers where it sees the reference, says A elsewhere."""

    name = "test:cheat"

    def __init__(self):
        self.answers = {row["question"]: row["answer"] for row in read_questions(QUESTIONS)}

    def ask(self, prompt, temperature, seed):
        known = [answer for question, answer in self.answers.items() if f": {question}\n" in prompt]
        return known[0] if prompt.startswith("Here is the transcript") else "A"


def test_the_demos_questions_have_no_fault_and_even_letters():
    report = check_file(QUESTIONS, REFERENCES, Cheat())
    assert (report.questions, report.left_out, report.faults) == (42, 0, [])
    assert report.letters == {"A": 11, "B": 11, "C": 10, "D": 10}
    assert report.readings[WITH].acc == 1 and report.readings[WITHOUT].acc == 11 / 42
    assert "A 26.2 %" in describe_report(report)[1]


def test_a_leak_a_repetition_and_left_out_questions_are_reported(tmp_path):
    rows = read_questions(QUESTIONS)[:3]
    right = rows[0]["options"]["ABCD".index(rows[0]["answer"])]
    rows[0]["question"] = f"Was it {right}, as they say?"
    rows[2]["question"] = rows[1]["question"]
    rows.append({"id": rows[0]["id"], "question_id": "x", "left_out": "why"})
    write_questions(tmp_path / "q", rows)
    report = check_file(tmp_path / "q")
    assert report.left_out == 1 and len(report.faults) == 2
    done = call("data", "check", tmp_path / "q")
    assert done.exit_code == 1 and "earnings-1-q1: the question contains its answer" in done.stdout


def test_no_line_of_the_report_steers_the_terminal(tmp_path):
    rows = read_questions(QUESTIONS)[:2]
    right = rows[0]["options"]["ABCD".index(rows[0]["answer"])]
    rows[0] |= {"question": f"Was it {right}?", "question_id": "q\x1b[2J"}
    rows[1]["answer"] = "\x1b]0;title\x07"
    write_questions(tmp_path / "leak", rows[:1])
    write_questions(tmp_path / "bad", rows)
    leak = call("data", "check", tmp_path / "leak")
    assert leak.exit_code == 1 and "q" in leak.stdout
    assert "\x1b" not in leak.output + refusal("data", "check", tmp_path / "bad")


def test_a_file_that_does_not_fit_the_clips_is_refused():
    with pytest.raises(SpeechIQError, match="1 of 15 clips have too few questions, new among them with 0 of 3"):
        check_file(QUESTIONS, REFERENCES | {"new": "text"})


def test_the_command_checks_the_demo_and_names_a_bad_line(tmp_path):
    assert siq("data", "check", QUESTIONS, "--dataset", "demo").startswith("42 questions, 0 left out")
    (tmp_path / "q").write_text("[]\n")
    line = refusal("data", "check", tmp_path / "q")
    assert f"{tmp_path}/q' line 1 is not a whole JSON object (it is [])" in line


def test_metadata_do_not_name_another_data_set():
    line = refusal("data", "check", QUESTIONS, "--dataset", "demo", "--metadata", "dataset=demo")
    assert "dataset=demo: the clips are those of demo" in line


OPTIONS = ("--license", "CC0-1.0", "--url", "https://example.org/questions")


def test_a_question_file_is_described(tmp_path):
    file, output = tmp_path / "questions.jsonl", tmp_path / "croissant.json"
    shutil.copy(bundled.DEMO / "questions.jsonl", file)
    siq("data", "croissant", file, *OPTIONS, "-o", output)
    content = json.loads(output.read_text())
    (described,), (records,) = content["distribution"], content["recordSet"]
    assert described["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest() and content["license"] == "CC0-1.0"
    assert content["name"] == "demo-questions" and content["description"].startswith("42 questions about")
    rows = read_lines(file)
    for field in records["field"]:
        column = field["source"]["extract"]["column"]
        assert field["source"]["fileObject"]["@id"] == described["@id"] == file.name
        assert all(isinstance(row[column], list if field.get("repeated") else str) for row in rows)
    assert "exists" in refusal("data", "croissant", file, *OPTIONS, "-o", output)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("-o", "croissant.json"), "--output croissant.json: not in the folder of the question file, to which"),
        (("-o", "set/croissant.json", "--url", "foo"), "--url foo: not an address; give a page such as https://"),
    ],
)
def test_a_description_that_leads_nowhere_is_refused(tmp_path, monkeypatch, options, line):
    monkeypatch.chdir(tmp_path)
    tmp_path.joinpath("set").mkdir()
    shutil.copy(bundled.DEMO / "questions.jsonl", "set/questions.jsonl")
    error = refusal("data", "croissant", "set/questions.jsonl", *OPTIONS, *options)
    assert error.startswith(line) and [path.name for path in tmp_path.rglob("*.*")] == ["questions.jsonl"]
    if "--url" not in options:
        assert error.endswith("; write set/croissant.json")


def test_a_file_without_questions_is_one_line(tmp_path):
    (tmp_path / "notes.jsonl").write_text('{"id": "a"}')
    line = refusal("data", "croissant", tmp_path / "notes.jsonl", *OPTIONS, "-o", tmp_path / "croissant.json")
    assert "notes.jsonl" in line
    line = refusal("data", "croissant", tmp_path / "notes.csv", *OPTIONS, "-o", tmp_path / "croissant.json")
    assert "not JSON lines, whose fields Croissant describes; publish the questions as .jsonl" in line
