"""The description of a question file in Croissant names its fields and its digest."""

import hashlib
import json
import shutil

from speechiq.siq_tasks.loaders import bundled
from tests.commands import refusal, siq

OPTIONS = ("--license", "CC0-1.0", "--url", "https://example.org/questions")


def test_a_question_file_is_described(tmp_path):
    file, output = tmp_path / "questions.jsonl", tmp_path / "croissant.json"
    shutil.copy(bundled.DEMO / "questions.jsonl", file)
    siq("data", "croissant", file, *OPTIONS, "-o", output)
    content = json.loads(output.read_text())
    (described,), (records,) = content["distribution"], content["recordSet"]
    assert described["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest() and content["license"] == "CC0-1.0"
    assert content["name"] == "demo-questions" and content["description"].startswith("42 questions about")
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    for field in records["field"]:
        column = field["source"]["extract"]["column"]
        assert field["source"]["fileObject"]["@id"] == described["@id"] == file.name
        assert all(isinstance(row[column], list if field.get("repeated") else str) for row in rows)
    assert "exists" in refusal("data", "croissant", file, *OPTIONS, "-o", output)


def test_a_file_without_questions_is_one_line(tmp_path):
    (tmp_path / "notes.jsonl").write_text('{"id": "a"}')
    line = refusal("data", "croissant", tmp_path / "notes.jsonl", *OPTIONS, "-o", tmp_path / "croissant.json")
    assert "notes.jsonl" in line
