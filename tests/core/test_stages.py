"""Test what is done with stages of the response cache: listed, removed, exported, merged, refused if damaged."""

from __future__ import annotations

import os
import re
import shutil
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from speechiq.cli.main import app
from speechiq.core.cache import stage_cache, stages
from speechiq.core.cache.stage_cache import FORMAT, StageCache
from speechiq.core.cache.stages import list_stages, prune
from speechiq.core.errors import SpeechIQError
from speechiq.core.recordings.audio_file import save_samples
from tests.commands import refusal, siq


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


ASR, LLM = {"stage": "asr", "model": "a"}, {"stage": "text", "model": "b"}


@pytest.fixture
def on_machine(tmp_path, monkeypatch):
    """Go to a machine: a response cache and a cache folder of its own."""

    def go(name):
        monkeypatch.setenv("SIQ_STORE", str(tmp_path / name / "store"))
        monkeypatch.setenv("SIQ_CACHE", str(tmp_path / name))
        return tmp_path / name / "store"

    return go


@pytest.fixture
def archive(on_machine, tmp_path):
    """Write an archive of a machine with two stages."""
    store = on_machine("one")
    StageCache(ASR, store).add({"a": ["one", {"coverage": 1.0}], "b": ["two", {}]})
    StageCache(LLM, store).add({"q": ["x"] * 5})
    file = tmp_path / "one.zip"
    assert siq("store", "export", file) == f"wrote {file}: 2 stages, 3 rows\n"
    return file


def rows_of(store):
    return {stage.stage["stage"]: stage.rows for stage in list_stages(store)}


def test_rows_of_machines_come_together_and_none_is_overwritten(archive, on_machine):
    store = on_machine("two")
    StageCache(ASR, store).add({"b": ["mine", {}], "c": ["three", {}]})
    before = [file.read_bytes() for file in store.glob("*/*.jsonl")]
    done = CliRunner().invoke(app, ["store", "merge", str(archive)])
    assert done.stdout == "2 rows added, 0 were there already\n"
    assert "siq: warning: 1 row with another content than the one here, which stays" in done.stderr
    assert set(before) <= {file.read_bytes() for file in store.glob("*/*.jsonl")}
    merged = StageCache(ASR, store)
    merged.fetch(["a", "b", "c"])
    assert {key: row[0] for key, row in merged.rows.items()} == {"a": "one", "b": "mine", "c": "three"}
    assert siq("store", "merge", archive, archive) == "0 rows added, 4 were there already\n"
    assert rows_of(store) == {"asr": 3, "text": 1}


def test_spoken_audio_comes_with_its_rows(on_machine, tmp_path):
    store = on_machine("one")
    clip = save_samples(np.linspace(-0.5, 0.5, 1600, dtype=np.float32), "ramp")
    row = {name: clip[name] for name in ("path", "sha256", "duration")}
    StageCache({"stage": "speech"}, store).add({"a": row, "gone": row | {"path": f"clips/aa/{'a' * 64}.flac"}})
    assert "1 stage, 2 rows, 1 spoken clip" in siq("store", "export", tmp_path / "one.zip")
    on_machine("two")
    assert siq("store", "merge", tmp_path / "one.zip").startswith("2 rows added, 1 spoken clip")
    assert (tmp_path / "two" / clip["path"]).read_bytes() == (tmp_path / "one" / clip["path"]).read_bytes()


def rewrite(archive, old, new):
    """Write an archive again with other names and contents."""
    with zipfile.ZipFile(archive) as source:
        contents = {name: source.read(name) for name in source.namelist()}
    with zipfile.ZipFile(archive, "w") as target:
        for name, content in contents.items():
            target.writestr(name.replace(old, new), content.replace(old.encode(), new.encode()))


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('"one"', '"own"', r"rows.jsonl line 1: is damaged; export it again, or copy it again"),
        (f'"store_format": {FORMAT}', '"store_format": 1', r"stage.json: has rows in format 1, this speechiq reads "),
        ('"model": "a"', '"model": "c"', r"stage.json: is damaged \(its digest differs\)"),
        ("rows", "../../rows", r"rows.jsonl: does not belong to a response cache; give an archive that `siq store ex"),
    ],
)
def test_a_changed_archive_is_refused_before_anything_is_added(archive, on_machine, tmp_path, old, new, fault):
    good = shutil.copy(archive, tmp_path / "good.zip")
    rewrite(archive, old, new)
    store = on_machine("two")
    error = refusal("store", "merge", good, archive)
    assert error.startswith(f"{archive}: ") and re.search(fault, error)
    assert not list_stages(store)


def test_what_is_no_archive_and_a_part_of_one_are_one_line(archive, on_machine, tmp_path):
    on_machine("two")
    (tmp_path / "half.zip").write_bytes(archive.read_bytes()[: archive.stat().st_size // 2])
    (tmp_path / "bits.zip").write_bytes(archive.read_bytes().replace(b"rows.jsonl", b"rovs.jsonl", 1))
    for name, fault in (
        ("half", "is damaged (File is not a zip file); export it again"),
        ("bits", "is damaged (File name in directory"),
        ("missing", "cannot be read (No such file"),
    ):
        assert f"{name}.zip': {fault}" in refusal("store", "merge", tmp_path / f"{name}.zip")


def test_an_empty_cache_and_none_are_refused(on_machine, tmp_path, monkeypatch):
    on_machine("one")
    assert "has no rows; name another one by SIQ_STORE=FOLDER" in refusal("store", "export", tmp_path / "one.zip")
    monkeypatch.setenv("SIQ_STORE", "off")
    assert refusal("store", "export", tmp_path / "one.zip").startswith("SIQ_STORE=off: the response cache is off")


def test_a_row_longer_than_any_is_not_read_into_memory(archive, on_machine, monkeypatch):
    rewrite(archive, '"one"', '"%s"' % ("1" * 5000))
    monkeypatch.setattr(stages, "LONGEST_ROW", 1000)
    store = on_machine("two")
    assert "rows.jsonl line 1: is damaged" in refusal("store", "merge", archive)
    assert not list_stages(store)


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_what_is_no_file_of_rows_is_named(archive, on_machine, tmp_path, make):
    store = on_machine("one")
    make(next(store.iterdir()) / "more.jsonl")
    assert re.search(r"cannot read '.*more.jsonl': .*; remove it", refusal("store", "export", tmp_path / "again.zip"))


OTHER = b'{"stage": "asr", "model": "z", "store_format": %d}' % FORMAT


@pytest.mark.parametrize(
    ("kind", "damage", "exported", "told"),
    [
        ("stage.json", lambda content: b"{", "1 stage, 1 row", "1 stage with a damaged stage.json left out"),
        ("stage.json", lambda content: OTHER, "1 stage, 1 row", "1 stage with a damaged stage.json left out"),
        ("*.jsonl", lambda content: content + b'0000000 ["half', "2 stages, 3 row", "1 damaged line left out"),
    ],
)
def test_a_damaged_stage_and_what_a_kill_left_are_left_out(archive, on_machine, tmp_path, kind, damage, exported, told):
    store = on_machine("one")
    (stage,) = (file.parent for file in store.glob("*/stage.json") if b'"asr"' in file.read_bytes())
    (file,) = stage.glob(kind)
    file.write_bytes(damage(file.read_bytes()))
    done = CliRunner().invoke(app, ["store", "export", str(tmp_path / "again.zip")])
    assert exported in done.stdout and told in done.stderr
    on_machine("two")
    assert siq("store", "merge", tmp_path / "again.zip").startswith(f"{exported.partition(', ')[2]}")
