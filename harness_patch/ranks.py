"""Share work among processes: one process does everything that concerns a clip."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, TypeVar

from accelerate.utils import gather_object

Job = TypeVar("Job")
Result = TypeVar("Result")
_NOTHING = object()


def share(
    jobs: Sequence[Job],
    work: Callable[[list[Job]], Sequence[Result]],
    *,
    clip: Callable[[Job], tuple[Hashable, float]],
    rank: int,
    ranks: int,
) -> list[Result]:
    """Return the results of this process's `jobs`, each computed by the process that owns its clip.

    Every process calls this at the same time. Jobs and results are sent between processes; clips are references. `work`
    takes jobs of any process; `clip` returns the clip of a job and its duration (s).
    """
    if ranks == 1:
        return list(work(list(jobs)))
    counts = gather_object([len(jobs)])
    pooled = gather_object(list(jobs))
    owner = assign(dict(map(clip, pooled)), ranks)
    owned = [i for i, job in enumerate(pooled) if owner[clip(job)[0]] == rank]
    done = gather_object([dict(zip(owned, work([pooled[i] for i in owned]), strict=True))])
    results = {i: result for part in done for i, result in part.items()}
    start = sum(counts[:rank])
    return [results[i] for i in range(start, start + len(jobs))]


def in_doc_order(parts: Sequence[Any]) -> Any:
    """Merge the lists (or dicts of lists, to any depth) of all processes into the order of the docs.

    >>> in_doc_order([{"wer": [0, 2, 4]}, {"wer": [1, 3]}])
    {'wer': [0, 1, 2, 3, 4]}
    """
    if isinstance(parts[0], dict):
        return {key: in_doc_order([part[key] for part in parts]) for key in parts[0]}
    rounds = zip_longest(*parts, fillvalue=_NOTHING)
    return [item for items in rounds for item in items if item is not _NOTHING]


class AtMost(list[Any]):
    """Limit a list to a length: lm-eval sends the last request of a process again if other processes have more.

    >>> five = AtMost(2, ["a"]); five.append("b"); five.append("c"); five
    ['a', 'b']
    """

    def __init__(self, length: int, items: Iterable[Any] = ()) -> None:
        super().__init__(items)
        self.length = length

    def append(self, item: Any) -> None:
        """Append an item unless the list is full."""
        if len(self) < self.length:
            super().append(item)


def assign(costs: Mapping[Hashable, float], ranks: int) -> dict[Hashable, int]:
    """Return a process per clip: the longest clips first, each to the process with the least work.

    >>> assign({"a": 9.0, "b": 5.0, "c": 5.0}, 2)
    {'a': 0, 'b': 1, 'c': 1}
    """
    load = [0.0] * ranks
    owner = {}
    for key in sorted(costs, key=lambda key: (-costs[key], str(key))):
        owner[key] = load.index(min(load))
        load[owner[key]] += costs[key]
    return owner
