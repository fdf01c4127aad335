"""Count failures that a score hides: answers without a letter, incomplete audio, repetition."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from speechiq.reducer.runs.rows import Item
from speechiq.reducer.runs.samples import FLAGS, SampleTable

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


def count_flags(tables: Iterable[SampleTable], scored: Mapping[str, Collection[Item]]) -> Flags:
    """Count a system's failures over the items that are scored; the worst row of a clip counts.

    Args:
        tables: The numbers of each of its tasks.
        scored: Level -> items; other rows do not count.
    """
    rows: dict[str, list[tuple[Item, float]]] = {}
    for table in tables:
        kept = scored.get(table.level, ())
        for name in table.columns.keys() & set(FLAGS):
            pairs = zip(table.items, table.columns[name].tolist(), strict=True)
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
