import pytest
from tqdm import tqdm

from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch.batches import run_in_batches

OUT_OF_MEMORY = RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")


def run(items, work, batch_size):
    return run_in_batches(items, work, length=len, batch_size=batch_size, progress=tqdm(disable=True))


@pytest.mark.parametrize("batch_size", [1, 2, 3, 100])
def test_results_come_in_the_order_of_the_items_and_long_ones_run_first(batch_size):
    items, seen = ["aa", "a", "aaaa", "", "aaa"], []
    assert run(items, lambda batch: seen.extend(batch) or [item * 2 for item in batch], batch_size) == [
        item * 2 for item in items
    ]
    assert seen == sorted(items, key=len, reverse=True)


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


def test_one_item_that_does_not_fit_is_an_error_with_a_way_out():
    def work(batch):
        raise OUT_OF_MEMORY

    with pytest.raises(SpeechIQError, match=r"does not fit into .* memory; use a smaller model"):
        run(["a", "b"], work, 2)


def test_other_errors_are_not_taken_for_lack_of_memory():
    def work(batch):
        raise RuntimeError("shape mismatch")

    with pytest.raises(RuntimeError, match="shape mismatch"):
        run(["a"], work, 1)


def test_nothing_to_do_is_done():
    assert run([], lambda batch: batch, 4) == []
