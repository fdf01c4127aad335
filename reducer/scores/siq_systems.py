"""Read the systems that ran tasks of SIQ."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs import answers
from speechiq.reducer.runs.answers import Answers
from speechiq.reducer.runs.measure import Category
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.systems import Runs, read_tasks
from speechiq.reducer.runs.tasks import categories_of, find_tasks, group
from speechiq.reducer.scores.levels import LEVELS, SUITE, is_siq


def read_systems(runs: Iterable[Path], allow_missing: bool = False, *, levels: Mapping[str, Category] = LEVELS) -> Runs:
    """Read every system in some folders that ran tasks of SIQ; of several runs of a task, the newest by `date` counts.

    Args:
        levels: Level -> its category with the column to read, as `levels.choose_levels` returns them.
    """
    tasks, warnings = find_levels(runs, allow_missing)
    return Runs(read_tasks(tasks, levels), warnings)


def find_levels(runs: Iterable[Path], allow_missing: bool = False) -> tuple[list[TaskRun], list[str]]:
    """Return the tasks of SIQ in some folders, and one line per choice that was made between runs; see `find_tasks`."""
    runs = list(runs)
    newest, warnings = find_tasks(runs, allow_missing)
    suites = group(newest)
    if SUITE not in suites and (languages := [suite for suite in suites if is_siq(suite)]):
        raise SpeechIQError(
            f"{len(languages)} languages ({', '.join(languages)})",
            "they have no common scale",
            "give the runs of one language, or score all with siq score",
        )
    if SUITE not in suites:
        raise SpeechIQError(
            f"no SIQ task in {', '.join(repr(str(path)) for path in runs)}, only tasks of suite "
            f"{', '.join(map(repr, suites))}",
            fix="give runs of siq_all or of a data set's levels",
        )
    check_levels(suites[SUITE])
    return suites[SUITE], warnings


def read_answers(runs: Iterable[Path], allow_missing: bool = False) -> Answers:
    """Read the Apply answers of every system below some folders, the newest run of each task."""
    tasks, warnings = find_tasks(runs, allow_missing)
    apply = [task for task in tasks if is_siq(task.suite) and task.level == "apply"]
    if not apply:
        raise SpeechIQError(
            "no system in these runs has an Apply task", "give runs of siq_apply or of all three levels"
        )
    return answers.read_answers(apply)._replace(warnings=warnings)


def check_levels(tasks: Iterable[TaskRun]) -> None:
    """Raise a `SpeechIQError` if tasks of SIQ disagree on a level, or have a level that SIQ does not have."""
    tasks = list(tasks)
    for task in tasks:
        if task.level not in LEVELS:
            raise SpeechIQError(
                f"{task.results!r}, task {task.task!r}",
                f"metadata.category: {task.level!r} is not a level of SIQ",
                f"write one of {', '.join(LEVELS)}, or give the task a suite of its own",
            )
    categories_of(tasks)
