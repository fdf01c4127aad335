"""Read folders of runs that lm-eval wrote into one `System` per speech system.

lm-eval writes `results_<date>.json` and, with `--log_samples`, one `samples_<task>_<date>.jsonl` per task
into the same folder. A task is read if its metadata in the results file has a `measure` or, in older runs, a `level`;
task names have no meaning. Names in a run are never imported, evaluated or followed as a path.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from speechiq.core.console import count_of, printable
from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.flags import Flags, FlagValues, collect, count_flags
from speechiq.reducer.runs.measure import Category
from speechiq.reducer.runs.options import changes
from speechiq.reducer.runs.results_file import Results, TaskRun, read_results, tasks_of
from speechiq.reducer.runs.rows import Pick, Reader, scan
from speechiq.reducer.runs.run_files import is_samples, list_files, once, place, samples_of
from speechiq.reducer.runs.samples import Item, may_hold_scores, read_samples, show_item
from speechiq.reducer.scores.levels import LEVELS

if TYPE_CHECKING:
    from speechiq.reducer.runs.judge_columns import Judged


class System(NamedTuple):
    """One speech system and its scores.

    Attributes:
        name: The system's name, as `results_file.tasks_of` finds it.
        scores: Level -> item -> raw score (larger is better). An item is `(clip,)`, or `(clip, question)` if its
            category has questions.
        flags: Shares of failures that scores hide, over the items of `scores`.
        tasks: The tasks that the scores come from.
        flag_values: The columns from which `flags` are counted, and those beside the scores, task by task.
        excluded: The sha256 of the unanswerable set whose questions were left out; None without one.
        levels: Level -> its category, with the column that `scores` were read from.
        datasets: Clip -> name of its data set.
        judged: Level -> item -> what a judge made of its answer, for levels with a judge.
        kinds: Level -> item -> its kind by each field of `split_by`, for levels with such fields.
    """

    name: str
    scores: dict[str, dict[Item, float]]
    flags: Flags = Flags()
    tasks: tuple[TaskRun, ...] = ()
    flag_values: tuple[FlagValues, ...] = ()
    excluded: str | None = None
    levels: Mapping[str, Category] = MappingProxyType({})
    datasets: Mapping[str, str] = MappingProxyType({})
    judged: Mapping[str, Mapping[Item, Judged]] = MappingProxyType({})
    kinds: Mapping[str, Mapping[Item, tuple[str, ...]]] = MappingProxyType({})

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(items)} {level} scores" for level, items in self.scores.items())
        return f"<System {self.name!r} with {counts}>"

    def narrow(self, scores: dict[str, dict[Item, float]]) -> System:
        """Return the system with some of its scores, and the flags over these."""
        return self._replace(scores=scores, flags=count_flags(self.flag_values, scores))

    def restrict(self, levels: Iterable[str]) -> System:
        """Return the system with only some of its levels."""
        kept = {level: category for level, category in self.levels.items() if level in levels}
        tasks = tuple(task for task in self.tasks if task.level in kept)
        scores = {level: items for level, items in self.scores.items() if level in kept}
        return self._replace(levels=kept, tasks=tasks).narrow(scores)

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


class Runs(NamedTuple):
    """All systems that were found, sorted by name, and one line per choice that was made between runs."""

    systems: list[System]
    warnings: list[str]


def read_tasks(
    tasks: Iterable[TaskRun], levels: Mapping[str, Category], readers: Sequence[Reader] = ()
) -> list[System]:
    """Read the systems of some tasks, sorted by name, in one pass over their sample files.

    Args:
        tasks: The newest run of each task of one suite, from `find_tasks`.
        levels: The categories to read, each with its column.
        readers: Further readers of the sample files of a category, even if it is not scored.

    Raises:
        SpeechIQError: A sample file is missing or cannot be used.
    """
    systems: dict[str, list[TaskRun]] = {}
    for task in tasks:
        scored = systems.setdefault(task.system, [])
        if task.level in levels:
            scored.append(task)
        else:
            scan(task.samples, _open(readers, task))
    known: dict[Item, Item] = {}
    datasets: dict[str, str] = {}
    return [_read_system(name, systems[name], levels, known, datasets, readers) for name in sorted(systems)]


def find_tasks(runs: Iterable[Path], allow_missing: bool = False) -> tuple[list[TaskRun], list[str]]:
    """Find the tasks of every system, the newest run of each.

    Args:
        runs: Folders (any depth) or results files.
        allow_missing: Whether to leave out sample files whose results file is missing or empty, with a warning.

    Returns:
        (the tasks, warnings): one line per older run that was left out, and per system whose tasks ran with different
        options.

    Raises:
        SpeechIQError: A path does not exist or contains no run, or a results file is missing or not valid.
    """
    runs = list(runs)
    files = list(list_files(runs))
    results = {path: read_results(path) for path in once(path for path in files if not is_samples(path))}
    found = [task for path, content in results.items() for task in tasks_of(path, content)]
    categories = [*LEVELS.values(), *(task.category for task in found)]
    missing = list(_undescribed(results, once(filter(is_samples, files)), categories))
    if missing and not allow_missing:
        raise SpeechIQError(
            f"{missing[0]}, so its system would be left out ({len(missing)} such files): rerun lm_eval, move the file "
            "away, or add --allow-mismatch"
        )
    found.sort(key=lambda task: (task.date, task.results, task.system, task.task))
    if not found:
        raise SpeechIQError(
            f"no SpeechIQ results in {', '.join(repr(str(path)) for path in runs)}: it has no "
            "results_<date>.json file with a task whose metadata has a level or a measure; "
            "give the folder that lm_eval had as --output_path"
        )
    newest = {(task.system, task.task): task for task in found}
    left_out = [f"{line}: left out" for line in missing]
    return list(newest.values()), [*left_out, *_superseded(found, newest), *_described_otherwise(newest.values())]


def name_control(described: Mapping[str, Any]) -> str:
    """Return `gold`, `silence` or `letter:X` for the description of a control; empty for any other system.

    >>> name_control({"kind": "cascade", "asr": {"control": "gold"}}), name_control({"kind": "cascade", "asr": {}})
    ('gold', '')
    """
    stages = (stage for stage in (described, *described.values()) if isinstance(stage, Mapping))
    return next((printable(str(stage["control"])) for stage in stages if "control" in stage), "")


def _undescribed(
    results: Mapping[Path, Results], samples: Iterable[Path], categories: Collection[Category]
) -> Iterator[str]:
    """Yield a line for each results file without tasks, and for each sample file with scores that none describes."""
    known = {
        (place(path.parent), samples_of(path, task).name)
        for path, content in results.items()
        for task, config in content.configs.items()
        if config.metadata
    }
    for path, content in results.items():
        if not content.configs:
            yield f"{str(path)!r} names no task"
    for path in samples:
        if (place(path.parent), path.name) not in known and may_hold_scores(path, categories):
            yield f"{str(path)!r} has scores, but no results file in its folder describes its task"


def _read_system(
    name: str,
    tasks: list[TaskRun],
    levels: Mapping[str, Category],
    known: dict[Item, Item],
    datasets: dict[str, str],
    readers: Sequence[Reader],
) -> System:
    scores: dict[str, dict[Item, float]] = {}
    kinds: dict[str, dict[Item, tuple[str, ...]]] = {}
    flag_values = []
    for task in tasks:
        samples = read_samples(task.samples, levels[task.level], known, _open(readers, task))
        level_scores = scores.setdefault(task.level, {})
        if duplicates := level_scores.keys() & samples.scores.keys():
            raise SpeechIQError(
                f"{str(task.samples)!r}: {show_item(min(duplicates))} of system {name!r} was already scored "
                f"by another {task.level} task; score only one of the two tasks"
            )
        level_scores |= samples.scores
        kinds.setdefault(task.level, {}).update(samples.kinds)
        flag_values.append(collect(task.level, samples.scores, samples.flags))
        datasets |= dict.fromkeys((clip for clip, *_ in samples.scores), task.dataset)
    system = System(
        name,
        scores,
        tasks=tuple(tasks),
        flag_values=tuple(flag_values),
        levels=levels,
        datasets=datasets,
        kinds=kinds,
    )
    return system.narrow(scores)


def _open(readers: Iterable[Reader], task: TaskRun) -> list[Pick]:
    return [reader.open(task) for reader in readers if reader.level == task.level]


def _superseded(found: list[TaskRun], newest: dict[tuple[str, str], TaskRun]) -> Iterator[str]:
    left: dict[tuple[str, str, str], list[TaskRun]] = {}
    for task in found:
        left.setdefault((task.system, newest[task.system, task.task].results, task.results), []).append(task)
    alike: dict[str, tuple[str, str]] = {}
    for (system, kept, older), tasks in left.items():
        if kept != older:
            names, counting = ", ".join(task.task for task in tasks), f"taking the newest, {kept!r}, not {older!r}"
            if changed := _compare_options(tasks[0], newest[system, tasks[0].task]):
                counting += f", which ran with other options: {changed}"
                yield f"system {system!r} has several runs of {names}: {counting}"
            else:
                alike.setdefault(system, (names, counting))
    for system, (names, counting) in list(alike.items())[:1]:
        others = f" and {count_of(len(alike) - 1, 'other system')} have" if len(alike) > 1 else " has"
        yield f"system {system!r}{others} several runs of {names}: {counting}"


def _described_otherwise(tasks: Iterable[TaskRun]) -> Iterator[str]:
    """Yield a line per system whose tasks of a suite ran with other options than its newest task of that suite."""
    systems: dict[tuple[str, str], list[TaskRun]] = {}
    for task in sorted(tasks, key=lambda task: task.date):
        systems.setdefault((task.system, task.suite), []).append(task)
    for (system, _), (*others, newest) in systems.items():
        differences = ((task.task, _compare_options(task, newest)) for task in others)
        if differing := [(task, changed) for task, changed in differences if changed]:
            older, changed = differing[0]
            yield (
                f"system {system!r} ran {older} with other options than {newest.task}: {changed}; both count: rerun "
                "one of the two, or name runs with the same"
            )


def _compare_options(older: TaskRun, newer: TaskRun) -> str:
    """Return the options in which two runs differ; empty if one of them does not describe its system."""
    return changes(older.described, newer.described) if older.described and newer.described else ""
