"""Count which rows of the response cache a run needs, without computing any."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple


class StageCount(NamedTuple):
    """Count the rows of one kind of stage (`asr`, `text`, ...) that a run needs, and those of them that are cached."""

    stage: str
    rows: int
    cached: int


class Counted(Exception):
    """End a count: all rows are counted, or rows are missing on which later stages depend."""


class Counter:
    """Collect the rows that stages need; a row that is needed several times counts once."""

    def __init__(self) -> None:
        self.complete = False
        self._needed: dict[str, set[str]] = {}
        self._missing: dict[str, set[str]] = {}

    def add(self, stage: Mapping[str, Any], keys: Collection[str], missing: Collection[str]) -> None:
        """Add the rows that one call needs; if some are missing, end the count (`Counted`): the rest is unknown."""
        name = str(stage.get("stage"))
        self._needed.setdefault(name, set()).update(keys)
        self._missing.setdefault(name, set()).update(missing)
        if missing:
            raise Counted

    def counts(self) -> list[StageCount]:
        """Return the counts of the stages up to the one with missing rows, in the order of a run."""
        return [StageCount(name, len(keys), len(keys - self._missing[name])) for name, keys in self._needed.items()]


#: The count that is being made; None while rows are computed as usual.
counter: ContextVar[Counter | None] = ContextVar("counter", default=None)


@contextmanager
def counting() -> Iterator[Counter]:
    """Count rows inside the block instead of computing those that are missing; the block may end early."""
    counts = Counter()
    token = counter.set(counts)
    try:
        yield counts
    except Counted:
        pass
    finally:
        counter.reset(token)


def end_count() -> None:
    """End the count (`Counted`) if one is being made, because every row that the system needs is cached."""
    if (counts := counter.get()) is not None:
        counts.complete = True
        raise Counted
