"""Find the tasks in folders of runs: the newest run of each, sorted into suites with their categories."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import filterfalse
from pathlib import Path
from typing import Any

import msgspec

from speechiq.core.console import count_of, list_some, printable
from speechiq.core.errors import SpeechIQError
from speechiq.engines.base import CASCADE, CONTROL, CORRECTED, DECLARED, END_TO_END, PERSON, RECOGNIZER, SYSTEM_KINDS
from speechiq.metrics.measure import Category, differences
from speechiq.reducer.runs.results_file import (
    IMPORTED,
    Results,
    TaskRun,
    is_samples,
    list_files,
    once,
    place,
    read_results,
    samples_of,
    tasks_of,
)
from speechiq.reducer.runs.samples import may_hold_scores
from speechiq.siq_tasks.conditions.spec import LISTEN
from speechiq.siq_tasks.questions.exam import PEOPLE

#: Characters of the longest value in a warning.
LONGEST = 60


def find_tasks(runs: Iterable[Path], allow_missing: bool = False) -> tuple[list[TaskRun], list[str]]:
    """Find all tasks as `find_all` does, but none with `listen` beside runs of its suite that got the audio."""
    tasks, warnings = find_all(runs, allow_missing)
    scored, variants = part_listening(tasks)
    return scored, [*warnings, *warn_of_variants(variants)]


def part_listening(tasks: Sequence[TaskRun]) -> tuple[list[TaskRun], list[TaskRun]]:
    """Return the tasks to score, and those with `listen` of suites that also ran with their audio."""
    with_audio = {task.suite for task in tasks if not task.metadata.get(LISTEN)}
    variants = [task for task in tasks if task.metadata.get(LISTEN) and task.suite in with_audio]
    return [task for task in tasks if not task.metadata.get(LISTEN) or task.suite not in with_audio], variants


def warn_of_variants(tasks: Sequence[TaskRun]) -> list[str]:
    """Return the line about tasks with `listen` that are left out, if there are any."""
    variants = ", ".join(sorted({f"{LISTEN}={printable(str(task.metadata[LISTEN]))}" for task in tasks}))
    line = f"{count_of(len(tasks), 'task')} with {variants}: left out; siq study listen shows what they say"
    return [line] if tasks else []


def find_all(runs: Iterable[Path], allow_missing: bool = False) -> tuple[list[TaskRun], list[str]]:
    """Find the tasks of every system, the newest run of each; refuse a path without a run.

    Args:
        allow_missing: Whether to leave out sample files whose results file is missing or empty, with a warning.

    Returns:
        (the tasks, warnings): one line per older run that was left out, and per system with different options.
    """
    runs = list(runs)
    files = list(list_files(runs))
    results = {path: read_results(path) for path in once(filterfalse(is_samples, files))}
    found = [task for path, content in results.items() for task in tasks_of(path, content)]
    categories = [task.category for task in found]
    missing = list(_undescribed(results, once(filter(is_samples, files)), categories))
    if missing and not allow_missing:
        raise SpeechIQError(
            f"{missing[0]}, so its system would be left out ({len(missing)} such files)",
            "rerun lm_eval, move the file away, or add --allow-mismatch",
        )
    found.sort(key=lambda task: (task.date, task.results, task.system, task.task))
    if not found:
        raise SpeechIQError(
            f"no SpeechIQ results in {', '.join(repr(str(path)) for path in runs)}",
            "it has no results_<date>.json file with a task whose metadata has a measure",
            "give the folder that lm_eval had as --output_path",
        )
    newest = {(task.system, task.task): task for task in found}
    left_out = [f"{line}: left out" for line in missing]
    warnings = [*left_out, *_superseded(found, newest), *_described_otherwise(newest.values())]
    return part_languages(newest.values()), warnings


def part_languages(tasks: Iterable[TaskRun]) -> list[TaskRun]:
    """Return the tasks, with a suite for each language, such as `siq.de`, if those of a suite are in several.

    Error rates of two languages may have different units, and similarities different scales, so that they share
    neither a mean nor a scale.
    """
    tasks = list(tasks)
    languages: dict[str, set[str]] = {}
    for task in tasks:
        languages.setdefault(task.suite, set()).add(task.language)
    return [
        task._replace(category=msgspec.structs.replace(task.category, suite=f"{task.suite}.{task.language}"))
        if len(languages[task.suite]) > 1
        else task
        for task in tasks
    ]


def name_control(described: Mapping[str, Any]) -> str:
    """Return `gold`, `silence` or `letter:X` for the description of a control; empty for any other system.

    >>> name_control({"kind": "cascade", "asr": {"control": "gold"}}), name_control({"kind": "cascade", "asr": {}})
    ('gold', '')
    """
    stages = (stage for stage in (described, *described.values()) if isinstance(stage, Mapping))
    return next((printable(str(stage["control"])) for stage in stages if "control" in stage), "")


def name_kind(described: Mapping[str, Any]) -> str:
    """Return the kind of a system, one of `SYSTEM_KINDS`, by what its run recorded; empty if that does not tell.

    A system of another program has the kind that was declared when its outputs were imported.

    >>> name_kind({"kind": "cascade", "asr": {"model": "whisper"}}), name_kind({"kind": "end to end"}), name_kind({})
    ('cascade', 'end to end', '')
    """
    if name_control(described):
        return CONTROL
    recorded, asr = described.get("kind"), described.get("asr")
    if recorded == IMPORTED:
        declared = described.get(DECLARED)
        return declared if declared in SYSTEM_KINDS else ""
    if recorded == PEOPLE:
        return PERSON
    if not isinstance(asr, Mapping):
        return END_TO_END if recorded else ""
    if recorded == RECOGNIZER:
        return RECOGNIZER
    return CORRECTED if asr.get("corrector") else CASCADE


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


def group(tasks: Iterable[TaskRun]) -> dict[str, list[TaskRun]]:
    """Return suite -> its tasks, sorted by the name of the suite."""
    suites: dict[str, list[TaskRun]] = {}
    for task in tasks:
        suites.setdefault(task.suite, []).append(task)
    return dict(sorted(suites.items()))


def categories_of(tasks: Iterable[TaskRun]) -> dict[str, Category]:
    """Return the categories of one suite by name, in the order of their columns; refuse two descriptions of one."""
    first: dict[str, TaskRun] = {}
    for task in sorted(tasks, key=lambda task: (task.date, task.results, task.task)):
        usual = first.setdefault(task.level, task)
        for key, (one, other) in differences(usual.category, task.category).items():
            raise SpeechIQError(
                f"{task.results!r}, task {task.task!r}",
                f"metadata.{key}: {other!r:.80} differs from {one!r:.80} in "
                f"{usual.results!r}, task {usual.task!r} of the same suite {task.suite!r} and category {task.level!r}",
                "rerun one of the two with the same version of the suite, or give only one",
            )
    for name, task in first.items():
        if taken := first.keys() & {*task.category.aggregate, *(extra.column for extra in task.category.extra_columns)}:
            raise SpeechIQError(
                f"{task.results!r}, task {task.task!r}",
                f"a derived column of category {name!r} is named "
                f"{min(taken)!r}, as is a category of suite {task.suite!r}",
                "rename one of the two",
            )
    found = sorted((task.category for task in first.values()), key=lambda category: category.place)
    return {category.name: category for category in found}


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
    """Return the options in which two runs differ; empty if one of them does not describe its system, or is imported.

    Outputs that other programs wrote are in a file per level, which says nothing about options.
    """
    one, other = older.described, newer.described
    has_options = one and other and not (older.imported and newer.imported)
    return changes(one, other) if has_options else ""


def changes(older: Mapping[str, Any], newer: Mapping[str, Any]) -> str:
    """Return the first options that differ, as `stage.option old -> new`; empty if none does.

    >>> changes({"kind": "cascade", "asr": {"num_beams": 1}}, {"kind": "cascade", "asr": {"num_beams": 5, "beam": "x"}})
    "asr.num_beams 1 -> 5, asr.beam none -> 'x'"
    """
    before, after = dict(_flatten(older)), dict(_flatten(newer))
    differ = [name for name in before | after if before.get(name) != after.get(name)]
    return list_some([f"{printable(name)} {_show(before, name)} -> {_show(after, name)}" for name in differ])


def _flatten(described: Mapping[str, Any], stage: str = "") -> Iterator[tuple[str, str]]:
    for name, value in described.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{stage}{name}.")
        else:
            yield f"{stage}{name}", repr(value)


def _show(options: Mapping[str, str], name: str) -> str:
    value = options.get(name, "none")
    return value if len(value) <= LONGEST else f"{value[:LONGEST]}..."
