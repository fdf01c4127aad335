import os
import signal
import sys
import threading
import time

import pytest

from speechiq.core.batches import count_cores, drop, over_cores, run_concurrently, run_in_batches
from speechiq.core.errors import SpeechIQError

OUT_OF_MEMORY = RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
WORDS_FOR_IT = [
    OUT_OF_MEMORY,
    RuntimeError("CUDA error: out of memory"),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    RuntimeError("[enforce fail at alloc_cpu.cpp:117] . DefaultCPUAllocator: can't allocate memory: you tried"),
    MemoryError("Unable to allocate 8.00 GiB for an array"),
]
LABEL = "testing", "item"


def run(items, work, batch_size):
    return run_in_batches(items, lambda batch, _: work(batch), length=len, batch_size=batch_size, label=LABEL)


@pytest.mark.parametrize("batch_size", [1, 2, 3, 100])
def test_results_come_in_the_order_of_the_items_and_long_ones_run_first(batch_size):
    items, seen = ["aa", "a", "aaaa", "", "aaa"], []
    found = run(items, lambda batch: seen.extend(batch) or [item * 2 for item in batch], batch_size)
    assert found == [item * 2 for item in items]
    assert seen == sorted(items, key=len, reverse=True)


@pytest.mark.parametrize("worth_it", [False, True])
def test_the_cores_share_work_and_results_come_in_the_order_of_the_items(worth_it):
    assert [*over_cores(len, ["aa", "", "a"], worth_it=worth_it)] == [2, 0, 1]
    found = {*over_cores(process_of, range(200), worth_it=worth_it)}
    assert (os.getpid() in found) != (worth_it and count_cores() > 1 and sys.platform == "linux")


def process_of(_):
    return os.getpid()


def test_batches_are_halved_when_memory_runs_out_and_nothing_is_lost():
    sizes = []

    def work(batch):
        sizes.append(len(batch))
        if len(batch) > 2:
            raise OUT_OF_MEMORY
        return batch

    items = ["a" * n for n in range(7)]
    assert run(items, work, 8) == items
    assert sizes == [7, 3, 1, 1, 1, 1, 1, 1, 1]


@pytest.mark.parametrize("error", WORDS_FOR_IT)
def test_every_way_to_say_that_memory_ran_out_is_understood(error):
    def work(batch):
        if len(batch) > 1:
            raise error
        return batch

    assert run(["a", "b"], work, 2) == ["a", "b"]


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (OUT_OF_MEMORY, pytest.raises(SpeechIQError, match=r"does not fit into .* memory; use a smaller model")),
        (RuntimeError("shape mismatch"), pytest.raises(RuntimeError, match="shape mismatch")),
    ],
)
def test_one_item_that_does_not_fit_is_an_error_with_a_way_out_as_no_other_error_is(error, raised):
    def work(batch):
        raise error

    with raised:
        run(["a", "b"], work, 2)
    assert run([], work, 2) == []


def run_side_by_side(items, work, workers=4, on_result=drop):
    return run_concurrently(items, work, workers=workers, label=LABEL, on_result=on_result)


@pytest.mark.parametrize("workers", [1, 3, 50])
def test_calls_run_side_by_side_and_their_results_keep_the_order_of_the_items(workers):
    threads = set()

    def work(item):
        threads.add(threading.current_thread().name)
        time.sleep(0.002 * (item % 3))
        return item * 2

    assert run_side_by_side(range(12), work, workers) == list(range(0, 24, 2)) and run_side_by_side([], work) == []
    assert 1 <= len(threads) <= min(workers, 12) and threading.current_thread().name not in threads


def test_a_call_that_fails_ends_the_run_and_what_is_under_way_still_counts():
    begun, done = [], []

    def work(item):
        begun.append(item)
        time.sleep(0.1 * (item == 0))
        if item == 1:
            raise SpeechIQError("no more")
        return item

    with pytest.raises(SpeechIQError, match="no more"):
        run_side_by_side(range(20), work, 2, lambda places, _: done.extend(places))
    assert begun == [0, 1] and done == [0]


def test_ctrl_c_ends_at_once_and_reports_how_many_are_done():
    held = threading.Event()

    def work(item):
        if item == 2:
            time.sleep(0.2)
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            held.wait(120)
        return item

    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt, match=r"^stopped by hand after 2 of 9$"):
        run_side_by_side(range(9), work, 1)
    held.set()
    assert time.monotonic() - begin < 60
