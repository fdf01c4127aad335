"""Read folders of runs that lm-eval wrote into one `System` per speech system.

lm-eval writes `results_<date>.json` and, with `--log_samples`, one `samples_<task>_<date>.jsonl` per task
into the same folder. A task is read if its metadata in the results file has a `measure`; task names have no meaning.
Names in a run are never imported, evaluated or followed as a path.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import msgspec
import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.engines.base import CONTROL
from speechiq.metrics.measure import Category
from speechiq.reducer.runs.judged import Judged, read_judgments
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.samples import FLAGS, join_clusters, read_sample_table, show_item
from speechiq.reducer.runs.table import EMPTY, Item, Table, as_column, enumerate_values, join_tables
from speechiq.reducer.runs.tasks import name_control, name_kind

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


@dataclass(frozen=True, eq=False)
class System:
    """Hold one speech system and its scores.

    Attributes:
        table: A row per scored item, of all levels.
        levels: Level -> its category, with the column that scores were read from.
        excluded: The sha256 of the unanswerable set whose questions were left out; None without one.
    """

    name: str
    table: Table = EMPTY
    tasks: tuple[TaskRun, ...] = ()
    levels: Mapping[str, Category] = field(default_factory=dict)
    excluded: str | None = None

    @classmethod
    def of_scores(
        cls,
        name: str,
        scores: Mapping[str, Mapping[Item, float]],
        *,
        levels: Mapping[str, Category] = MappingProxyType({}),
        clusters: Mapping[str, str] = MappingProxyType({}),
        datasets: Mapping[str, str] = MappingProxyType({}),
    ) -> Self:
        """Return a system by level -> item -> raw score; `clusters` and `datasets` are those of clips."""
        rows = [(level, item, item[0], score) for level, items in scores.items() for item, score in items.items()]
        level, item, clip, score = zip(*rows, strict=True) if rows else ((),) * 4
        columns = {"level": as_column(level), "item": as_column(item), "clip": as_column(clip)}
        columns |= {"cluster": as_column(map(clusters.get, clip)), "dataset": as_column(map(datasets.get, clip))}
        table = Table(columns).assign(task=None, score=np.array(score, float))
        return cls(name, table, levels=levels)

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(rows)} {level} scores" for level, rows in self.by_level.items())
        return f"<System {self.name!r} with {counts}>"

    def replace(self, **changes: Any) -> Self:
        """Return the system with other values of some attributes."""
        return replace(self, **changes)

    @cached_property
    def by_level(self) -> dict[str, Table]:
        """Return level -> its rows, for levels with scores."""
        return self.table.group_by("level")

    @cached_property
    def scores(self) -> dict[str, dict[Item, float]]:
        """Return level -> item -> raw score (larger is better)."""
        return {level: rows.by_item(rows["score"]) for level, rows in self.by_level.items()}

    @cached_property
    def items(self) -> dict[str, frozenset[Item]]:
        """Return level -> its items, for levels with scores."""
        return {level: frozenset(rows["item"]) for level, rows in self.by_level.items()}

    @cached_property
    def flags(self) -> Flags:
        """Return the shares of failures that scores hide."""
        return count_flags(self.table)

    @property
    def clusters(self) -> dict[str, str]:
        """Return clip -> its cluster, over all levels, for clips that have one."""
        return self.table.clusters

    def keep(self, items: Mapping[str, Collection[Item]]) -> Self:
        """Return the system with only some items of some levels: level -> items."""
        wanted = {level: frozenset(of_level) for level, of_level in items.items()}
        rows = zip(self.table["level"], self.table["item"], strict=True)
        kept = np.fromiter((item in wanted.get(level, ()) for level, item in rows), bool, len(self.table))
        return self.replace(table=self.table.where(kept))

    def restrict(self, levels: Collection[str]) -> Self:
        """Return the system with only some of its levels."""
        kept = {level: category for level, category in self.levels.items() if level in levels}
        rows = self.table.where(np.isin(self.table["level"], [*kept]))
        return self.replace(levels=kept, tasks=tuple(self.tasks_at(*kept)), table=rows)

    def cluster_by(self, clusters: Mapping[str, str]) -> Self:
        """Return the system with other clusters of clips: clip -> its cluster."""
        return self.replace(table=self.table.assign(cluster=as_column(map(clusters.get, self.table["clip"]))))

    def without_flags(self) -> Self:
        """Return the system without the numbers that flags are counted from."""
        numbers = {name: values for name, values in self.table.numbers.items() if name not in FLAGS}
        return self.replace(table=Table(self.table.columns, numbers))

    def tasks_at(self, *levels: str) -> list[TaskRun]:
        """Return the tasks of some levels."""
        return [task for task in self.tasks if task.level in levels]

    def count_undefined(self, level: str) -> int:
        """Return the number of items of a level that have no score (`measure.undefined: counted`)."""
        return int(np.isnan(self.by_level[level]["score"]).sum())

    def scored_answers(self, level: str) -> dict[Item, Judged]:
        """Return item -> its judged answer, for the scored items of a level with a judge."""
        rows = self.by_level[level]
        judged = rows.by_item(rows["judged"]) if "judged" in rows.columns else {}
        return {item: answer for item, answer in judged.items() if answer is not None}

    @cached_property
    def control(self) -> str:
        """Return `gold`, `silence` or `letter:X` for a control; empty for any other system."""
        return next((control for task in self.tasks if (control := name_control(task.described))), "")

    @property
    def described(self) -> Mapping[str, Any]:
        """Return the description of the system in its newest run; empty without one."""
        return max(self.tasks, key=lambda task: task.date).described if self.tasks else {}

    @property
    def kind(self) -> str:
        """Return the kind of the system, one of `SYSTEM_KINDS`; empty if its run does not tell."""
        return CONTROL if self.control else name_kind(self.described)

    @property
    def imported(self) -> list[str]:
        """Return the forms of the outputs that other programs wrote; empty if the system was run."""
        return sorted({task.imported for task in self.tasks if task.imported})


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
    levels = {level: add_judge(tasks, _in_unit_of(tasks, category)) for level, category in levels.items()}
    systems: dict[str, list[TaskRun]] = {}
    for task in tasks:
        of_system = systems.setdefault(task.system, [])
        if task.level in levels:
            of_system.append(task)
    known: dict[Item, Item] = {}
    clusters: dict[str, str] = {}
    read = [_read_system(name, systems[name], levels, known, clusters) for name in sorted(systems)]
    return [system.cluster_by(clusters) for system in read]


def _in_unit_of(tasks: Iterable[TaskRun], category: Category) -> Category:
    """Return a category with the measure that its tasks recorded, unless another column of it was chosen."""
    recorded = next((task.category.measure for task in tasks if task.level == category.name), category.measure)
    return category if category.usual else msgspec.structs.replace(category, measure=recorded)


def add_judge(tasks: Iterable[TaskRun], category: Category) -> Category:
    """Return a category with the judge and the further columns of its tasks, if a judge read all their answers."""
    recorded = [task.category for task in tasks if task.level == category.name]
    if category.judged or not recorded or not all(task.judged for task in recorded):
        return category
    first = recorded[0]
    return msgspec.structs.replace(category, settings=first.settings, extra_columns=first.extra_columns)


def _read_system(
    name: str,
    tasks: list[TaskRun],
    levels: Mapping[str, Category],
    known: dict[Item, Item],
    clusters: dict[str, str],
) -> System:
    """Read the tasks of one system; `known` and `clusters` hold the items and clusters of all systems."""
    seen: dict[str, set[Item]] = {}
    tables: dict[str, list[Table]] = {level: [] for level in levels}
    for task in tasks:
        level, category = task.level, levels[task.level]
        table = read_sample_table(task, category, known=known)
        items = seen.setdefault(level, set())
        if twice := items.intersection(table["item"]):
            raise SpeechIQError(
                task.samples,
                f"{show_item(min(twice))} of system {name!r} was already scored by another {level} task",
                "score only one of the two tasks",
            )
        items.update(table["item"])
        join_clusters([table], clusters)
        raw = category.measure.sign * table.numbers[category.column] + 0.0  # no negative zero
        rows = table.assign(level=level, dataset=task.dataset, task=task.task, score=raw)
        if category.judged:
            rows = rows.assign(judged=as_column(map(read_judgments(task).get, rows["item"])))
        tables[level].append(rows)
    return System(name, join_tables([EMPTY, *chain.from_iterable(tables.values())]), tuple(tasks), levels)


def count_flags(table: Table) -> Flags:
    """Count a system's failures over the items that are scored; the worst row of a clip counts."""

    def values_of(flag: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the values of a flag that are defined, and the number of the clip of each."""
        known = table.where_known(flag)
        return known.number(flag), enumerate_values(known["clip"])[1]

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
