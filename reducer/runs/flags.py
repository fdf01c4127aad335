"""Count failures that a score hides: answers without a letter, incomplete audio, repetition."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from speechiq.reducer.runs.samples import Item

#: A clip of which a system received a smaller share than this counts as incomplete.
COMPLETE = 1 - 1e-3


class Flags(NamedTuple):
    """Shares of failures, between 0 and 1; None if no row of the system has the column.

    Attributes:
        unparsed: Share of the Apply answers in which no letter could be read.
        none_of_the_above: Share of the questions whose majority is (E).
        incomplete_audio: Share of the clips of which the system received less than the whole audio.
        repetition: Share of the clips whose transcript repeats one phrase many times.
    """

    unparsed: float | None = None
    none_of_the_above: float | None = None
    incomplete_audio: float | None = None
    repetition: float | None = None


class FlagValues(NamedTuple):
    """The columns of one task's rows from which flags are counted.

    Attributes:
        level: Name of the category.
        items: Items of all rows; empty if no row has such a column.
        columns: Name of a column that some row has -> its values, shape (items,), NaN for a row without one.
    """

    level: str
    items: tuple[Item, ...]
    columns: dict[str, np.ndarray]


def collect(level: str, items: Iterable[Item], flags: Mapping[str, Mapping[Item, float]]) -> FlagValues:
    """Return a task's flag columns as arrays; columns that no row has are dropped.

    Args:
        level: Name of the category.
        items: Items of all rows.
        flags: Column -> item -> value.
    """
    known = {name: values for name, values in flags.items() if values}
    items = tuple(items if known else ())
    columns = {name: np.array([values.get(item, math.nan) for item in items]) for name, values in known.items()}
    return FlagValues(level, items, columns)


def count_flags(tasks: Iterable[FlagValues], scored: Mapping[str, Collection[Item]]) -> Flags:
    """Count a system's failures over the items that are scored; the worst row of a clip counts.

    Args:
        tasks: The flag columns of each of its tasks.
        scored: Level -> items; other rows do not count.

    >>> apply = collect("apply", [("a", "q"), ("a", "r")], {"audio_coverage": {("a", "q"): 0.5},
    ...     "unparsed": {("a", "r"): 0.2}})
    >>> count_flags([apply], {"apply": [("a", "q"), ("a", "r")]})
    Flags(unparsed=0.2, none_of_the_above=None, incomplete_audio=1.0, repetition=None)
    >>> count_flags([apply], {"apply": [("a", "r")]})
    Flags(unparsed=0.2, none_of_the_above=None, incomplete_audio=None, repetition=None)
    """
    rows: dict[str, list[tuple[Item, float]]] = {}
    for level, items, columns in tasks:
        kept = scored.get(level, ())
        for name, values in columns.items():
            pairs = zip(items, values.tolist(), strict=True)
            rows.setdefault(name, []).extend(row for row in pairs if row[0] in kept and not math.isnan(row[1]))
    return Flags(
        unparsed=_mean([value for _, value in rows.get("unparsed", ())]),
        none_of_the_above=_mean([value for _, value in rows.get("none_of_the_above", ())]),
        incomplete_audio=_mean([value < COMPLETE for value in _by_clip(rows.get("audio_coverage", ()), min)]),
        repetition=_mean([value > 0 for value in _by_clip(rows.get("repetition", ()), max)]),
    )


def _by_clip(rows: Iterable[tuple[Item, float]], worst: Callable[[float, float], float]) -> Iterable[float]:
    clips: dict[str, float] = {}
    for (clip, *_), value in rows:
        clips[clip] = worst(clips.get(clip, value), value)
    return clips.values()


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None
