"""Test rows of a stage: computed once, kept, read as far as intact, and shared by processes and threads."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
import tracemalloc
import zlib
from errno import ENOENT, ESTALE
from importlib.metadata import version
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speechiq.core.cache import row_files
from speechiq.core.cache import stage_cache as module
from speechiq.core.cache.row_files import RowIndex, is_intact, seal
from speechiq.core.cache.stage_cache import StageCache, StageCount, cached, counting, end_count
from speechiq.core.cache.stages import list_stages, prune
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.folders import store_folder
from speechiq.core.files.json_text import content_sha256
from speechiq.core.files.plain import open_plain
from tests.conftest import full_disk

STAGE = {"model": "tiny", "dtype": "float32"}


def square(items, on_result):
    for i, item in enumerate(items):
        on_result([i], [{"square": item**2, "half": item / 3}])


def fill(folder, items, compute=square):
    """Return the rows of the items, computed unless they are on disk."""
    return cached(StageCache(STAGE, folder), items, str, compute)


def stored(folder, items, stage=STAGE):
    """Return the rows that are on disk, by item."""
    cache, keys = StageCache(stage, folder), {content_sha256(str(item)): item for item in items}
    cache.fetch(keys)
    return {keys[key]: row for key, row in cache.rows.items()}


def test_a_row_is_computed_once_and_read_by_the_next_run(tmp_path):
    computed = []

    def compute(items, on_result):
        computed.extend(items)
        square(items, on_result)

    first = cached(StageCache(STAGE, tmp_path), [3, 1, 3], lambda item: item, compute)
    again = cached(StageCache(STAGE, tmp_path), [1, 2, 3], lambda item: item, compute)
    assert computed == [3, 1, 2]
    assert first[0] == first[2] == again[2] == {"square": 9, "half": 1.0}


def test_another_stage_knows_nothing_of_it_and_without_a_folder_nothing_is_written(tmp_path):
    fill(tmp_path, [1])
    assert stored(tmp_path, [1]) and not stored(tmp_path, [1], STAGE | {"dtype": "bfloat16"})
    cached(StageCache(STAGE, None), [5], str, square)
    assert len(list(tmp_path.rglob("*.jsonl"))) == 1


def test_a_process_appends_its_batches_to_one_file(tmp_path):
    fill(tmp_path, list(range(20)))
    (file,) = tmp_path.rglob("*.jsonl")
    assert len(file.read_text().splitlines()) == 20 and f"-{os.getpid()}-" in file.name
    assert json.loads((file.parent / "stage.json").read_text()).items() > STAGE.items()


def test_what_was_done_before_a_failure_is_kept(tmp_path):
    def fail_at_last(items, on_result):
        square(items[:-1], on_result)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fill(tmp_path, [1, 2, 3], fail_at_last)
    assert set(stored(tmp_path, [1, 2, 3])) == {1, 2}


@given(cut=st.integers(0, 700), change=st.booleans())
def test_a_damaged_file_is_left_as_it_is_and_only_its_lost_rows_are_gone(tmp_path_factory, cut, change):
    folder = tmp_path_factory.mktemp("store")
    batch = [{"square": i**2, "half": i / 3} for i in range(10)]
    fill(folder, list(range(10)), lambda new, put: put(new, batch))
    (file,) = folder.rglob("*.jsonl")
    whole, lines = stored(folder, range(10)), file.read_bytes()
    cut %= len(lines)
    damaged = lines[:cut] + (b"~" + lines[cut + 1 :] if change else b"")
    file.write_bytes(damaged)
    left = stored(folder, range(10))
    assert left.items() <= whole.items()
    lost = 1 if change else 10 - lines[:cut].count(b"\n")
    assert len(whole) - len(left) <= lost + (lines[cut : cut + 1] == b"\n")
    assert fill(folder, list(range(10))) == [whole[i] for i in range(10)]
    assert file.read_bytes() == damaged and stored(folder, range(10)) == whole


@pytest.mark.parametrize("torn", [b'0f0f0f0f ["torn', b"\0" * 40, seal(content_sha256("9"), [9])[:-1]], ids=repr)
def test_what_follows_a_torn_line_in_a_file_is_read_and_skipped_lines_are_counted_once(tmp_path, caplog, torn):
    fill(tmp_path, [1])
    (file,) = tmp_path.rglob("*.jsonl")
    with file.open("ab") as lines:
        lines.write(torn + seal(content_sha256("2"), "glued to it") + seal(content_sha256("3"), "whole") + torn)
    cache = StageCache(STAGE, tmp_path)
    for _ in range(3):
        cache.fetch([content_sha256(str(key)) for key in (1, 2, 3, 9)])
    assert cache.rows == {content_sha256("1"): {"square": 1, "half": 1 / 3}, content_sha256("3"): "whole"}
    (record,) = caplog.records
    assert "2 damaged lines are skipped" in record.getMessage() and "computed again" in record.getMessage()


def test_of_two_rows_with_one_key_the_last_counts(tmp_path):
    for row in ("first", "second"):
        StageCache(STAGE, tmp_path).add({"a": row})
    cache = StageCache(STAGE, tmp_path)
    cache.fetch(["a"])
    assert cache.rows == {"a": "second"} and len(cache) == 1


STRANGE = [b"", b"5", b'["a"]', b'["a",1', b'[["a"],1]', b'{"a":1}', b'["' + b"[" * 100_000, b'["a",' + b"[" * 100_000]


@pytest.mark.parametrize("text", STRANGE, ids=lambda text: text[:9].decode())
def test_a_line_of_another_form_with_a_good_checksum_is_skipped(tmp_path, text):
    fill(tmp_path, [1, 2])
    (file,) = tmp_path.rglob("*.jsonl")
    file.write_bytes(b"%08x %s\n" % (zlib.crc32(text), text) + file.read_bytes())
    assert set(stored(tmp_path, [1, 2])) == {1, 2} == set(stored(tmp_path, [1, 2]))


def test_a_row_of_another_form_is_computed_again_with_one_warning(tmp_path, caplog):
    fill(tmp_path, [1, 2, 3], lambda new, put: put([0, 1, 2], [5, {"square": []}, {"square": 9}]))
    rows = cached(StageCache(STAGE, tmp_path), [1, 2, 3], str, square, dict[str, float])
    assert [row["square"] for row in rows] == [1, 4, 9]
    assert [record.getMessage() for record in caplog.records if "2 rows have another form" in record.getMessage()]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"a": ' + b"9" * 401 + b"}"])
def test_a_stage_that_cannot_be_read_stops_no_run_and_is_written_again_at_its_next_use(tmp_path, content):
    fill(tmp_path, [1])
    cached(StageCache({"model": "other"}, tmp_path), [1], str, square)
    (bad,) = {*tmp_path.glob("*/stage.json")} - {StageCache(STAGE, tmp_path).folder / "stage.json"}
    bad.write_bytes(content)
    assert [stage.rows for stage in list_stages(tmp_path)] == [1, 1]
    StageCache({"model": "other"}, tmp_path)
    assert all(stage.stage for stage in list_stages(tmp_path))
    bad.write_bytes(content)
    assert len(prune(tmp_path, 0)) == 2


def test_half_of_a_surrogate_pair_is_stored_and_read_as_a_character_that_files_can_hold(tmp_path):
    cached(
        StageCache(STAGE, tmp_path),
        ["\ud800"],
        lambda item: item,
        lambda new, put: put([0], [["\udc00 text"]]),
    )
    assert cached(StageCache(STAGE, tmp_path), ["\ud800"], lambda item: item, None) == [["\ufffd text"]]


def test_rows_of_another_format_are_not_read_and_the_version_is_recorded(tmp_path, monkeypatch):
    fill(tmp_path, [1])
    with monkeypatch.context() as newer:
        newer.setattr(module, "version", lambda name: "9.9")
        assert stored(tmp_path, [1])
        newer.setattr(module, "FORMAT", module.FORMAT + 1)
        assert not stored(tmp_path, [1])
    assert {stage.stage["speechiq"] for stage in list_stages(tmp_path)} == {version("speechiq"), "9.9"}


@pytest.mark.parametrize(
    "use", [lambda cache: StageCache(STAGE, cache.folder.parent), lambda cache: cache.add({"a": 1})]
)
def test_a_stage_without_its_description_gets_it_back_when_it_is_used(tmp_path, use):
    cache = StageCache(STAGE, tmp_path)
    cache.folder.joinpath("stage.json").unlink()
    use(cache)
    assert [stage.stage["model"] for stage in list_stages(tmp_path)] == ["tiny"]


def test_a_file_that_cannot_be_read_is_one_line(tmp_path):
    cache = StageCache(STAGE, tmp_path)
    (cache.folder / "1.jsonl").mkdir()
    with pytest.raises(SpeechIQError, match=r"cannot read '.*/1\.jsonl': Is a directory; remove it, .*store=off"):
        cache.fetch(["a"])


def test_only_requested_rows_come_into_memory(tmp_path):
    fill(tmp_path, list(range(100)), lambda new, put: put(new, ["x" * 200_000] * len(new)))
    tracemalloc.start()
    try:
        assert len(stored(tmp_path, [7, 93])) == 2
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_a_disk_that_is_full_is_one_line_and_all_that_was_done_is_read(tmp_path, caplog):
    cache = StageCache(STAGE, tmp_path)
    fault = r"cannot write '.*\.jsonl': File too large; free disk space, or choose another place"
    with full_disk(100_000), pytest.raises(SpeechIQError, match=fault):
        cached(cache, list(range(20)), str, lambda new, on_result: [on_result([i], ["x" * 9000]) for i in new])
    assert cache.added == 11 == len(cache.rows)
    cached(cache, list(range(20)), str, lambda new, put: put(range(len(new)), ["y" * 9000] * len(new)))
    assert cache.added == 20 == len(stored(tmp_path, range(20)))
    assert len(list(tmp_path.rglob("*.jsonl"))) == 2, "nothing follows a torn line"
    assert {record.getMessage().partition(": ")[2][:15] for record in caplog.records} == {"1 damaged lines"}


def test_a_folder_that_cannot_be_written_is_one_line_before_anything_is_computed(tmp_path):
    tmp_path.joinpath("file").touch()
    with pytest.raises(SpeechIQError, match=r"cannot write '.*stage\.json': Not a directory; choose another"):
        StageCache(STAGE, tmp_path / "file")


def test_many_rows_in_many_files_are_found_at_once(tmp_path):
    folder, rows, files = StageCache(STAGE, tmp_path).folder, 100_000, 500
    for number in range(files):
        keys = range(number, rows, files)
        folder.joinpath(f"{number}.jsonl").write_bytes(b"".join(seal(content_sha256(key), key) for key in keys))
    cache = StageCache(STAGE, tmp_path)
    assert len(cache) == rows
    began = time.process_time()
    for key in range(0, rows, rows // 50):
        cache.fetch([content_sha256(key)])
    assert time.process_time() - began < 10
    assert list(cache.rows.values()) == list(range(0, rows, rows // 50))


def test_the_store_is_a_folder_of_the_cache_by_default(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path))
    monkeypatch.delenv("SIQ_STORE", raising=False)
    assert store_folder() == tmp_path / "responses"
    monkeypatch.setenv("SIQ_STORE", "/data/store")
    assert str(store_folder()) == "/data/store"
    monkeypatch.setenv("SIQ_STORE", "off")
    assert store_folder() is None


lines_of_file = st.dictionaries(
    st.text("0123456789abcdef", min_size=1), st.lists(st.text() | st.floats(allow_nan=False))
)


@given(st.lists(lines_of_file, min_size=1, max_size=3), st.sets(st.text("0123456789abcdef", min_size=1)))
def test_the_requested_rows_are_read_and_no_others(tmp_path_factory, files, others):
    folder, known = tmp_path_factory.mktemp("rows"), {}
    for number, rows in enumerate(files):
        folder.joinpath(f"{number}.jsonl").write_bytes(b"".join(map(seal, rows, rows.values())))
        known |= rows
    index = RowIndex()
    index.refresh(sorted(folder.iterdir()))
    wanted = {*list(known)[::2], *others}
    assert index.read(wanted) == {key: row for key, row in known.items() if key in wanted}
    assert not index.skipped and len(index) == len(known)


def test_keys_of_one_hash_are_distinguished(tmp_path, monkeypatch):
    tmp_path.joinpath("1.jsonl").write_bytes(seal("a", 1) + seal("b", 2))
    monkeypatch.setattr(row_files, "hash", lambda key: 0, raising=False)
    index = RowIndex()
    index.refresh(tmp_path.iterdir())
    assert index.read(["b"]) == {"b": 2} and index.read(["c"]) == {}


def test_a_line_that_lost_or_changed_anything_is_not_intact():
    line = seal("a", ["\n", "\u2028", float("nan")])
    assert is_intact(line) and line.count(b"\n") == 1 and json.loads(line[row_files.TEXT :])[0] == "a"
    assert not any(is_intact(line[:cut]) for cut in range(len(line)))
    assert not any(is_intact(line[:i] + b"~" + line[i + 1 :]) for i in range(len(line)))


ONE, TWO = {"square": 1, "half": 1 / 3}, {"square": 4, "half": 2 / 3}


def never(new, on_result):
    raise AssertionError(f"computed {new}")


@pytest.fixture
def asr_rows(tmp_path):
    """Return a stage that has two rows."""
    stage = StageCache({"stage": "asr"}, tmp_path)
    cached(stage, [1, 2], str, square)
    return StageCache({"stage": "asr"}, tmp_path)


def test_a_missing_row_ends_the_count_and_is_not_computed(asr_rows):
    with counting() as counter:
        cached(asr_rows, [1, 3, 1], str, never)
        raise AssertionError("the count goes on")
    assert counter.counts() == [StageCount("asr", 2, 1)] and not counter.complete


def test_cached_rows_are_returned_and_counted_once(asr_rows):
    with counting() as counter:
        assert cached(asr_rows, [1], str, never) + cached(asr_rows, [1, 2], str, never) == [ONE, ONE, TWO]
        end_count()
    assert counter.counts() == [StageCount("asr", 2, 2)] and counter.complete


def test_without_a_count_nothing_ends(asr_rows):
    end_count()
    assert cached(asr_rows, [3], str, square) == [{"square": 9, "half": 1.0}]


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
