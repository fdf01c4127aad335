"""Runs work in batches: longest first, halved when memory runs out, results in the order of the items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from accelerate.utils.memory import should_reduce_batch_size
from tqdm import tqdm

from speechiq.core.errors import SpeechIQError

Item = TypeVar("Item")
Result = TypeVar("Result")


def run_in_batches(
    items: Sequence[Item],
    run: Callable[[list[Item]], Sequence[Result]],
    *,
    length: Callable[[Item], float],
    batch_size: int,
    progress: tqdm,
) -> list[Result]:
    """`run` over all items.

    Args:
        items: in any order.
        run: takes a batch, gives a result an item.
        length: what makes an item long; batches hold items of like length.
        batch_size: the size to begin with.
        progress: advanced by one an item.

    Raises:
        SpeechIQError: not even a single item fits into memory.
    """
    order = sorted(range(len(items)), key=lambda i: length(items[i]), reverse=True)
    results: dict[int, Result] = {}
    while len(results) < len(order):
        batch = order[len(results) : len(results) + batch_size]
        try:
            found = run([items[i] for i in batch])
        except RuntimeError as error:
            if not should_reduce_batch_size(error):
                raise
            if len(batch) == 1:
                raise SpeechIQError(
                    "one item alone does not fit into the accelerator's memory; use a smaller "
                    "model, a smaller dtype, or more memory"
                ) from error
            batch_size = len(batch) // 2
            continue
        results.update(zip(batch, found, strict=True))
        progress.update(len(batch))
    return [results[i] for i in range(len(items))]
