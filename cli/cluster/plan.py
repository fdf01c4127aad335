"""Define `siq plan`: read the plan in a file, and show the work of it that is left."""

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from speechiq.cli.commands import examples, stop_in_one_line
from speechiq.cli.evaluation.checks import check_form, check_plan, read_shard, read_stages
from speechiq.core.cache.stage_cache import name_stage
from speechiq.core.console import count_of, say, show
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import read_plain
from speechiq.core.files.yaml_text import load_yaml
from speechiq.harness_patch import processes
from speechiq.harness_patch.plan import PlanFile
from speechiq.harness_patch.work import SystemWork, Work
from speechiq.reducer.output.terminal import print_grid
from speechiq.reducer.runs.run_record import read_speeds
from speechiq.reducer.runs.tasks import find_tasks
from speechiq.reducer.stats.grid import Cell, Column, Grid

PlanArgument = Annotated[
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
LARGEST_PLAN = 2**20
#: Stage -> how names of its kinds of work begin in recorded speeds.
WORK = {"asr": "transcribing", "llm": "answering"}
#: Categories of tasks whose docs ask no question.
TRANSCRIBED = ("remember", "understand")
#: Kind of work and the part of a system's name that does it -> seconds of audio per second of work.
Speeds = Mapping[tuple[str, str], float]


@examples("siq plan plan.yaml", "siq plan plan.yaml --speeds runs/pilot")
def plan(
    file: PlanArgument,
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
            work = processes.check(content.under(condition))
            for system in work.systems:
                rows += [{"condition": condition, **row} for row in describe_left(system, work, known)]
    notes = [
        f"{count_of(work.clips, 'clip')}, {work.seconds / 3600:.2f} h of audio per condition",
        "Hours: of one process, without the loading of models; a dash where no run has a speed (--speeds RUNS)",
    ]
    print_grid(Grid("Work left", COLUMNS, rows, notes))
    show(
        f"siq launch {shlex.quote(str(file))} --on local  # or: --on slurm; then each condition is collected by",
        *map(shlex.join, content.collecting_commands()),
    )


def describe_left(system: SystemWork, work: Work, speeds: Speeds) -> Iterator[dict[str, Cell]]:
    """Yield a row per stage of a system that was counted: its rows, and the audio and hours of those that are missing.

    The audio of a question is that of its clip. Judges and embedders read texts, and have no audio.
    """
    if not system.stages:
        yield {"system": system.system, "stage": "no model"}
    for count in system.stages:
        stage = name_stage({"stage": count.stage})
        questions = [task for task in work.tasks if task.clips and task.category not in TRANSCRIBED]
        asked = sum(task.seconds * task.docs / task.clips for task in questions)
        seconds = work.seconds if stage == "asr" else asked
        left = seconds * (count.rows - count.cached) / count.rows if count.rows else 0.0
        first, last = system.name.partition("+")[0], system.name.rpartition("+")[2]
        rate = speeds.get((WORK.get(stage, ""), first if stage == "asr" else last))
        yield {
            "system": system.system,
            "stage": stage if system.complete or count.rows == count.cached else f"{stage}, later ones unknown",
            "rows": count.rows,
            "cached": count.cached,
            "audio": left / 3600 if stage in WORK else None,
            "hours": 0.0 if count.cached == count.rows else left / 3600 / rate if rate else None,
        }


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


def read_plan(file: Path) -> PlanFile:
    """Return the plan in a YAML file, after the checks that need no model; refuse a wrong key by its name."""
    try:
        plan = msgspec.convert(load_yaml(read_plain(file, LARGEST_PLAN)), PlanFile)
    except OSError as error:
        raise SpeechIQError(f"{str(file)!r} cannot be read", error.strerror, "name a plan, PLAN.yaml") from error
    except ValueError as error:
        keys = ", ".join(PlanFile.__struct_fields__)
        raise SpeechIQError(f"{str(file)!r} is not a plan", error, f"its keys are {keys}") from error
    if not (plan.systems and plan.conditions):
        raise SpeechIQError(f"{str(file)!r}", "has no system or no condition", "list one")
    try:
        read_shard(f"1/{plan.shards}", None)
        read_stages(plan.stages)
        check_form(plan.systems)
        for condition in plan.conditions:
            check_plan(plan.under(condition), None, allow_mismatch=False)
    except SpeechIQError as error:
        raise SpeechIQError(f"{str(file)!r}", error) from error
    return plan
