import json
import logging
import multiprocessing
import os
import resource
import signal
import time
import tracemalloc
import zlib
from errno import ESTALE
from importlib.metadata import version

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speechiq.core import row_files
from speechiq.core import store as module
from speechiq.core.errors import SpeechIQError
from speechiq.core.files import open_plain
from speechiq.core.shelves import look, prune
from speechiq.core.store import Shelf, digest, store_folder, through

STAGE = {"model": "tiny", "dtype": "float32"}


def square(items, keep):
    for i, item in enumerate(items):
        keep([i], [{"square": item**2, "half": item / 3}])


def kept(folder, items, stage=STAGE):
    """The rows that are on disk, by item."""
    shelf, keys = Shelf(stage, folder), {digest(str(item)): item for item in items}
    shelf.fetch(keys)
    return {keys[key]: row for key, row in shelf.rows.items()}


def test_a_row_is_computed_once_and_read_by_the_next_run(tmp_path):
    computed = []

    def compute(items, keep):
        computed.extend(items)
        square(items, keep)

    first = through(Shelf(STAGE, tmp_path), [3, 1, 3], lambda item: item, compute)
    again = through(Shelf(STAGE, tmp_path), [1, 2, 3], lambda item: item, compute)
    assert computed == [3, 1, 2]
    assert first[0] == first[2] == again[2] == {"square": 9, "half": 1.0}


def test_another_stage_knows_nothing_of_it_and_without_a_folder_nothing_is_written(tmp_path):
    through(Shelf(STAGE, tmp_path), [1], str, square)
    assert kept(tmp_path, [1]) and not kept(tmp_path, [1], STAGE | {"dtype": "bfloat16"})
    through(Shelf(STAGE, None), [5], str, square)
    assert len(list(tmp_path.rglob("*.jsonl"))) == 1


def test_batches_are_put_together_when_the_stage_is_done(tmp_path):
    through(Shelf(STAGE, tmp_path), list(range(20)), str, square)
    (file,) = tmp_path.rglob("*.jsonl")
    assert len(file.read_text().splitlines()) == 20
    assert json.loads((file.parent / "stage.json").read_text()).items() > STAGE.items()


def test_what_was_done_before_a_failure_is_kept(tmp_path):
    def fail_at_last(items, keep):
        square(items[:-1], keep)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        through(Shelf(STAGE, tmp_path), [1, 2, 3], str, fail_at_last)
    assert set(kept(tmp_path, [1, 2, 3])) == {1, 2}


@given(cut=st.integers(0, 700), change=st.booleans())
def test_a_damaged_file_is_set_aside_and_only_its_lost_rows_are_gone(tmp_path_factory, cut, change):
    folder = tmp_path_factory.mktemp("store")
    batch = [{"square": i**2, "half": i / 3} for i in range(10)]
    through(Shelf(STAGE, folder), list(range(10)), str, lambda new, keep: keep(new, batch))
    (file,) = folder.rglob("*.jsonl")
    whole, lines = kept(folder, range(10)), file.read_bytes()
    cut %= len(lines)
    file.write_bytes(lines[:cut] + (b"~" + lines[cut + 1 :] if change else b""))
    left = kept(folder, range(10))
    assert left.items() <= whole.items()
    lost = 1 if change else 10 - lines[:cut].count(b"\n")
    assert len(whole) - len(left) <= lost + (lines[cut : cut + 1] == b"\n")
    assert through(Shelf(STAGE, folder), list(range(10)), str, square) == [whole[i] for i in range(10)]
    assert len(list(folder.rglob("*.set-aside"))) == (change or lines[:cut][-1:] != b"\n")


STRANGE = [b"", b"5", b'["a"]', b'["a",1', b'[["a"],1]', b'{"a":1}', b'["' + b"[" * 100_000, b'["a",' + b"[" * 100_000]


@pytest.mark.parametrize("text", STRANGE, ids=lambda text: text[:9].decode())
def test_a_line_of_another_form_with_a_good_checksum_is_set_aside_or_passed_over(tmp_path, text):
    through(Shelf(STAGE, tmp_path), [1, 2], str, square)
    (file,) = tmp_path.rglob("*.jsonl")
    file.write_bytes(b"%08x %s\n" % (zlib.crc32(text), text) + file.read_bytes())
    assert set(kept(tmp_path, [1, 2])) == {1, 2} == set(kept(tmp_path, [1, 2]))


