"""Work shared among processes: all that concerns a clip is done by one of them."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, TypeVar

from accelerate.utils import gather_object

from speechiq.engines._transformers import is_set

Job = TypeVar("Job")
Result = TypeVar("Result")
_NOTHING = object()
log = logging.getLogger(__name__)


def share(
    jobs: Sequence[Job],
    work: Callable[[list[Job]], Sequence[Result]],
    *,
    clip: Callable[[Job], tuple[Hashable, float]],
    rank: int,
    ranks: int,
) -> list[Result]:
    """The results of this process's `jobs`, each worked on where its clip belongs.

    Every process calls this at the same time. Jobs and results travel; clips are references.

    Args:
        jobs: this process's; may be none.
        work: takes jobs of any process, gives a result a job.
        clip: what a job is about, and for how long (s).
        rank: number of this process.
        ranks: how many there are.
    """
    if ranks == 1:
        return list(work(list(jobs)))
    counts = gather_object([len(jobs)])
    pooled = gather_object(list(jobs))
    owner = assign(dict(map(clip, pooled)), ranks)
    mine = [i for i, job in enumerate(pooled) if owner[clip(job)[0]] == rank]
    done = gather_object([dict(zip(mine, work([pooled[i] for i in mine]), strict=True))])
    results = {i: result for part in done for i, result in part.items()}
    start = sum(counts[:rank])
    return [results[i] for i in range(start, start + len(jobs))]


def warn_of_a_lone_process(ranks: int) -> None:
    """Say so where `accelerate launch --cpu` was asked for several processes and, without an MPI, started one."""
    several = "MASTER_ADDR" in os.environ and "WORLD_SIZE" not in os.environ
    if ranks == 1 and several and is_set("ACCELERATE_USE_CPU"):
        log.warning(
            "accelerate launch --cpu started one process only; for several on CPUs say "
            "ACCELERATE_USE_CPU=true accelerate launch --multi_gpu --num_processes N"
        )


def in_doc_order(parts: Sequence[Any]) -> Any:
    """What the processes hold of something, as one process would hold it: lm-eval deals docs out in turn.

    Args:
        parts: a process each; lists, or dicts of them to any depth.

    >>> in_doc_order([{"wer": [0, 2, 4]}, {"wer": [1, 3]}])
    {'wer': [0, 1, 2, 3, 4]}
    """
    if isinstance(parts[0], dict):
        return {key: in_doc_order([part[key] for part in parts]) for key in parts[0]}
    rounds = zip_longest(*parts, fillvalue=_NOTHING)
    return [item for items in rounds for item in items if item is not _NOTHING]


class AtMost(list[Any]):
    """A list that is full at some length; lm-eval sends a process's last request again where others have more.

    >>> five = AtMost(2, ["a"]); five.append("b"); five.append("c"); five
    ['a', 'b']
    """

    def __init__(self, length: int, items: Iterable[Any] = ()) -> None:
        super().__init__(items)
        self.length = length

    def append(self, item: Any) -> None:
        if len(self) < self.length:
            super().append(item)


def assign(costs: Mapping[Hashable, float], ranks: int) -> dict[Hashable, int]:
    """A process for each clip: the longest first, each to the one with the least to do.

    >>> assign({"a": 9.0, "b": 5.0, "c": 5.0}, 2)
    {'a': 0, 'b': 1, 'c': 1}
    """
    load = [0.0] * ranks
    owner = {}
    for key in sorted(costs, key=lambda key: (-costs[key], str(key))):
        owner[key] = load.index(min(load))
        load[owner[key]] += costs[key]
    return owner
