"""Align systems clip by clip: build the raw score matrices X_raw of section 3.4, or refuse systems that do not fit."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from speechiq.core.console import list_some
from speechiq.core.errors import SpeechIQError
from speechiq.metrics.measure import Category, others_than_usual
from speechiq.reducer.runs.samples import show_item
from speechiq.reducer.runs.systems import System
from speechiq.reducer.runs.table import Item, Table
from speechiq.reducer.stats.bootstrap import number_clusters


class ScoreMatrix(NamedTuple):
    """Hold systems that answered the same items.

    Attributes:
        systems: Names, sorted, so that no number depends on the order in which runs were given.
        clips: Level -> clip ids, sorted.
        raw: Level -> X_raw, shape (systems, clips): larger is better, finite; NaN for a clip on which a system has no
            score, if the level's measure counts undefined items.
        levels: Level -> its category; the scores of a level without one have no limits.
        clusters: Clip -> its cluster, for clips that have one: a call, a speaker or a passage. Any other clip is a
            cluster of its own.
        controls: The systems that are controls, whose transcripts are known without a run.

    `clips` and `raw` have the levels that the systems are scored on.
    """

    systems: tuple[str, ...]
    clips: dict[str, tuple[str, ...]]
    raw: dict[str, np.ndarray]
    levels: Mapping[str, Category] = MappingProxyType({})
    controls: frozenset[str] = frozenset()
    clusters: Mapping[str, str] = MappingProxyType({})

    def raw_range(self, level: str) -> tuple[float, float]:
        """Return the least and the largest raw score of a level."""
        return self.levels[level].measure.raw_range if level in self.levels else (-math.inf, math.inf)

    def number_clusters(self, level: str) -> np.ndarray:
        """Return the number of the cluster of each clip of a level, shape (clips,)."""
        return number_clusters(self.clips[level], self.clusters)

    def count_clusters(self, level: str) -> int:
        """Return the number of clusters of a level, which is that of its clips if no two clips share one."""
        return int(self.number_clusters(level).max()) + 1

    @property
    def smallest(self) -> tuple[int, int]:
        """Return the numbers of clips and clusters of the level with the fewest clusters."""
        clusters, clips = min((self.count_clusters(level), len(clips)) for level, clips in self.clips.items())
        return clips, clusters

    @property
    def units(self) -> str:
        """Return the noun of what a draw takes."""
        clips = [*set().union(*self.clips.values())]
        return "clusters" if number_clusters(clips, self.clusters).max() < len(clips) - 1 else "clips"

    @property
    def means(self) -> dict[str, np.ndarray]:
        """Return level -> mean raw score over the clips with a score, shape (systems,); NaN without such a clip.

        >>> ScoreMatrix(("a", "b"), {}, {"judge": np.array([[1.0, np.nan], [np.nan, np.nan]])}).means["judge"].tolist()
        [1.0, nan]
        """
        return {level: _mean_defined(raw) for level, raw in self.raw.items()}

    def restrict(self, levels: Collection[str]) -> ScoreMatrix:
        """Return the pool with only some of its levels."""
        kept = [level for level in self.raw if level in levels]
        return self._replace(
            clips={level: self.clips[level] for level in kept},
            raw={level: self.raw[level] for level in kept},
            levels={level: self.levels[level] for level in kept},
        )

    def alone(self, level: str, clips: ScoreMatrix) -> ScoreMatrix:
        """Return one level, so that a draw takes the clips of all levels of another pool of the same systems.

        Clips of the other pool on which a system has a score at some level are in a further level, `""`.
        """
        names = sorted(set().union(*clips.clips.values()))
        place = {clip: i for i, clip in enumerate(names)}
        drawn = np.full((len(self.systems), len(names)), np.nan)
        for name, raw in clips.raw.items():
            at = [place[clip] for clip in clips.clips[name]]
            drawn[:, at] = np.where(np.isnan(raw), drawn[:, at], 0.0)
        clips_of_both = {"": tuple(names), level: self.clips[level]}
        return self._replace(clips=clips_of_both, raw={"": drawn, level: self.raw[level]})

    def complete_parts(self) -> Iterator[tuple[list[int], ScoreMatrix]]:
        """Yield the rows of the systems that have scores on the same clips, and a pool of these systems and clips.

        The pool of a part has no NaN. Levels on which it has fewer than two clips with a score are left out, unless
        the level has no other clips.
        """
        parts: dict[bytes, list[int]] = {}
        for row in range(len(self.systems)):
            parts.setdefault(b"".join(np.isnan(raw[row]).tobytes() for raw in self.raw.values()), []).append(row)
        for rows in parts.values():
            places = {level: np.flatnonzero(~np.isnan(raw[rows[0]])) for level, raw in self.raw.items()}
            kept = {level: chosen for level, chosen in places.items() if len(chosen) >= min(2, len(self.clips[level]))}
            clips, raw = {}, {}
            for level, chosen in kept.items():
                clips[level] = tuple(self.clips[level][place] for place in chosen)
                raw[level] = self.raw[level][np.ix_(np.array(rows), chosen)]
            if kept:
                yield rows, self._replace(systems=tuple(self.systems[row] for row in rows), clips=clips, raw=raw)


def align(systems: Iterable[System]) -> ScoreMatrix:
    """Build the raw matrices; a clip's score is the mean over its items (its questions at Apply).

    Raises:
        SpeechIQError: A system misses a level, the items differ between systems, or a score is not finite and not an
            undefined one that the measure of its level counts.

    >>> levels = {"remember": {("a",): -0.5}, "understand": {("a",): 0.5}}
    >>> from speechiq.reducer.scores.levels import LEVELS
    >>> scores = levels | {"apply": {("a", "q1"): 1.0, ("a", "q2"): 0.0}}
    >>> pool = align([System.of_scores("s", scores, levels=LEVELS)])
    >>> pool.clips["apply"], pool.raw["apply"].tolist()
    (('a',), [[0.5]])
    """
    systems = sorted(systems, key=lambda system: system.name)
    refuse_missing(systems)
    clips, raw, levels = {}, {}, levels_of(systems)
    for level in levels:
        items = common_items(level, systems)
        scores = _list_scores([system.by_level[level] for system in systems], items)
        _refuse_non_finite(levels[level], systems, items, scores)
        starts = [i for i, item in enumerate(items) if i == 0 or item[0] != items[i - 1][0]]
        clips[level] = tuple(items[start][0] for start in starts)
        raw[level] = _mean_of_clips(scores, starts)
    controls = frozenset(system.name for system in systems if system.control)
    clusters = {clip: cluster for system in systems for clip, cluster in system.clusters.items()}
    return ScoreMatrix(tuple(system.name for system in systems), clips, raw, levels, controls, clusters)


def levels_of(systems: Sequence[System]) -> Mapping[str, Category]:
    """Return level -> its category, for the levels that systems are scored on; refuse systems that differ in them."""
    if not systems:
        return {}
    first, *others = systems
    for system in others:
        if system.levels != first.levels:
            scored = [
                f"{', '.join(levels)} {others_than_usual(levels) or ''}".strip()
                for levels in (first.levels, system.levels)
            ]
            raise SpeechIQError(
                f"system {first.name!r} is scored on {scored[0]} and system {system.name!r} on {scored[1]}",
                fix="read all systems with the same levels and measures",
            )
    return first.levels


def refuse_missing(systems: Iterable[System], otherwise: str = "") -> None:
    """Raise a `SpeechIQError` if a system misses a level; `otherwise` is a further fix, in words."""
    for system in systems:
        for level in system.levels:
            if level not in system.by_level:
                only = ", ".join(system.by_level) or "other levels"
                raise SpeechIQError(
                    f"system {system.name!r} has no {level} scores (only {only})",
                    f"run its {level} task as well, or leave the system out{otherwise}",
                )


def find_identical(pool: ScoreMatrix) -> list[tuple[str, ...]]:
    """Return the groups of systems that have equal scores on every clip of every level.

    >>> raw = {"remember": np.array([[0.0, 1.0], [0.5, 0.5], [0.0, 1.0]])}
    >>> find_identical(ScoreMatrix(("a", "b", "c"), {"remember": ("x", "y")}, raw))
    [('a', 'c')]
    """
    groups: dict[tuple[bytes, ...], list[str]] = {}
    for row, name in enumerate(pool.systems):
        groups.setdefault(tuple(raw[row].tobytes() for raw in pool.raw.values()), []).append(name)
    return [tuple(names) for names in groups.values() if len(names) > 1]


def common_items(level: str, systems: Sequence[System]) -> list[Item]:
    """Return the items of every system, sorted, so that the items of a clip are adjacent."""
    first, *others = (system.by_level[level]["item"] for system in systems)
    if all(np.array_equal(first, other) for other in others):
        return sorted(first)
    answered = [system.items[level] for system in systems]
    all_items = set().union(*answered)
    partial = sorted(all_items - all_items.intersection(*answered))
    if partial:
        incomplete = [system.name for system, keys in zip(systems, answered, strict=True) if all_items - keys]
        raise SpeechIQError(
            f"level {level}",
            f"{len(partial)} of {len(all_items)} items are not scored by every system, "
            f"such as {list_some([*map(show_item, partial)], separator='; ')}",
            f"missing in {', '.join(map(repr, incomplete))}: run all systems on the same tasks with the same --limit",
        )
    return sorted(all_items)


def _list_scores(tables: Sequence[Table], items: Sequence[Item]) -> np.ndarray:
    """Return the score of each item in each table, shape (tables, items)."""
    known, places, scores = None, np.empty(0, int), np.empty((len(tables), len(items)))
    for row, table in enumerate(tables):
        if known is None or not np.array_equal(table["item"], known):
            known = table["item"]
            place = {item: at for at, item in enumerate(known)}
            places = np.array([place[item] for item in items])
        scores[row] = table["score"][places]
    return scores


def _mean_of_clips(scores: np.ndarray, starts: Sequence[int]) -> np.ndarray:
    """Return the means over the items with a score, for each clip; its items begin at one of `starts`."""
    defined = ~np.isnan(scores)
    with np.errstate(invalid="ignore"):
        sums = np.add.reduceat(np.where(defined, scores, 0.0), starts, axis=1)
        return np.asarray(sums / np.add.reduceat(defined, starts, axis=1, dtype=int))


def _mean_defined(raw: np.ndarray) -> np.ndarray:
    """Return the means over the clips with a score, for each system."""
    defined = ~np.isnan(raw)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(defined, raw, 0.0).sum(axis=1) / defined.sum(axis=1))


def _refuse_non_finite(category: Category, systems: list[System], items: list[Item], scores: np.ndarray) -> None:
    level, counted = category.name, np.isnan(scores) & category.measure.may_be_undefined
    bad = np.argwhere(~(np.isfinite(scores) | counted))
    if len(bad):
        row, column = bad[0]
        raise SpeechIQError(
            f"system {systems[row].name!r}, level {level}, {show_item(items[column])}",
            f"the score is {scores[row, column]} ({len(bad)} of {scores.size} {level} scores are not finite numbers)",
            f"rerun the system's {level} task or leave the system out",
        )
