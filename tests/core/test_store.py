import json
import multiprocessing
import os
import signal
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speechiq.core.store import Shelf, store_folder, through

STAGE = {"model": "tiny", "dtype": "float32"}


def square(items, keep):
    for i, item in enumerate(items):
        keep([i], [{"square": item**2, "half": item / 3}])


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
    assert not Shelf(STAGE | {"dtype": "bfloat16"}, tmp_path).rows
    through(Shelf(STAGE, None), [5], str, square)
    assert len(list(tmp_path.rglob("*.jsonl"))) == 1


def test_batches_are_put_together_when_the_stage_is_done(tmp_path):
    through(Shelf(STAGE, tmp_path), list(range(20)), str, square)
    (file,) = tmp_path.rglob("*.jsonl")
    assert len(file.read_text().splitlines()) == 20
    assert json.loads((file.parent / "stage.json").read_text()) == STAGE


def test_what_was_done_before_a_failure_is_kept(tmp_path):
    def fail_at_last(items, keep):
        square(items[:-1], keep)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        through(Shelf(STAGE, tmp_path), [1, 2, 3], str, fail_at_last)
    assert len(Shelf(STAGE, tmp_path).rows) == 2


@given(cut=st.integers(0, 700), change=st.booleans())
def test_a_damaged_file_is_set_aside_and_only_its_lost_rows_are_gone(tmp_path_factory, cut, change):
    folder = tmp_path_factory.mktemp("store")
    through(Shelf(STAGE, folder), list(range(10)), str, square)
    (file,) = folder.rglob("*.jsonl")
    whole, lines = Shelf(STAGE, folder).rows, file.read_bytes()
    cut %= len(lines)
    file.write_bytes(lines[:cut] + (b"~" + lines[cut + 1 :] if change else b""))
    left = Shelf(STAGE, folder).rows
    assert left.items() <= whole.items()
    lost = 1 if change else 10 - lines[:cut].count(b"\n")
    assert len(whole) - len(left) <= lost + (lines[cut : cut + 1] == b"\n")
    assert through(Shelf(STAGE, folder), list(range(10)), str, square) == [whole[key] for key in whole]


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
    rows = Shelf(STAGE, tmp_path).rows
    assert rows and all(row["square"] == (row["half"] * 3) ** 2 or row["half"] for row in rows.values())
    assert not list(tmp_path.rglob("*.set-aside"))


def test_the_store_is_a_folder_of_the_cache_unless_said_otherwise(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path))
    monkeypatch.delenv("SIQ_STORE", raising=False)
    assert store_folder() == tmp_path / "responses"
    monkeypatch.setenv("SIQ_STORE", "/data/store")
    assert str(store_folder()) == "/data/store"
    monkeypatch.setenv("SIQ_STORE", "off")
    assert store_folder() is None
