"""Group tasks by the suite that they name, and refuse a suite whose tasks disagree."""

from __future__ import annotations

from collections.abc import Iterable

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.measure import Category, differences
from speechiq.reducer.runs.results_file import TaskRun


def group(tasks: Iterable[TaskRun]) -> dict[str, list[TaskRun]]:
    """Return suite -> its tasks, sorted by the name of the suite."""
    suites: dict[str, list[TaskRun]] = {}
    for task in tasks:
        suites.setdefault(task.suite, []).append(task)
    return dict(sorted(suites.items()))


def categories_of(tasks: Iterable[TaskRun]) -> dict[str, Category]:
    """Return the categories of one suite by name, in the order of their columns.

    Args:
        tasks: Tasks of one suite.

    Raises:
        SpeechIQError: Two tasks describe a category differently, or a further column has the name of a category.
    """
    first: dict[str, TaskRun] = {}
    for task in sorted(tasks, key=lambda task: (task.date, task.results, task.task)):
        usual = first.setdefault(task.level, task)
        for key, (one, other) in differences(usual.category, task.category).items():
            raise SpeechIQError(
                f"{task.results!r}, task {task.task!r}: metadata.{key}: {other!r:.80} differs from {one!r:.80} in "
                f"{usual.results!r}, task {usual.task!r} of the same suite {task.suite!r} and category {task.level!r}; "
                "rerun one of the two with the same version of the suite, or give only one"
            )
    for name, task in first.items():
        if taken := first.keys() & {*task.category.aggregate, *(of.column for of in task.category.extra_columns)}:
            raise SpeechIQError(
                f"{task.results!r}, task {task.task!r}: a further column of category {name!r} is named "
                f"{min(taken)!r}, as is a category of suite {task.suite!r}; rename one of the two"
            )
    found = sorted((task.category for task in first.values()), key=lambda category: category.place)
    return {category.name: category for category in found}
