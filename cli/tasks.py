"""Define `siq tasks`: list and show tasks, and make tasks of your own recordings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.completion import complete_tasks
from speechiq.cli.examples import examples
from speechiq.cli.tables import AsJson, print_json, print_table
from speechiq.core.console import say, show
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import is_folder
from speechiq.core.suggestions import did_you_mean
from speechiq.siq_tasks.catalog.tasks import TaskInfo, list_tasks

app = typer.Typer(no_args_is_help=True, help="List and show tasks, and make tasks of your own recordings.")

#: How many ids are printed after `siq tasks new`.
SHOWN = 5
COLUMNS = ("Task", "Groups", "Level", "Clips", "Source", "Needs", "Measure")


@app.command("list", epilog=examples("siq tasks list", "siq tasks list --json"))
def list_command(json: AsJson = False) -> None:
    """List the tasks of the suite, with their groups, sources and needs."""
    tasks = list_tasks()
    if json:
        print_json([task._asdict() for task in tasks])
        return
    print_table("Tasks and groups, for `siq eval --tasks` and `lm_eval --tasks`", COLUMNS, map(_as_row, tasks))
    show("Clips, columns and questions of a data set: siq tasks show NAME")


def _as_row(task: TaskInfo) -> tuple[object, ...]:
    measure = f"{task.measure} ({task.direction} is better)"
    return task.name, task.group, task.level, task.clips, task.source, task.needs, measure


@app.command("new", epilog=examples("siq tasks new calls --audio recordings --text references.csv --output calls"))
def new_command(
    name: Annotated[str, typer.Argument(help="Name of the data set: lower-case letters and digits.")],
    audio: Annotated[Path, typer.Option(help="Folder of audio files.")],
    text: Annotated[
        Path, typer.Option(help="CSV, TSV or JSONL file with the columns audio, text and, optionally, id and entities.")
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FOLDER", help="Folder for the tasks; by default named after the set."),
    ] = None,
    embedder: Annotated[str | None, typer.Option(help="Language model that Understand compares texts with.")] = None,
    assistant: Annotated[
        str | None,
        typer.Option(help="Language model of an assistant; also makes the task siq_NAME_distance with its distances."),
    ] = None,
) -> None:
    """Make three tasks, one per level, of your own clips and references, without writing Python."""
    from speechiq.metrics.distance.embedder import DEFAULT_EMBEDDER
    from speechiq.siq_tasks.catalog.new import create

    folder = output or Path(name)
    made = create(name, audio, text, folder, embedder or DEFAULT_EMBEDDER, assistant)
    for warning in made.warnings:
        say(warning)
    if made.left_out:
        say(
            f"{len(made.left_out)} of {len(made.ids)} clips, such as {made.left_out[0]!r}, have no word to score and "
            f"are left out"
        )
    more = f" and {len(made.ids) - SHOWN} more" if len(made.ids) > SHOWN else ""
    show(
        f"{', '.join(made.tasks)} are in {folder}.",
        f"Ids of the clips: {', '.join(made.ids[:SHOWN])}{more}; `siq tasks show {folder}` lists all. Next:",
        f"  siq questions write --dataset {folder} --writer ... --checker ...",
        f"  siq eval SYSTEM --include-path {folder} --tasks siq_{name} --output runs/{name}",
    )


@app.command("show", epilog=examples("siq tasks show demo", "siq tasks show siq_demo_apply --json"))
def show_command(
    name: Annotated[
        str,
        typer.Argument(
            help="Task, group or data set of the suite, or a folder of `siq tasks new`.", autocompletion=complete_tasks
        ),
    ],
    fetch: Annotated[bool, typer.Option("--fetch", help="Fetch the clips of a data set that is on the Hub.")] = False,
    json: AsJson = False,
) -> None:
    """Show a task or group, and the rows, columns, questions and clips of its data sets."""
    from speechiq.siq_tasks.catalog.overview import describe

    tasks = list_tasks()
    found = [task for task in tasks if name in {task.dataset, *task.names}]
    if not found and not is_folder(name):
        groups = {group for task in tasks for group in task.groups}
        known = [*(task.name for task in tasks), *sorted(groups), *sorted({task.dataset for task in tasks})]
        raise SpeechIQError(
            f"{name}: no such task, group, data set or folder of `siq tasks new`; {did_you_mean(name, known)}"
            f"`siq tasks list` lists them"
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
