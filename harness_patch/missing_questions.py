"""Leave tasks out whose question file is missing, if the other levels of a run can do without them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from speechiq.siq_tasks.catalog.tasks import TaskInfo, list_tasks
from speechiq.siq_tasks.questions.location import find_question_file


class Choice(NamedTuple):
    """The tasks that can run.

    Attributes:
        tasks: Names for lm-eval.
        left_out: Data sets whose Apply task is left out.
    """

    tasks: list[str]
    left_out: list[str]


def leave_out_apply(names: Sequence[str], metadata: Mapping[str, Any]) -> Choice:
    """Return the tasks of a run without the Apply tasks whose questions are not written yet.

    The names stay as they are if no questions are missing, if one of them is not a task or group of the suite, or if
    nothing else would be left: then the task itself says what it needs.

    Args:
        names: Tasks and groups that the user named.
        metadata: The user's metadata, in which `questions` or `DATASET.questions` may name a question file.
    """
    known = list_tasks(check_files=False)
    wanted = [task for task in known if not task.names.isdisjoint(names)]
    left_out = list(_without_questions(wanted, metadata))
    of_suite = set[str]().union(*(task.names for task in known))
    if not left_out or len(left_out) == len(wanted) or not of_suite.issuperset(names):
        return Choice(list(names), [])
    return Choice([task.name for task in wanted if task not in left_out], [task.dataset for task in left_out])


def _without_questions(tasks: Sequence[TaskInfo], metadata: Mapping[str, Any]) -> Iterator[TaskInfo]:
    for task in tasks:
        given = {"questions", f"{task.dataset}.questions"} & metadata.keys()
        if task.needs_questions and not given and find_question_file(task.dataset) is None:
            yield task