def test_a_row_of_another_form_is_computed_again_with_one_warning(tmp_path, caplog):
    through(
        Shelf(STAGE, tmp_path), [1, 2, 3], str, lambda new, keep: keep([0, 1, 2], [5, {"square": []}, {"square": 9}])
    )
    rows = through(Shelf(STAGE, tmp_path), [1, 2, 3], str, square, dict[str, float])
    assert [row["square"] for row in rows] == [1, 4, 9]
    assert [record.getMessage() for record in caplog.records if "2 rows have another form" in record.getMessage()]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"a": ' + b"9" * 401 + b"}"])
def test_a_stage_that_cannot_be_read_stops_nobody_and_is_written_anew_when_it_is_used(tmp_path, content):
    through(Shelf(STAGE, tmp_path), [1], str, square)
    through(Shelf({"model": "other"}, tmp_path), [1], str, square)
    (bad,) = {*tmp_path.glob("*/stage.json")} - {Shelf(STAGE, tmp_path).folder / "stage.json"}
    bad.write_bytes(content)
    assert [stage.rows for stage in look(tmp_path)] == [1, 1]
    Shelf({"model": "other"}, tmp_path)
    assert all(stage.stage for stage in look(tmp_path))
    bad.write_bytes(content)
    assert len(prune(tmp_path, 0)) == 2


def test_half_of_a_surrogate_pair_is_stored_and_read_back(tmp_path):
    through(Shelf(STAGE, tmp_path), ["\ud800"], lambda item: item, lambda new, keep: keep([0], [["\udc00 text"]]))
    assert through(Shelf(STAGE, tmp_path), ["\ud800"], lambda item: item, None) == [["\udc00 text"]]


def write_until_killed(folder):
    through(Shelf(STAGE, folder), list(range(100_000)), str, square)


def test_a_process_killed_at_any_moment_leaves_only_whole_rows(tmp_path):
    for runs in range(3):
        process = multiprocessing.get_context("fork").Process(target=write_until_killed, args=(tmp_path,))
        process.start()
        while len(list(tmp_path.rglob("*.jsonl"))) <= 20 * runs:
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    rows = kept(tmp_path, range(100_000))
    assert rows and all(row["square"] == (row["half"] * 3) ** 2 or row["half"] for row in rows.values())
    assert not list(tmp_path.rglob("*.set-aside"))


def test_rows_of_another_format_are_not_read_and_the_version_is_told(tmp_path, monkeypatch):
    through(Shelf(STAGE, tmp_path), [1], str, square)
    with monkeypatch.context() as newer:
        newer.setattr(module, "version", lambda name: "9.9")
        assert kept(tmp_path, [1])
        newer.setattr(module, "FORMAT", module.FORMAT + 1)
        assert not kept(tmp_path, [1])
    assert {stage.stage["speechiq"] for stage in look(tmp_path)} == {version("speechiq"), "9.9"}


def test_a_run_whose_stage_is_taken_away_meanwhile_goes_on_and_its_later_rows_are_found(tmp_path):
    def compute(items, keep):
        square(items[:2], keep)
        assert prune(tmp_path, 0) and not look(tmp_path)
        keep([2], ["third"])

    assert through(Shelf(STAGE, tmp_path), [1, 2, 3], str, compute)[1:] == [{"square": 4, "half": 2 / 3}, "third"]
    assert [stage.rows for stage in look(tmp_path)] == [1] and kept(tmp_path, [1, 2, 3]) == {3: "third"}


def test_a_stage_may_be_taken_away_in_the_midst_of_a_write(tmp_path, monkeypatch):
    shelf, flush = Shelf(STAGE, tmp_path), os.fsync

    def take_away_once(file):
        monkeypatch.setattr(os, "fsync", flush)
        prune(tmp_path, 0)

    monkeypatch.setattr(os, "fsync", take_away_once)
    shelf.keep({digest("1"): ["first"]})
    assert kept(tmp_path, [1]) == {1: ["first"]} and look(tmp_path)


