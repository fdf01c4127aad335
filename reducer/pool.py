"""Lines systems up clip by clip: the raw score matrices X_raw of section 3.4, or a clear refusal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.levels import LEVELS
from speechiq.reducer.runs import System
from speechiq.reducer.samples import Item, show_item

EXAMPLES = 3


class Pool(NamedTuple):
    """Systems that answered the same items.

    Attributes:
        systems: Names, sorted, so that no number depends on the order in which runs were given.
        clips: level -> clip ids, sorted.
        raw: level -> X_raw, shape (systems, clips): fractions, larger is better, finite.
    """

    systems: tuple[str, ...]
    clips: dict[str, tuple[str, ...]]
    raw: dict[str, np.ndarray]


def align(systems: Iterable[System]) -> Pool:
    """Builds the raw matrices; a clip's score is the mean over its items (its questions at Apply).

    Args:
        systems: Distinctly named systems, in any order.

    Raises:
        SpeechIQError: A system lacks a level, the items differ between systems, or a score is not finite.

    >>> levels = {"remember": {("a",): -0.5}, "understand": {("a",): 0.5}}
    >>> pool = align([System("s", levels | {"apply": {("a", "q1"): 1.0, ("a", "q2"): 0.0}})])
    >>> pool.clips["apply"], pool.raw["apply"].tolist()
    (('a',), [[0.5]])
    """
    systems = sorted(systems, key=lambda system: system.name)
    clips, raw = {}, {}
    for level in LEVELS:
        items = _common_items(level, systems)
        scores = np.array([[system.scores[level][item] for item in items] for system in systems])
        _refuse_non_finite(level, systems, items, scores)
        names, starts, counts = np.unique([item[0] for item in items], return_index=True, return_counts=True)
        clips[level] = tuple(names.tolist())
        raw[level] = np.add.reduceat(scores, starts, axis=1) / counts
    return Pool(tuple(system.name for system in systems), clips, raw)


def _common_items(level: str, systems: list[System]) -> list[Item]:
    """The items every system answered, sorted, so that those of one clip stand together."""
    for system in systems:
        if level not in system.scores:
            raise SpeechIQError(
                f"system {system.name!r} has no {level} scores (only {', '.join(system.scores)}): "
                f"run its {level} task as well, or leave the system out"
            )
    asked = [system.scores[level].keys() for system in systems]
    everything = set().union(*asked)
    partial = sorted(everything - everything.intersection(*asked))
    if partial:
        lacking = [system.name for system, keys in zip(systems, asked, strict=True) if everything - keys]
        raise SpeechIQError(
            f"level {level}: {len(partial)} of {len(everything)} items are not scored by every system, "
            f"such as {'; '.join(map(show_item, partial[:EXAMPLES]))}; lacking in "
            f"{', '.join(map(repr, lacking))}: run all systems on the same tasks with the same --limit"
        )
    return sorted(everything)


def _refuse_non_finite(level: str, systems: list[System], items: list[Item], scores: np.ndarray) -> None:
    bad = np.argwhere(~np.isfinite(scores))
    if len(bad):
        row, column = bad[0]
        raise SpeechIQError(
            f"system {systems[row].name!r}, level {level}, {show_item(items[column])}: "
            f"the score is {scores[row, column]} ({len(bad)} of {scores.size} {level} scores are no finite "
            f"number); rerun the system's {level} task or leave the system out"
        )
