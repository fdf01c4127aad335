"""Failures that a score hides: how often a system gave no answer, did not hear a clip out, or went in circles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from speechiq.reducer.samples import Item

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


def count_flags(told: Mapping[str, Iterable[tuple[Item, float]]]) -> Flags:
    """A system's shares from what its rows tell; a clip counts as its worst row.

    Args:
        told: Name of a column -> (item, value) of every row that has one, all levels together.

    >>> rows = {"heard": [(("a",), 0.5), (("a", "q"), 1.0), (("b",), 1.0)], "unparsed": [(("a", "q"), 0.2)]}
    >>> count_flags(rows)
    Flags(unparsed=0.2, none_of_the_above=None, not_heard_in_full=0.5, loops=None)
    """
    return Flags(
        unparsed=_mean([value for _, value in told.get("unparsed", ())]),
        none_of_the_above=_mean([value for _, value in told.get("none_of_the_above", ())]),
        not_heard_in_full=_mean([value < HEARD for value in _by_clip(told.get("heard", ()), min)]),
        loops=_mean([value > 0 for value in _by_clip(told.get("loop", ()), max)]),
    )


def _by_clip(rows: Iterable[tuple[Item, float]], worst: Callable[[float, float], float]) -> Iterable[float]:
    clips: dict[str, float] = {}
    for (clip, *_), value in rows:
        clips[clip] = worst(clips.get(clip, value), value)
    return clips.values()


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None
