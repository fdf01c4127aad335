"""Define `siq list tasks`: the tasks of the suite, and the data sets of a task, group or folder."""

from __future__ import annotations

from typing import Annotated

import typer

from speechiq.cli.commands import examples
from speechiq.cli.options import AsJson, complete_tasks
from speechiq.cli.tables import print_json, print_table
from speechiq.core.console import show
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import is_folder
from speechiq.core.suggestions import did_you_mean
from speechiq.siq_tasks.catalog.tasks import TaskInfo, list_tasks

COLUMNS = ("Task", "Groups", "Level", "Clips", "Source", "Needs", "Measure")


@examples("siq list tasks", "siq list tasks demo", "siq list tasks siq_demo_apply --json")
def tasks(
    name: Annotated[
        str | None,
        typer.Argument(
            help="Task, group or data set to show, or a folder of `siq data new`.", autocompletion=complete_tasks
        ),
    ] = None,
    fetch: Annotated[bool, typer.Option("--fetch", help="Fetch the clips of a data set that is on the Hub.")] = False,
    json: AsJson = False,
) -> None:
    """List the tasks of the suite, or show tasks and their data sets.

    With NAME, show its tasks, and the rows, columns, questions and clips of their data sets.
    """
    known = list_tasks()
    if name is not None:
        _show_tasks(name, known, fetch, json)
    elif json:
        print_json([task._asdict() for task in known])
    else:
        print_table("Tasks and groups, for `siq eval --tasks` and `lm_eval --tasks`", COLUMNS, map(_as_row, known))
        show("Clips, columns and questions of a data set: siq list tasks NAME")


def _show_tasks(name: str, tasks: list[TaskInfo], fetch: bool, json: bool) -> None:
    from speechiq.siq_tasks.catalog.overview import describe

    found = [task for task in tasks if name in {task.dataset, *task.names}]
    if not found and not is_folder(name):
        groups = {group for task in tasks for group in task.groups}
        known = [*(task.name for task in tasks), *sorted(groups), *sorted({task.dataset for task in tasks})]
        raise SpeechIQError(
            f"{name}: no such task, group, data set or folder of `siq data new`; {did_you_mean(name, known)}"
            f"`siq list tasks` lists them"
        )
    sets = list(dict.fromkeys(task.dataset for task in found)) or [name]
    if json:
        overview = {dataset: list(describe(dataset, fetch=fetch)) for dataset in sets}
        print_json({"tasks": [task._asdict() for task in found], "data_sets": overview})
        return
    if found:
        print_table(name, COLUMNS, map(_as_row, found))
    for dataset in sets:
        show(*describe(dataset, fetch=fetch))


def _as_row(task: TaskInfo) -> tuple[object, ...]:
    measure = f"{task.measure} ({task.direction} is better)"
    return task.name, task.group, task.level, task.clips, task.source, task.needs, measure
