import os
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from speechiq.cli.main import app
from speechiq.core.errors import SpeechIQError
from speechiq.core.shelves import look, prune
from speechiq.core.store import Shelf


def fill(store, model, age=0.0):
    shelf = Shelf({"stage": "llm", "model": model}, store)
    shelf.keep({"a": 1, "b": 2})
    for file in shelf.folder.iterdir():
        os.utime(file, (time.time() - age, time.time() - age))


def test_the_store_is_told_stage_by_stage_and_other_files_are_left_alone(tmp_path):
    fill(tmp_path, "older", age=9 * 86_400)
    fill(tmp_path, "newer")
    tmp_path.joinpath("notes").mkdir()
    tmp_path.joinpath("notes", "mine.jsonl").write_text("{}\n")
    newer, older = look(tmp_path)
    assert (newer.stage["model"], newer.rows, older.stage["model"]) == ("newer", 2, "older")
    assert [stage.stage["model"] for stage in prune(tmp_path, 7)] == ["older"]
    assert [stage.stage["model"] for stage in look(tmp_path)] == ["newer"]
    assert tmp_path.joinpath("notes", "mine.jsonl").exists()


def test_a_stage_that_is_read_counts_as_used(tmp_path):
    fill(tmp_path, "read every day", age=9 * 86_400)
    fill(tmp_path, "forgotten", age=9 * 86_400)
    Shelf({"stage": "llm", "model": "read every day"}, tmp_path)
    assert [stage.stage["model"] for stage in prune(tmp_path, 7)] == ["forgotten"]


def test_files_that_go_while_they_are_listed_are_left_out(tmp_path):
    fill(tmp_path, "put together")
    (told,) = tmp_path.glob("*/stage.json")
    told.with_name("1.jsonl").symlink_to("gone")
    assert [stage.rows for stage in look(tmp_path)] == [2]


def test_what_a_run_adds_while_its_stage_is_taken_away_is_left(tmp_path, monkeypatch):
    shelf, remove = Shelf({"stage": "llm"}, tmp_path), Path.rmdir
    monkeypatch.setattr(Path, "rmdir", lambda folder: (shelf.keep({"a": 1}), remove(folder)))
    assert len(prune(tmp_path, 0)) == 1
    assert [stage.rows for stage in look(tmp_path)] == [1]


def test_a_stage_that_cannot_be_taken_away_is_one_line(tmp_path):
    fill(tmp_path, "shared")
    (told,) = tmp_path.glob("*/stage.json")
    told.with_name("mine").mkdir()
    with pytest.raises(SpeechIQError, match=f"cannot take away '{told.parent}': .*; mend that, or choose another"):
        prune(tmp_path, 0)


def test_one_that_cannot_be_taken_away_keeps_no_other(tmp_path):
    for model in "abc":
        fill(tmp_path, model)
    first = look(tmp_path)[0].folder
    first.joinpath("mine").mkdir()
    with pytest.raises(SpeechIQError, match=str(first)):
        prune(tmp_path, 0)
    assert not [stage for stage in look(tmp_path) if stage.folder != first]


def test_the_command_lists_and_takes_away(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_STORE", str(tmp_path))
    fill(tmp_path, "a\x1b[2Jmodel")
    told = CliRunner().invoke(app, ["store", "info"])
    assert told.exit_code == 0 and "\x1b[2J" not in told.stdout and "model" in told.stdout
    assert CliRunner().invoke(app, ["store", "prune", "--older-than", "0"], input="n\n").exit_code == 1
    assert look(tmp_path)
    assert CliRunner().invoke(app, ["store", "prune", "--older-than", "0", "--yes"]).exit_code == 0
    assert not look(tmp_path)


def test_drafts_of_killed_runs_are_counted_and_taken_away_and_those_of_runs_at_work_are_not(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path / "cache"))
    fill(tmp_path / "store", "model")
    (stage,) = tmp_path.glob("store/*/stage.json")
    folders = (
        stage.parent,
        tmp_path / "cache" / "clips",
        tmp_path / "cache" / "clips" / "ab",
        tmp_path / "store" / "mine",
    )
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
        for name, age in (
            (".0123456789abcdef.draft", 90_000),
            (".stage.json.4242-7", 90_000),
            (".f123456789abcdef.draft", 60),
        ):
            folder.joinpath(name).write_bytes(b"x" * 100)
            os.utime(folder / name, (time.time() - age, time.time() - age))
        folder.joinpath("clip.wav").touch()
    told = CliRunner().invoke(app, ["store", "info"])
    assert "6 drafts of killed runs, 600 bytes" in told.stderr
    assert CliRunner().invoke(app, ["store", "prune", "--older-than", "9", "--yes"]).exit_code == 0
    assert [len(list(folder.glob(".*"))) for folder in folders] == [1, 1, 1, 3]
    assert "drafts" not in CliRunner().invoke(app, ["store", "info"]).stderr


def test_no_store_is_an_empty_list():
    assert look(None) == [] and prune(None, 0) == []
