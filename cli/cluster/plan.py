"""Define `siq plan`: show the work of a plan that is left."""

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.cluster.plan_file import Plan, read_plan
from speechiq.cli.commands import examples, stop_in_one_line
from speechiq.core.cache.stage_limits import name_stage
from speechiq.core.console import count_of, say, show
from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch import processes
from speechiq.harness_patch.inventory import Inventory, SystemWork
from speechiq.reducer.runs.run_record import read_speeds
from speechiq.reducer.runs.tasks import find_tasks
from speechiq.reducer.stats.grid import Cell, Column, Grid
from speechiq.reducer.tables.terminal import print_grid

PlanFile = Annotated[
    Path, typer.Argument(metavar="PLAN.yaml", help="Systems, tasks and conditions.", show_default=False)
]
COLUMNS = (
    Column("system", "System"),
    Column("condition", "Condition"),
    Column("stage", "Stage"),
    Column("rows", "Rows", "d"),
    Column("cached", "Cached", "d"),
    Column("audio", "Audio h left", ".2f"),
    Column("hours", "Hours", ".2f"),
)
#: Stage -> how names of its kinds of work begin in recorded speeds.
WORK = {"asr": "transcribing", "llm": "answering"}
#: Categories of tasks whose docs ask no question.
TRANSCRIBED = ("remember", "understand")
#: Kind of work and the part of a system's name that does it -> seconds of audio per second of work.
Speeds = Mapping[tuple[str, str], float]


@examples("siq plan plan.yaml", "siq plan plan.yaml --speeds runs/pilot")
def plan(
    file: PlanFile,
    speeds: Annotated[
        list[Path] | None,
        typer.Option(help="Folder of runs whose speeds give the hours; by default the output folder of the plan."),
    ] = None,
) -> None:
    """Show which work of a plan is left, and about how many hours it takes.

    Nothing is computed. What the response cache has is counted up to the first stage with missing rows.
    """
    content = read_plan(file)
    known = read_rates(speeds or [Path(content.output)])
    rows: list[Mapping[str, Cell]] = []
    with stop_in_one_line():
        for condition in content.conditions:
            say(f"checking {count_of(len(content.systems), 'system')}, condition {condition}")
            inventory = processes.check(content.systems, content.settings(condition))
            for system in inventory.systems:
                rows += [{"condition": condition, **row} for row in describe_left(system, inventory, known)]
    notes = [
        f"{count_of(inventory.clips, 'clip')}, {inventory.seconds / 3600:.2f} h of audio per condition; embeddings and "
        "judgments are not counted",
        "Hours: of one process, without the loading of models; a dash where no run has a speed (--speeds RUNS)",
    ]
    print_grid(Grid("Work left", COLUMNS, rows, notes))
    show(*_next_commands(content, file))


def describe_left(system: SystemWork, inventory: Inventory, speeds: Speeds) -> Iterator[dict[str, Cell]]:
    """Yield a row per stage of a system that was counted: its rows, and the audio and hours of those that are missing.

    The audio of a question is that of its clip.
    """
    if not system.stages:
        yield {"system": system.system, "stage": "no model"}
    for count in system.stages:
        stage = name_stage({"stage": count.stage})
        asked = [task.seconds * task.docs / task.clips for task in inventory.tasks if _asks(task.category, task.clips)]
        seconds = inventory.seconds if stage == "asr" else sum(asked)
        left = seconds * (count.rows - count.cached) / count.rows if count.rows else 0.0
        first, last = system.name.partition("+")[0], system.name.rpartition("+")[2]
        rate = speeds.get((WORK.get(stage, ""), first if stage == "asr" else last))
        yield {
            "system": system.system,
            "stage": stage if system.complete or count.rows == count.cached else f"{stage}, later ones unknown",
            "rows": count.rows,
            "cached": count.cached,
            "audio": left / 3600,
            "hours": 0.0 if not left else left / 3600 / rate if rate else None,
        }


def _asks(category: str, clips: int) -> bool:
    return bool(clips) and category not in TRANSCRIBED


def read_rates(folders: list[Path]) -> dict[tuple[str, str], float]:
    """Return the speeds that runs recorded; folders without runs have none."""
    rates: dict[tuple[str, str], float] = {}
    for folder in folders:
        try:
            measured = read_speeds(find_tasks([folder], allow_missing=True)[0])
        except SpeechIQError:
            continue
        for speed in measured:
            for stage, part in (("asr", speed.system.partition("+")[0]), ("llm", speed.system.rpartition("+")[2])):
                if speed.rtfx and speed.work.startswith(WORK[stage]):
                    rates[WORK[stage], part] = speed.rtfx
    return rates


def _next_commands(content: Plan, file: Path) -> Iterator[str]:
    yield f"siq launch {shlex.quote(str(file))} --on local  # or: --on slurm; then each condition is collected by"
    for condition in content.conditions:
        yield shlex.join([*content.command(condition), "--require-cached"])
