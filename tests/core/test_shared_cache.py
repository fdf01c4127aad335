"""Processes and threads share the rows of a stage, also while others write or remove them."""

import multiprocessing
import os
import signal
import time
from errno import ENOENT, ESTALE
from threading import Thread

import pytest

from speechiq.core.cache import row_files
from speechiq.core.cache.row_files import seal
from speechiq.core.cache.stage_cache import StageCache, cached
from speechiq.core.cache.stages import list_stages, prune
from speechiq.core.files.json_text import content_sha256
from speechiq.core.files.plain import open_plain
from tests.core.stage_rows import STAGE, fill, square, stored


def test_a_line_that_another_process_is_writing_is_read_when_it_is_whole(tmp_path):
    fill(tmp_path, [1])
    (file,) = tmp_path.rglob("*.jsonl")
    cache, line = StageCache(STAGE, tmp_path), seal("late", ["row"])
    for part in (line[:20], line[20:]):
        cache.fetch(["late"])
        assert not cache.rows
        with file.open("ab") as lines:
            lines.write(part)
    cache.fetch(["late"])
    assert cache.rows == {"late": ["row"]} and len(cache) == 2


def write_until_killed(folder):
    fill(folder, list(range(100_000)))


@pytest.mark.slow
def test_a_process_killed_at_any_moment_leaves_only_whole_rows(tmp_path, caplog):
    for runs in range(3):
        process = multiprocessing.get_context("fork").Process(target=write_until_killed, args=(tmp_path,))
        process.start()
        while sum(stage.rows for stage in list_stages(tmp_path)) <= 20 * runs:
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    rows = stored(tmp_path, range(100_000))
    assert rows and all(row == {"square": key**2, "half": key / 3} for key, row in rows.items())
    assert not caplog.records


def test_a_run_whose_stage_is_removed_meanwhile_continues_and_its_later_rows_are_found(tmp_path):
    def compute(items, on_result):
        square(items[:2], on_result)
        assert prune(tmp_path, 0) and not list_stages(tmp_path)
        on_result([2], ["third"])

    assert fill(tmp_path, [1, 2, 3], compute)[1:] == [{"square": 4, "half": 2 / 3}, "third"]
    assert [stage.rows for stage in list_stages(tmp_path)] == [1] and stored(tmp_path, [1, 2, 3]) == {3: "third"}


def test_a_stage_may_be_removed_in_the_midst_of_a_write(tmp_path, monkeypatch):
    cache, flush = StageCache(STAGE, tmp_path), os.fsync

    def take_away_once(file):
        monkeypatch.setattr(os, "fsync", flush)
        prune(tmp_path, 0)

    monkeypatch.setattr(os, "fsync", take_away_once)
    cache.add({content_sha256("1"): ["first"]})
    assert stored(tmp_path, [1]) == {1: ["first"]} and list_stages(tmp_path)


def test_rows_that_another_process_added_since_are_found(tmp_path):
    reader, writers = StageCache(STAGE, tmp_path), [StageCache(STAGE, tmp_path) for _ in range(2)]
    writers[0].add({"a": ["a"], "b": ["b"]})
    reader.fetch(["a"])
    writers[1].add({"c": ["c"]})
    reader.fetch(["c"])
    writers[0].add({"d": ["d"]})
    reader.fetch(["a", "b", "c", "d"])
    assert reader.rows == {key: [key] for key in "abcd"}


@pytest.mark.parametrize("number", [ESTALE, ENOENT])
def test_a_file_that_is_removed_while_it_is_read_misses_and_the_next_look_finds_it(tmp_path, monkeypatch, number):
    fill(tmp_path, [1])
    gone = [OSError(number, "gone")]

    def opened(path):
        if gone:
            raise gone.pop()
        return open_plain(path)

    monkeypatch.setattr(row_files, "open_plain", opened)
    cache, key = StageCache(STAGE, tmp_path), content_sha256("1")
    cache.fetch([key])
    assert not cache.rows and not gone
    cache.fetch([key])
    assert list(cache.rows) == [key]


def add_rows(folder, process):
    for key in range(process, 120, 6):
        cache = StageCache(STAGE, folder)
        cache.fetch(["nothing"])
        cache.add({content_sha256(str(key)): key})
        cache.add({content_sha256(str(key + 1000)): key})


def test_processes_that_add_rows_at_the_same_time_lose_no_row(tmp_path):
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=add_rows, args=(tmp_path, i)) for i in range(6)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    wanted = [*range(120), *range(1000, 1120)]
    assert stored(tmp_path, wanted) == {key: key % 1000 for key in wanted}


def add_from_threads(cache, numbers):
    for number in numbers:
        cached(cache, [number], str, square)


def test_threads_share_one(tmp_path):
    cache = StageCache(STAGE, tmp_path)
    threads = [Thread(target=add_from_threads, args=(cache, range(i, 80, 4))) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cache.added == 80 == len(stored(tmp_path, range(80))) and len(list(tmp_path.rglob("*.jsonl"))) == 1
