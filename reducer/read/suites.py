"""Group tasks by the suite that they name, and refuse a suite whose tasks disagree."""

from __future__ import annotations

from collections.abc import Iterable

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.read.measure import Category, differences
from speechiq.reducer.read.results_file import TaskRun


def group(tasks: Iterable[TaskRun]) -> dict[str, list[TaskRun]]:
    """Return suite -> its tasks, sorted by the name of the suite."""
    suites: dict[str, list[TaskRun]] = {}
    for task in tasks:
        suites.setdefault(task.suite, []).append(task)
    return dict(sorted(suites.items()))


def categories_of(tasks: Iterable[TaskRun]) -> dict[str, Category]:
    """Return the categories of one suite by name, sorted.

    Args:
        tasks: Tasks of one suite.

    Raises:
        SpeechIQError: Two tasks describe a category differently.
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
    return {name: task.category for name, task in sorted(first.items())}
