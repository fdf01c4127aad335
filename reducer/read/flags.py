"""Failures that a score hides: how often a system gave no answer, did not hear a clip out, or went in circles."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from speechiq.reducer.read.samples import Item

HEARD = 1 - 1e-3


class Flags(NamedTuple):
    """Shares between 0 and 1; None where no row of the system tells.

    Attributes:
        unparsed: Of the Apply answers, those in which no letter could be read.
        none_of_the_above: Of the questions, those whose majority is (E).
        not_heard_in_full: Of the clips, those of which the system was fed less than all.
        loops: Of the clips, those whose transcript repeats a phrase over and over.
    """

    unparsed: float | None = None
    none_of_the_above: float | None = None
    not_heard_in_full: float | None = None
    loops: float | None = None


class Told(NamedTuple):
    """What the rows of one task tell beside the score.

    Attributes:
        level: Name of the category.
        items: Of all rows.
        columns: Name of a column that some row has -> its values, shape (items,), NaN where a row has none.
    """

    level: str
    items: tuple[Item, ...]
    columns: dict[str, np.ndarray]


def collect(level: str, items: Iterable[Item], flags: Mapping[str, Mapping[Item, float]]) -> Told:
    """A task's rows from what was read, column -> item -> value; of columns that no row has, nothing is kept."""
    known = {name: values for name, values in flags.items() if values}
    items = tuple(items if known else ())
    return Told(
        level, items, {name: np.array([of.get(item, math.nan) for item in items]) for name, of in known.items()}
    )


def count_flags(told: Iterable[Told], scored: Mapping[str, Collection[Item]]) -> Flags:
    """A system's shares over what is scored; a clip counts as its worst row.

    Args:
        told: What its tasks tell.
        scored: level -> items; rows of others do not count.

    >>> apply = collect("apply", [("a", "q"), ("a", "r")], {"audio_coverage": {("a", "q"): 0.5},
    ...     "unparsed": {("a", "r"): 0.2}})
    >>> count_flags([apply], {"apply": [("a", "q"), ("a", "r")]})
    Flags(unparsed=0.2, none_of_the_above=None, not_heard_in_full=1.0, loops=None)
    >>> count_flags([apply], {"apply": [("a", "r")]})
    Flags(unparsed=0.2, none_of_the_above=None, not_heard_in_full=None, loops=None)
    """
    rows: dict[str, list[tuple[Item, float]]] = {}
    for level, items, columns in told:
        kept = scored.get(level, ())
        for name, values in columns.items():
            of_task = zip(items, values.tolist(), strict=True)
            rows.setdefault(name, []).extend(row for row in of_task if row[0] in kept and not math.isnan(row[1]))
    return Flags(
        unparsed=_mean([value for _, value in rows.get("unparsed", ())]),
        none_of_the_above=_mean([value for _, value in rows.get("none_of_the_above", ())]),
        not_heard_in_full=_mean([value < HEARD for value in _by_clip(rows.get("audio_coverage", ()), min)]),
        loops=_mean([value > 0 for value in _by_clip(rows.get("repetition", ()), max)]),
    )


def _by_clip(rows: Iterable[tuple[Item, float]], worst: Callable[[float, float], float]) -> Iterable[float]:
    clips: dict[str, float] = {}
    for (clip, *_), value in rows:
        clips[clip] = worst(clips.get(clip, value), value)
    return clips.values()


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None
