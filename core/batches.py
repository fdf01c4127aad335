"""Run work in batches or concurrently; results come in the order of the items."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from itertools import groupby, islice
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from speechiq.core.console import progress_bar
from speechiq.core.errors import SpeechIQError

Item = TypeVar("Item")
Result = TypeVar("Result")
OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "alloc_failed", "cudnn_status_not_supported")
OnResult = Callable[[Sequence[int], Sequence[Any]], None]
#: Advances a bar by a number of steps.
Advance = Callable[[int], object]
#: Position, result and failure of an item; all None at the end of a thread.
Finished = tuple[int | None, Any, BaseException | None]


def count_cores() -> int:
    """Return the number of processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


#: In a process of `over_cores`: what it calls for each item.
_shared: list[Callable[[Any], Any]] = []


def over_cores(work: Callable[[Item], Result], items: Sequence[Item], *, worth_it: bool) -> Iterator[Result]:
    """Yield what a function returns for each item, in their order, by a process per core that is forked from this one.

    Where it is not worth that, and on systems that are not Linux, this process does the work.
    """
    cores = count_cores()
    if not worth_it or cores == 1 or sys.platform != "linux":
        yield from map(work, items)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    context = get_context("fork")
    with ProcessPoolExecutor(cores, mp_context=context, initializer=_shared.append, initargs=(work,)) as pool:
        yield from pool.map(_call_shared, items, chunksize=max(1, min(64, len(items) // (4 * cores))))


def _call_shared(item: Any) -> Any:
    return _shared[-1](item)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether torch, its libraries, CTranslate2 or numpy ran out of memory, which a smaller batch may fix."""
    text = str(error).lower()
    return isinstance(error, MemoryError) or any(sign in text for sign in OUT_OF_MEMORY)


@contextmanager
def needing_memory(what: str, fix: str) -> Iterator[None]:
    """Turn an out-of-memory error inside the block into one line: `what` does not fit, run it again with `fix`."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise SpeechIQError(what, fix=f"what was computed is kept, run again with {fix}") from error


def drop(places: Sequence[int], results: Sequence[Any]) -> None:
    """Ignore the results."""


def run_in_batches(
    items: Sequence[Item],
    run: Callable[[list[Item], Advance], Sequence[Result]],
    *,
    length: Callable[[Item], Any],
    batch_size: int,
    label: tuple[str, str],
    on_result: OnResult = drop,
    kind: Callable[[Item], bool] = lambda item: True,
    steps: Callable[[Item], int] = lambda item: 1,
) -> list[Result]:
    """Call `run` on all items: longest first, with batches halved when memory runs out.

    Args:
        items: In any order.
        run: Takes a batch and returns one result per item; may advance the bar within the batch by its second argument.
        length: The length of an item, as anything that sorts; a batch has items of similar length.
        batch_size: The initial size.
        label: Verb and unit of a bar that counts the steps of the items that are done; see `progress_bar`.
        on_result: Called as soon as a batch is done, with the positions of its items and their results.
        kind: Items for which it is true come first, and never share a batch with others.
        steps: How many steps of the bar an item is.
    """
    order = sorted(range(len(items)), key=lambda i: (kind(items[i]), length(items[i])), reverse=True)
    results: dict[int, Result] = {}
    done = 0
    verb, unit = label
    with progress_bar(total=sum(map(steps, items)), verb=verb, unit=unit) as bar:
        while len(results) < len(order):
            batch = order[len(results) : len(results) + batch_size]
            batch = list(next(groupby(batch, lambda i: kind(items[i])))[1])
            try:
                batch_results = run([items[i] for i in batch], bar.update)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                if len(batch) == 1:
                    raise SpeechIQError(
                        "one item alone does not fit into the accelerator's memory",
                        fix="use a smaller model, a smaller dtype, or more memory",
                    ) from error
                batch_size = len(batch) // 2
                bar.update(done - bar.n)
                continue
            results.update(zip(batch, batch_results, strict=True))
            on_result(batch, batch_results)
            done += sum(steps(items[i]) for i in batch)
            bar.update(done - bar.n)
    return [results[i] for i in range(len(items))]


def collect_parts(sizes: Sequence[int], join: Callable[[list[Any]], Any], on_result: OnResult) -> OnResult:
    """Return an `on_result` for parts of items: it passes on each item when its last part is done.

    `sizes` has how many parts each item has, all numbered consecutively; `join` makes an item's result of its parts.
    """
    owner = [i for i, size in enumerate(sizes) for _ in range(size)]
    parts: list[dict[int, Any]] = [{} for _ in sizes]

    def take(places: Sequence[int], results: Sequence[Any]) -> None:
        for place, result in zip(places, results, strict=True):
            parts[owner[place]][place] = result
        done = sorted({i for i in map(owner.__getitem__, places) if len(parts[i]) == sizes[i]})
        if done:
            on_result(done, list(map(join_item, done)))

    def join_item(i: int) -> Any:
        return join([parts[i][place] for place in sorted(parts[i])])

    return take


def group_by_size(results: Iterable[Result], sizes: Iterable[int]) -> list[list[Result]]:
    """Return results in lists of the given sizes, in their order.

    >>> group_by_size("abc", [1, 2])
    [['a'], ['b', 'c']]
    """
    left = iter(results)
    return [list(islice(left, size)) for size in sizes]


def run_concurrently(
    items: Sequence[Item],
    run: Callable[[Item], Result],
    *,
    workers: int,
    label: tuple[str, str],
    on_result: OnResult = drop,
) -> list[Result]:
    """Call `run` on all items in other threads, several at a time: for work that waits for servers, such as calls.

    The first failure ends it: no further item starts, and items under way still count if they succeed.
    Ctrl-C ends it at once; items under way are abandoned and do not keep the process alive. `on_result` is called in
    this thread as soon as an item is done, with its position and result. `label` has verb and unit of a bar; see
    `progress_bar`.
    """
    left = deque(enumerate(items))
    finished: SimpleQueue[Finished] = SimpleQueue()
    results: dict[int, Result] = {}
    failures: list[BaseException] = []
    working = min(workers, len(items))
    verb, unit = label
    with progress_bar(total=len(items), verb=verb, unit=unit) as bar:
        try:
            for _ in range(working):
                Thread(target=copy_context().run, args=(_work, left, run, finished.put), daemon=True).start()
            while working:
                i, result, failure = finished.get()
                if failure is not None:
                    failures.append(failure)
                elif i is None:
                    working -= 1
                else:
                    results[i] = result
                    on_result([i], [result])
                    bar.update()
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"stopped by hand after {len(results)} of {len(items)}") from None
        finally:
            left.clear()
    if failures:
        raise failures[0]
    return [results[i] for i in range(len(items))]


def _work(left: deque[tuple[int, Item]], run: Callable[[Item], Any], put: Callable[[Finished], None]) -> None:
    """Run items from the left until none is left or one fails, then put `(None, None, None)`."""
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
