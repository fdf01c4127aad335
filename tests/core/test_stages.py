import os
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from speechiq.cli.main import app
from speechiq.core.cache import stage_cache
from speechiq.core.cache.stage_cache import StageCache
from speechiq.core.cache.stages import list_stages, prune
from speechiq.core.errors import SpeechIQError


def fill(store, model, age=0.0):
    cache = StageCache({"stage": "llm", "model": model}, store)
    cache.add({"a": 1, "b": 2})
    for file in cache.folder.iterdir():
        os.utime(file, (time.time() - age, time.time() - age))


def test_the_store_is_listed_stage_by_stage_and_other_files_are_left_alone(tmp_path):
    fill(tmp_path, "older", age=9 * 86_400)
    fill(tmp_path, "newer")
    tmp_path.joinpath("notes").mkdir()
    tmp_path.joinpath("notes", "mine.jsonl").write_text("{}\n")
    newer, older = list_stages(tmp_path)
    assert (newer.stage["model"], newer.rows, older.stage["model"]) == ("newer", 2, "older")
    assert [stage.stage["model"] for stage in prune(tmp_path, 7)] == ["older"]
    assert [stage.stage["model"] for stage in list_stages(tmp_path)] == ["newer"]
    assert tmp_path.joinpath("notes", "mine.jsonl").exists()


def test_a_stage_that_is_read_counts_as_used(tmp_path):
    fill(tmp_path, "read every day", age=9 * 86_400)
    fill(tmp_path, "forgotten", age=9 * 86_400)
    StageCache({"stage": "llm", "model": "read every day"}, tmp_path)
    assert [stage.stage["model"] for stage in prune(tmp_path, 7)] == ["forgotten"]


def test_files_that_go_while_they_are_listed_are_left_out(tmp_path):
    fill(tmp_path, "merged")
    (described,) = tmp_path.glob("*/stage.json")
    described.with_name("1.jsonl").symlink_to("gone")
    assert [stage.rows for stage in list_stages(tmp_path)] == [2]


def test_what_a_run_adds_while_its_stage_is_removed_is_left(tmp_path, monkeypatch):
    cache, remove = StageCache({"stage": "llm"}, tmp_path), Path.rmdir
    monkeypatch.setattr(Path, "rmdir", lambda folder: (cache.add({"a": 1}), remove(folder)))
    assert len(prune(tmp_path, 0)) == 1
    assert [stage.rows for stage in list_stages(tmp_path)] == [1]


def test_a_stage_that_cannot_be_removed_is_one_line_and_keeps_no_other(tmp_path):
    for model in "abc":
        fill(tmp_path, model)
    first = list_stages(tmp_path)[0].folder
    first.joinpath("mine").mkdir()
    with pytest.raises(SpeechIQError, match=f"cannot remove '{first}': .*; fix that, or choose another"):
        prune(tmp_path, 0)
    assert not [stage for stage in list_stages(tmp_path) if stage.folder != first]


def test_the_command_lists_and_removes(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_STORE", str(tmp_path))
    fill(tmp_path, "a\x1b[2Jmodel")
    listed = CliRunner().invoke(app, ["store", "list"])
    assert listed.exit_code == 0 and "\x1b[2J" not in listed.stdout and "model" in listed.stdout
    assert CliRunner().invoke(app, ["store", "remove", "--older-than", "0"], input="n\n").exit_code == 1
    assert list_stages(tmp_path)
    assert CliRunner().invoke(app, ["store", "remove", "--older-than", "0", "--yes"]).exit_code == 0
    assert not list_stages(tmp_path)


def test_drafts_of_killed_runs_are_counted_and_removed_and_those_of_active_runs_are_not(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path / "cache"))
    fill(tmp_path / "store", "model")
    (stage,) = tmp_path.glob("store/*/stage.json")
    clips, drafts = tmp_path / "cache" / "clips", {".0123456789abcdef.draft": 90_000, ".f123456789abcdef.draft": 60}
    folders = (stage.parent, clips, clips / "ab", tmp_path / "store" / "mine")
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
        for name, age in drafts.items():
            folder.joinpath(name).write_bytes(b"x" * 100)
            os.utime(folder / name, (time.time() - age, time.time() - age))
        folder.joinpath("clip.wav").touch()
    listed = CliRunner().invoke(app, ["store", "list"])
    assert "3 drafts of killed runs, 300 bytes" in listed.stderr
    assert CliRunner().invoke(app, ["store", "remove", "--older-than", "9", "--yes"]).exit_code == 0
    assert [len(list(folder.glob(".*"))) for folder in folders] == [1, 1, 1, 2]
    assert "drafts" not in CliRunner().invoke(app, ["store", "list"]).stderr


def test_stages_of_another_format_are_listed_left_unread_and_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_STORE", str(tmp_path))
    with monkeypatch.context() as older:
        older.setattr(stage_cache, "FORMAT", 2)
        fill(tmp_path, "old", age=2 * 86_400)
        fill(tmp_path, "old", age=2 * 86_400)
    (stage,) = list_stages(tmp_path)
    assert (stage.rows, stage.is_read) == (4, False)
    cache = StageCache({"stage": "llm", "model": "old"}, tmp_path)
    cache.fetch(["a"])
    assert not cache.rows
    listed = CliRunner().invoke(app, ["store", "list"])
    expected = "1 stage in the format of another version, not used; `siq store remove` removes such stages"
    assert expected in listed.stderr
    assert [found.folder for found in prune(tmp_path, 1)] == [stage.folder]


def test_no_store_is_an_empty_list():
    assert list_stages(None) == [] and prune(None, 0) == []