@pytest.mark.parametrize("use", [lambda shelf: Shelf(STAGE, shelf.folder.parent), lambda shelf: shelf.keep({"a": 1})])
def test_a_stage_that_lost_what_tells_of_it_gets_it_back_when_it_is_used(tmp_path, use):
    shelf = Shelf(STAGE, tmp_path)
    shelf.folder.joinpath("stage.json").unlink()
    use(shelf)
    assert [stage.stage["model"] for stage in look(tmp_path)] == ["tiny"]


def test_files_put_together_since_they_were_listed_are_found_again(tmp_path):
    reader, writer = Shelf(STAGE, tmp_path), Shelf(STAGE, tmp_path)
    for key in "abc":
        writer.keep({key: [key]})
    reader.fetch(["a"])
    writer.put_together()
    reader.fetch(["a", "b", "c"])
    assert reader.rows == {"a": ["a"], "b": ["b"], "c": ["c"]}


def test_a_stale_file_handle_is_listed_once_more(tmp_path, monkeypatch):
    through(Shelf(STAGE, tmp_path), [1], str, square)
    stale = [OSError(ESTALE, "stale")]

    def opened(path):
        if stale:
            raise stale.pop()
        return open_plain(path)

    monkeypatch.setattr(row_files, "open_plain", opened)
    assert kept(tmp_path, [1]) and not stale


def test_a_file_that_cannot_be_read_is_one_line(tmp_path):
    shelf = Shelf(STAGE, tmp_path)
    (shelf.folder / "1.jsonl").mkdir()
    with pytest.raises(SpeechIQError, match=r"cannot read '.*/1\.jsonl': Is a directory; take it away, .*store=off"):
        shelf.fetch(["a"])


def test_only_what_is_asked_for_comes_into_memory(tmp_path):
    through(Shelf(STAGE, tmp_path), list(range(100)), str, lambda new, keep: keep(new, ["x" * 200_000] * len(new)))
    tracemalloc.start()
    try:
        assert len(kept(tmp_path, [7, 93])) == 2
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_a_stage_that_is_done_does_not_fail_for_want_of_room_for_putting_it_together(tmp_path, caplog):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        through(Shelf(STAGE, tmp_path), list(range(20)), str, lambda new, keep: [keep([i], ["x" * 9000]) for i in new])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert len(list(tmp_path.rglob("*.jsonl"))) == 20 == len(kept(tmp_path, range(20)))
    assert [record.levelno for record in caplog.records] == [logging.WARNING] and "File too large" in caplog.text


def test_small_files_that_killed_runs_left_become_one(tmp_path, caplog):
    for key in range(module.MANY - 1):
        shelf = Shelf(STAGE, tmp_path)
        shelf.keep({digest(str(key)): key})
    assert len(kept(tmp_path, range(module.MANY))) == len(list(tmp_path.rglob("*.jsonl"))) == module.MANY - 1
    Shelf(STAGE, tmp_path).keep({digest(str(module.MANY - 1)): module.MANY - 1})
    assert len(kept(tmp_path, range(module.MANY))) == module.MANY
    assert len(list(tmp_path.rglob("*.jsonl"))) == 1
    shelf.keep({digest("last"): "last"})
    shelf.put_together()
    assert len(kept(tmp_path, [*range(module.MANY), "last"])) == module.MANY + 1
    assert not caplog.records


def keep_and_put_together(folder, process):
    module.MANY = 4
    for key in range(process, 120, 6):
        shelf = Shelf(STAGE, folder)
        shelf.fetch(["nothing"])
        shelf.keep({digest(str(key)): key})
        shelf.keep({digest(str(key + 1000)): key})
        if key % 4:
            shelf.put_together()


def test_processes_that_put_files_together_at_once_lose_no_row(tmp_path):
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=keep_and_put_together, args=(tmp_path, i)) for i in range(6)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    wanted = [*range(120), *range(1000, 1120)]
    assert kept(tmp_path, wanted) == {key: key % 1000 for key in wanted}
    assert len(list(tmp_path.rglob("*.jsonl"))) < 120


def test_the_store_is_a_folder_of_the_cache_unless_said_otherwise(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path))
    monkeypatch.delenv("SIQ_STORE", raising=False)
    assert store_folder() == tmp_path / "responses"
    monkeypatch.setenv("SIQ_STORE", "/data/store")
    assert str(store_folder()) == "/data/store"
    monkeypatch.setenv("SIQ_STORE", "off")
    assert store_folder() is None
