"""Runs work, in batches or side by side; results come in the order of the items."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from tqdm import tqdm

from speechiq.core.errors import SpeechIQError

Item = TypeVar("Item")
Result = TypeVar("Result")
OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "alloc_failed", "cudnn_status_not_supported")
OnResult = Callable[[Sequence[int], Sequence[Any]], None]
#: An item's place, result and failure; all None at the end of a thread.
Finished = tuple[int | None, Any, BaseException | None]


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a smaller batch may fix it: what torch, its libraries, CTranslate2 and numpy say then."""
    said = str(error).lower()
    return isinstance(error, MemoryError) or any(sign in said for sign in OUT_OF_MEMORY)


@contextmanager
def needing_memory(what: str, fix: str) -> Iterator[None]:
    """Lack of memory inside the block as one line.

    Args:
        what: what does not fit, in words.
        fix: how to run it again.

    Raises:
        SpeechIQError: memory ran out.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise SpeechIQError(f"{what}; what was done is kept, run again with {fix}") from error


def drop(places: Sequence[int], results: Sequence[Any]) -> None:
    """Keeps nothing of what is done."""


def alike(item: Any) -> bool:
    """Takes all items for one kind."""
    return True


def once(item: Any) -> int:
    """Counts an item as one step."""
    return 1


def run_in_batches(
    items: Sequence[Item],
    run: Callable[[list[Item]], Sequence[Result]],
    *,
    length: Callable[[Item], Any],
    batch_size: int,
    progress: tqdm[Any],
    on_result: OnResult = drop,
    kind: Callable[[Item], bool] = alike,
    steps: Callable[[Item], int] = once,
) -> list[Result]:
    """`run` over all items: longest first, batches halved when memory runs out.

    Args:
        items: in any order.
        run: takes a batch, gives a result an item.
        length: what makes an item long, as anything that sorts; batches hold items of like length.
        batch_size: the size to begin with.
        progress: advanced by the steps of the items that are done; `run` may advance it within a batch.
        on_result: called as soon as a batch is done, with the places of its items and their results.
        kind: items of which it is true come first, and never into one batch with others.
        steps: how many steps of `progress` an item is.

    Raises:
        SpeechIQError: not even a single item fits into memory.
    """
    order = sorted(range(len(items)), key=lambda i: (kind(items[i]), length(items[i])), reverse=True)
    results: dict[int, Result] = {}
    done = progress.n
    while len(results) < len(order):
        batch = order[len(results) : len(results) + batch_size]
        batch = list(next(groupby(batch, lambda i: kind(items[i])))[1])
        try:
            found = run([items[i] for i in batch])
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            if len(batch) == 1:
                raise SpeechIQError(
                    "one item alone does not fit into the accelerator's memory; use a smaller "
                    "model, a smaller dtype, or more memory"
                ) from error
            batch_size = len(batch) // 2
            progress.update(done - progress.n)
            continue
        results.update(zip(batch, found, strict=True))
        on_result(batch, found)
        done += sum(steps(items[i]) for i in batch)
        progress.update(done - progress.n)
    return [results[i] for i in range(len(items))]


def together(sizes: Sequence[int], join: Callable[[list[Any]], Any], on_result: OnResult) -> OnResult:
    """Keeps items that are done in parts, each when the last of its parts is in.

    Args:
        sizes: how many parts each item has; the parts are numbered through.
        join: makes an item's result of those of its parts, in order.
        on_result: takes places and results of items.
    """
    owner = [i for i, size in enumerate(sizes) for _ in range(size)]
    parts: list[dict[int, Any]] = [{} for _ in sizes]

    def take(places: Sequence[int], results: Sequence[Any]) -> None:
        for place, result in zip(places, results, strict=True):
            parts[owner[place]][place] = result
        done = sorted({i for i in map(owner.__getitem__, places) if len(parts[i]) == sizes[i]})
        if done:
            on_result(done, [join([parts[i][place] for place in sorted(parts[i])]) for i in done])

    return take


def run_concurrently(
    items: Sequence[Item],
    run: Callable[[Item], Result],
    *,
    workers: int,
    progress: tqdm[Any],
    on_result: OnResult = drop,
) -> list[Result]:
    """`run` over all items, several at a time: for work that waits for others, such as calls.

    The first failure ends it: nothing more is begun, and what is under way still counts when it succeeds.
    Ctrl-C ends it at once; what is under way is left to itself and does not keep the process alive.

    Args:
        items: begun in this order.
        run: takes one item; called in other threads.
        workers: the most items under way at a time.
        progress: advanced by one an item.
        on_result: called in this thread as soon as an item is done, with its place and result.
    """
    left = deque(enumerate(items))
    finished: SimpleQueue[Finished] = SimpleQueue()
    results: dict[int, Result] = {}
    failures: list[BaseException] = []
    working = min(workers, len(items))
    try:
        for _ in range(working):
            Thread(target=_work, args=(left, run, finished.put), daemon=True).start()
        while working:
            i, result, failure = finished.get()
            if failure is not None:
                failures.append(failure)
            elif i is None:
                working -= 1
            else:
                results[i] = result
                on_result([i], [result])
                progress.update()
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"stopped by hand after {len(results)} of {len(items)}") from None
    finally:
        left.clear()
    if failures:
        raise failures[0]
    return [results[i] for i in range(len(items))]


def _work(left: deque[tuple[int, Item]], run: Callable[[Item], Any], put: Callable[[Finished], None]) -> None:
    """Items from the left as long as there are any and none fails; last of all, `(None, None, None)`."""
    while True:
        try:
            i, item = left.popleft()
        except IndexError:
            return put((None, None, None))
        try:
            put((i, run(item), None))
        except BaseException as failure:
            left.clear()
            put((i, None, failure))
