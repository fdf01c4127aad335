"""Read folders of runs that lm-eval wrote into one `System` per speech system.

lm-eval writes `results_<date>.json` and, with `--log_samples`, one `samples_<task>_<date>.jsonl` per task
into the same folder. A task is read if its metadata in the results file has a `measure`; task names have no meaning.
Names in a run are never imported, evaluated or followed as a path.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple, Self

import msgspec
import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.judged import Judged, read_judgments
from speechiq.reducer.runs.measure import Category
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.samples import Item, SampleTable, join_clusters, read_sample_table, show_item
from speechiq.reducer.runs.tasks import name_control

#: A clip of which a system received a smaller share than this counts as incomplete.
COMPLETE = 1 - 1e-3


class Flags(NamedTuple):
    """Hold shares of failures, between 0 and 1; None if no row of the system has the column.

    Attributes:
        unparsed: Share of the Apply answers in which no letter could be read.
        none_of_the_above: Share of the questions whose majority is (E).
        incomplete_audio: Share of the clips of which the system received less than the whole audio.
        repetition: Share of the clips whose transcript repeats one phrase many times.
        wrong_language: Share of the transcripts that are clearly in another language than their clip; short ones do not
            count. Sets in English do not record it.
    """

    unparsed: float | None = None
    none_of_the_above: float | None = None
    incomplete_audio: float | None = None
    repetition: float | None = None
    wrong_language: float | None = None


class System(NamedTuple):
    """Hold one speech system and its scores.

    Attributes:
        scores: Level -> item -> raw score (larger is better). An item is `(clip,)`, or `(clip, question)` if its
            category has questions.
        flags: Shares of failures that scores hide, over the items of `scores`.
        tables: All numbers of the tasks, such as those from which `flags` are counted.
        excluded: The sha256 of the unanswerable set whose questions were left out; None without one.
        levels: Level -> its category, with the column that `scores` were read from.
        datasets: Clip -> name of its data set.
        judged: Level -> item -> what a judge made of its answer, for levels with a judge.
        clusters: Clip -> its cluster, over all levels, for clips whose docs have one.
        groups: Field of `group_by` -> level -> item -> its group, for tasks with such fields.
    """

    name: str
    scores: dict[str, dict[Item, float]]
    flags: Flags = Flags()
    tasks: tuple[TaskRun, ...] = ()
    tables: tuple[SampleTable, ...] = ()
    excluded: str | None = None
    levels: Mapping[str, Category] = MappingProxyType({})
    datasets: Mapping[str, str] = MappingProxyType({})
    judged: Mapping[str, Mapping[Item, Judged]] = MappingProxyType({})
    groups: Mapping[str, Mapping[str, Mapping[Item, str]]] = MappingProxyType({})
    clusters: Mapping[str, str] = MappingProxyType({})

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(items)} {level} scores" for level, items in self.scores.items())
        return f"<System {self.name!r} with {counts}>"

    def narrow(self, scores: dict[str, dict[Item, float]]) -> System:
        """Return the system with some of its scores, and the flags over these."""
        return self._replace(scores=scores, flags=count_flags(self.tables, scores))

    def restrict(self, levels: Iterable[str]) -> System:
        """Return the system with only some of its levels."""
        kept = {level: category for level, category in self.levels.items() if level in levels}
        tasks = tuple(self.tasks_at(*kept))
        scores = {level: items for level, items in self.scores.items() if level in kept}
        return self._replace(levels=kept, tasks=tasks).narrow(scores)

    def tasks_at(self, *levels: str) -> list[TaskRun]:
        """Return the tasks of some levels."""
        return [task for task in self.tasks if task.level in levels]

    def count_undefined(self, level: str) -> int:
        """Return the number of items of a level that have no score (`measure.undefined: counted`)."""
        return sum(map(math.isnan, self.scores[level].values()))

    def scored_answers(self, level: str) -> dict[Item, Judged]:
        """Return item -> its judged answer, for the items of `scores` at a level with a judge."""
        judged = self.judged.get(level, {})
        return {item: judged[item] for item in self.scores[level] if item in judged}

    @property
    def control(self) -> str:
        """Return `gold`, `silence` or `letter:X` for a control; empty for any other system."""
        return next((control for task in self.tasks if (control := name_control(task.described))), "")


class Runs(tuple[System, ...]):
    """Hold the systems that were found, sorted by name; `warnings` has a line per choice between runs of a task."""

    warnings: list[str]

    def __new__(cls, systems: Iterable[System], warnings: Iterable[str] = ()) -> Self:
        """Return the sequence."""
        runs = super().__new__(cls, systems)
        runs.warnings = list(warnings)
        return runs


def read_systems_of(tasks: Iterable[TaskRun], levels: Mapping[str, Category]) -> list[System]:
    """Read the systems of some tasks of one suite, sorted by name; categories outside `levels` are left out.

    A category with its usual column is read in the unit of its tasks, such as characters for a language without spaces.
    """
    tasks = list(tasks)
    levels = {level: _in_unit_of(tasks, category) for level, category in levels.items()}
    systems: dict[str, list[TaskRun]] = {}
    for task in tasks:
        of_system = systems.setdefault(task.system, [])
        if task.level in levels:
            of_system.append(task)
    known: dict[Item, Item] = {}
    datasets: dict[str, str] = {}
    clusters: dict[str, str] = {}
    return [_read_system(name, systems[name], levels, known, datasets, clusters) for name in sorted(systems)]


def _in_unit_of(tasks: Iterable[TaskRun], category: Category) -> Category:
    """Return a category with the measure that its tasks recorded, unless another column of it was chosen."""
    recorded = next((task.category.measure for task in tasks if task.level == category.name), category.measure)
    return category if category.usual else msgspec.structs.replace(category, measure=recorded)


def _read_system(
    name: str,
    tasks: list[TaskRun],
    levels: Mapping[str, Category],
    known: dict[Item, Item],
    datasets: dict[str, str],
    clusters: dict[str, str],
) -> System:
    scores: dict[str, dict[Item, float]] = {}
    groups: dict[str, dict[str, dict[Item, str]]] = {}
    judged: dict[str, dict[Item, Judged]] = {}
    tables = []
    for task in tasks:
        level, category = task.level, levels[task.level]
        table = read_sample_table(task, category, known=known)
        level_scores = scores.setdefault(level, {})
        if not level_scores.keys().isdisjoint(table.items):
            twice = min(level_scores.keys() & set(table.items))
            raise SpeechIQError(
                f"{str(task.samples)!r}",
                f"{show_item(twice)} of system {name!r} was already scored by another {level} task",
                "score only one of the two tasks",
            )
        raw = category.measure.sign * table.columns[category.column] + 0.0  # no negative zero
        level_scores |= dict(zip(table.items, raw.tolist(), strict=True))
        for field, names in table.groups.items():
            groups.setdefault(field, {}).setdefault(level, {}).update(zip(table.items, names, strict=True))
        if category.judged:
            judged.setdefault(level, {}).update(read_judgments(task))
        tables.append(table)
        join_clusters([table], clusters)
        datasets |= {item[0]: task.dataset for item in table.items}
    system = System(
        name,
        scores,
        tasks=tuple(tasks),
        tables=tuple(tables),
        levels=levels,
        datasets=datasets,
        judged=judged,
        groups=groups,
        clusters=clusters,
    )
    return system.narrow(scores)


def count_flags(tables: Iterable[SampleTable], scored: Mapping[str, Collection[Item]]) -> Flags:
    """Count a system's failures over the items that are scored, by level; the worst row of a clip counts."""
    place: dict[str, int] = {}
    parts = []
    for table in tables:
        kept = scored.get(table.level, ())
        rows = np.array([row for row, item in enumerate(table.items) if item in kept], dtype=int)
        clips = np.array([place.setdefault(item[0], len(place)) for item in table.items])
        parts.append((table.columns, rows, clips[rows]))

    def values_of(flag: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the values of a flag that are defined, and the number of the clip of each."""
        found = [(columns[flag][rows], clips) for columns, rows, clips in parts if flag in columns]
        if not found:
            return np.empty(0), np.empty(0)
        values, clips = (np.concatenate(part) for part in zip(*found, strict=True))
        defined = ~np.isnan(values)
        return values[defined], clips[defined]

    return Flags(
        unparsed=_mean(values_of("unparsed")[0]),
        none_of_the_above=_mean(values_of("none_of_the_above")[0]),
        incomplete_audio=_mean(_worst(*values_of("audio_coverage"), np.minimum) < COMPLETE),
        repetition=_mean(_worst(*values_of("repetition"), np.maximum) > 0),
        wrong_language=_mean(_worst(*values_of("wrong_language"), np.maximum)),
    )


def _worst(values: np.ndarray, clips: np.ndarray, worse: np.ufunc) -> np.ndarray:
    """Return the worst of the values of each clip."""
    order = np.argsort(clips, kind="stable")
    starts = np.flatnonzero(np.diff(clips[order], prepend=-1))
    return np.asarray(worse.reduceat(values[order], starts)) if len(values) else values


def _mean(values: np.ndarray) -> float | None:
    return sum(values.tolist()) / len(values) if len(values) else None
