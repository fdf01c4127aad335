import os
import time

from typer.testing import CliRunner

from speechiq.core.shelves import look, prune
from speechiq.core.store import Shelf
from speechiq.reducer.cli import app


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


def test_the_command_lists_and_takes_away(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_STORE", str(tmp_path))
    fill(tmp_path, "a\x1b[2Jmodel")
    told = CliRunner().invoke(app, ["store", "info"])
    assert told.exit_code == 0 and "\x1b[2J" not in told.stdout and "model" in told.stdout
    assert CliRunner().invoke(app, ["store", "prune", "--older-than", "0"], input="n\n").exit_code == 1
    assert look(tmp_path)
    assert CliRunner().invoke(app, ["store", "prune", "--older-than", "0", "--yes"]).exit_code == 0
    assert not look(tmp_path)


def test_no_store_is_an_empty_list():
    assert look(None) == [] and prune(None, 0) == []
