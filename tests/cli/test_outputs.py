"""`--output`: the ending of a name chooses the format."""

from __future__ import annotations

import csv
import json

import pytest
from typer.testing import CliRunner

from speechiq.cli.main import app
from speechiq.core.errors import SpeechIQError


def siq(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def test_endings_choose_the_formats(two_runs, tmp_path):
    files = [tmp_path / name for name in ("o.json", "o.csv", "o.md", "o.tex")]
    done = siq("score", two_runs, *(word for file in files for word in ("-o", file)))
    assert done.exit_code == 0
    rows = json.loads(files[0].read_text())["systems"]
    with files[1].open() as table:
        assert [row["system"] for row in csv.DictReader(table)] == [row["system"] for row in rows]
    assert files[2].read_text().startswith(("#", "|", "**")) and "tabular" in files[3].read_text()


@pytest.mark.parametrize(
    "name, fault",
    [
        ("o.jsn", "its ending names no format; did you mean .json? end the name in .json or .csv"),
        ("o.xlsx", "end the name in .json or .csv or .md or .tex or .html, or name a folder"),
        ("nowhere/o.json", "cannot write"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_the_work(tmp_path, name, fault):
    refused = siq("score", "nowhere", "-o", tmp_path / name).exception
    assert isinstance(refused, SpeechIQError) and fault in str(refused)


def test_one_file_is_not_written_twice(two_runs, tmp_path):
    refused = siq("score", two_runs, "-o", tmp_path / "o.json", "-o", tmp_path / "o.json").exception
    assert isinstance(refused, SpeechIQError) and "is named for two outputs" in str(refused)


def test_only_formats_of_the_command_are_offered(tmp_path):
    refused = siq("compare", "a", "b", "-o", tmp_path / "o.csv").exception
    assert isinstance(refused, SpeechIQError) and "end the name in .json" in str(refused)


@pytest.mark.parametrize("command", [["score"], ["study", "labels"]])
def test_a_page_is_not_written_into_a_file_of_another_kind(tmp_path, command):
    refused = siq(*command, tmp_path, "-o", tmp_path / "page.pdf").exception
    assert isinstance(refused, SpeechIQError) and "its ending names no format; " in str(refused)
