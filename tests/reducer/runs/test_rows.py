"""How often commands read sample files, and what is decoded of their rows."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from speechiq.cli.main import app
from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.samples import read_text_rows
from tests.reducer.conftest import levels, write_run

SYSTEMS = {"good": 0.9, "fair": 0.6, "bad": 0.3}
VOTES = {1.0: ["A", list("AAAAB")], 0.0: ["B", list("BBBBA")]}

_opened: list[str] = []
_counting = False


def _count(event: str, arguments: tuple[object, ...]) -> None:
    """Keep the names of sample files; an opener of `open` raises a second event, without a mode."""
    if _counting and event == "open" and arguments[1] is not None:
        name = Path(str(arguments[0])).name
        if name.startswith("samples_"):
            _opened.append(name)


sys.addaudithook(_count)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the sample files that this process opens."""
    _opened.clear()
    monkeypatch.setattr(sys.modules[__name__], "_counting", True)
    return _opened


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Three systems with all three levels, answers as the suite's template has them."""
    for date, (name, skill) in enumerate(SYSTEMS.items(), 1):
        write_run(tmp_path / "runs" / name, levels(skill), system=name, date=float(date))
    for path in tmp_path.glob("runs/*/samples_demo_2_*"):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps(row | {"filtered_resps": [VOTES[row["acc"]]]}) + "\n" for row in rows))
    return tmp_path / "runs"


@pytest.mark.parametrize(
    ("command", "files", "opens"),
    [
        (["score", "RUNS", "--bootstrap", "0"], 9, 1),
        (["score", "RUNS", "--bootstrap", "0", "--levels", "remember,apply"], 6, 1),
        (["score", "RUNS", "--bootstrap", "0", "-o", "OUT"], 9, 2),
        (["score", "RUNS", "--bootstrap", "0", "--levels", "apply", "-o", "OUT"], 6, 2),
        (["study", "unanswerable", "RUNS", "-o", "REVIEW"], 3, 1),
        (["compare", "good", "bad", "RUNS", "--bootstrap", "0"], 9, 1),
        (["compare", "good", "bad", "RUNS", "--bootstrap", "0", "--clips", "2"], 9, 2),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else None,
)
def test_sample_files_are_opened_once(runs, tmp_path, opened, command, files, opens):
    """The texts of a page and of `compare` need a second pass; only the scores say which clips `compare` shows."""
    places = {"RUNS": str(runs), "OUT": str(tmp_path / "out.html"), "REVIEW": str(tmp_path / "review.jsonl")}
    done = CliRunner().invoke(app, [places.get(word, word) for word in command])
    assert done.exit_code == 0, done.exception
    counts = Counter(opened)
    assert len(counts) == files and max(counts.values()) == opens


@pytest.mark.parametrize(
    ("given", "response"),
    [(["said"], "said"), ([["said"]], "said"), ("said", "said"), ([], ""), ([[]], ""), (None, None), (3, 3)],
)
def test_the_response_is_the_first_text_inside_lists(tmp_path, given, response):
    path = tmp_path / "samples.jsonl"
    path.write_text(json.dumps({"doc": {"id": "a"}, "filtered_resps": given}))
    (row,) = read_text_rows(path)
    assert row.response == response


def test_what_no_reader_asks_for_is_not_decoded(tmp_path):
    """An unused field with a number that nothing can use is no reason to refuse a row."""
    path = tmp_path / "samples.jsonl"
    path.write_text(json.dumps({"doc": {"id": "a", "other": 10**400}, "arguments": [10**400]}))
    assert [row.doc.id for row in read_text_rows(path)] == ["a"]
    path.write_text(json.dumps({"doc": {"id": "a", "audio": 10**400}}))
    with pytest.raises(SpeechIQError, match="line 1 cannot be used: it contains a number of 401 digits"):
        list(read_text_rows(path))
