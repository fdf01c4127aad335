"""Define `siq plan` and `siq launch`: show the work of a plan that is left, and run its shards as jobs."""

import math
import shlex
import shutil
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Set
from pathlib import Path
from time import sleep
from typing import Annotated, Literal

import msgspec
import typer
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from speechiq.cli.cluster.jobs import (
    FOLDER,
    Jobs,
    ShardState,
    import_submitit,
    read_jobs,
    read_state,
    submit,
    write_end,
)
from speechiq.cli.commands import examples, stop_in_one_line
from speechiq.cli.evaluation.checks import check_form, check_plan, read_shard, read_stages, refuse_equal_names
from speechiq.cli.evaluation.record import describe_shards, record_shards
from speechiq.cli.options import tidy_system
from speechiq.core.cache.stage_cache import STAGES, name_stage
from speechiq.core.console import count_of, printable, say, show
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import read_plain, reading
from speechiq.core.files.yaml_text import load_yaml
from speechiq.harness_patch import processes
from speechiq.harness_patch.plan import PlanFile
from speechiq.harness_patch.work import PlannedWork, SystemWork
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
    rows, left = list[Mapping[str, Cell]](), set[str]()
    with stop_in_one_line():
        for condition in content.conditions:
            say(f"checking {count_of(len(content.systems), 'system')}, condition {condition}")
            work = processes.count_work(content.under(condition))
            refuse_equal_names(content.systems, [system.name for system in work.systems])
            for system in work.systems:
                left.update(name_stage({"stage": each.stage}) for each in system.stages if each.cached < each.rows)
                described = describe_left(system, work, known, find_stages(content))
                rows += [{"condition": condition, **row} for row in described]
    notes = [
        f"{count_of(work.clips, 'clip')}, {work.seconds / 3600:.2f} h of audio per condition",
        "Hours: of one process, without the loading of models; a dash where no run has a speed (--speeds RUNS)",
    ]
    print_grid(Grid("Work left", COLUMNS, rows, notes))
    show(*list_next(file, content, left))


def find_stages(plan: PlanFile) -> tuple[str, ...]:
    """Name the stages that a plan computes, in their order."""
    return read_stages(plan.stages) or tuple(STAGES)


def list_next(file: Path, plan: PlanFile, left: Set[str]) -> list[str]:
    """Write the commands that follow `siq plan`; `left` are the stages with missing rows, as far as they are known."""
    stages, name = find_stages(plan), shlex.quote(str(file))
    if left and left.isdisjoint(stages):
        others = ",".join(sorted(left))
        return [f"# {name} computes none of the rows that are left; write stages: {others}, or leave stages: out"]
    command = f"siq launch {name} --on local  # or: --on slurm"
    if left and stages != tuple(STAGES):
        return [f"{command}; then `siq plan {name}` shows which stages are left"]
    return [f"{command}; then each condition is collected by", *map(shlex.join, plan.collecting_commands())]


def describe_left(
    system: SystemWork, work: PlannedWork, speeds: Speeds, stages: Collection[str] = tuple(STAGES)
) -> Iterator[dict[str, Cell]]:
    """Yield a row per stage of a system that was counted: its rows, and the audio and hours of those that are missing.

    `stages` are those of the plan. The audio of a question is that of its clip. Judges and embedders read texts, and
    have no audio.
    """
    if not system.stages:
        yield {"system": system.system, "stage": "no model"}
    for count in system.stages:
        stage = name_stage({"stage": count.stage})
        questions = [task for task in work.tasks if task.clips and task.category not in TRANSCRIBED]
        asked = sum(task.seconds * task.docs / task.clips for task in questions)
        seconds, model = asked, system.name.rpartition("+")[2]
        if stage == "asr":
            seconds, model = work.seconds, system.name.partition("+")[0]
        row: dict[str, Cell] = {"system": system.system, "stage": stage, "rows": count.rows, "cached": count.cached}
        audio, hours = 0.0, 0.0
        if missing := count.rows - count.cached:
            audio = seconds * missing / count.rows / 3600
            hours = audio / speeds.get((WORK.get(stage, ""), model), math.nan)
            if stage not in stages:
                row["stage"] = f"{row['stage']}, not in this plan"
            if not system.complete:
                row["stage"] = f"{row['stage']}, later ones unknown"
        row["audio"] = audio if stage in WORK else None
        row["hours"] = None if math.isnan(hours) else hours
        yield row


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
    with reading(file, "name a plan, PLAN.yaml"):
        content = read_plain(file, LARGEST_PLAN)
    try:
        plan = msgspec.convert(load_yaml(content), PlanFile)
    except ValueError as error:
        keys = ", ".join(PlanFile.__struct_fields__)
        raise SpeechIQError(file, f"is not a plan ({error})", f"its keys are {keys}") from error
    if not (plan.systems and plan.conditions):
        raise SpeechIQError(file, "has no system or no condition", "list one")
    try:
        read_shard(f"1/{plan.shards}", None)
        read_stages(plan.stages)
        plan = msgspec.structs.replace(plan, systems=tuple(map(tidy_system, plan.systems)))
        check_form(plan.systems)
        for name, count in [*Counter(plan.systems).items(), *Counter(plan.conditions).items()]:
            if count > 1:
                raise SpeechIQError(name, f"is named {count} times", "leave one")
        for condition in plan.conditions:
            check_plan(plan.under(condition), None, allow_mismatch=False)
    except SpeechIQError as error:
        raise SpeechIQError(file, error) from error
    return plan


#: Seconds until the jobs are read again.
PERIOD_S = 2.0


@examples("siq launch plan.yaml --on slurm", "siq launch plan.yaml --on local")
def launch(
    file: PlanArgument,
    on: Annotated[Literal["local", "slurm"], typer.Option(help="Where: a job array of Slurm, or processes here.")],
) -> None:
    """Run the shards of a plan as jobs, and show how far each is.

    Jobs that are stopped or preempted go on where they were. Ctrl-C leaves them running; the same command shows them
    again, and starts those that failed or were stopped.
    """
    plan = read_plan(file)
    import_submitit()
    if on == "slurm" and not (shutil.which("sbatch") and shutil.which("srun")):
        raise SpeechIQError(
            "--on slurm",
            "Slurm is not installed here (no sbatch, no srun)",
            "call it on a login node, or give --on local",
        )
    jobs = read_jobs(plan.folder) or Jobs(plan, on)
    states = {number: read_state(jobs, number) for number in jobs.ids}
    running = [number for number, shard in states.items() if shard.state == "running"]
    if (jobs.plan, jobs.on) != (plan, on):
        if running:
            raise SpeechIQError(
                f"{str(file)!r} --on {on}",
                f"{count_of(len(running), 'shard')} of another plan or with other options run in {plan.output}",
                f"wait for them, end them ({write_end(jobs, running)}), or name another output",
            )
        jobs, states = Jobs(plan, on), {}
    if not jobs.ids:
        record_shards(describe_shards(plan.under(plan.conditions[0])), plan.folder, force=True)
    done = [number for number, shard in states.items() if shard.state in ("running", "finished")]
    if new := [number for number in range(1, plan.shards + 1) if number not in done]:
        submit(jobs, new)
    say(f"{count_of(len(new), 'shard')} started, {plan.shards - len(new)} known; logs: {plan.folder / FOLDER}")
    again = f"siq launch {shlex.quote(str(file))} --on {on}"
    with stop_in_one_line(
        f"the jobs go on: `{again}` shows them again; {write_end(jobs, sorted({*running, *new}))} ends them"
    ):
        states = _watch(jobs)
    counts = Counter(shard.state for shard in states.values())
    if counts["finished"] < plan.shards:
        number, shard = next((number, shard) for number, shard in states.items() if shard.state != "finished")
        raise SpeechIQError(
            f"shard {number}/{plan.shards}",
            f"{shard.state} ({shard.line})",
            f"{counts['finished']} of {plan.shards} shards are finished, `{again}` starts the others again",
        )
    finished = f"{count_of(plan.shards, 'shard')} finished"
    if find_stages(plan) != tuple(STAGES):
        say(f"{finished}, with stages: {plan.stages}; what is left is shown by")
        return show(f"siq plan {shlex.quote(str(file))}")
    say(f"{finished}; results come by")
    show(*map(shlex.join, plan.collecting_commands()))


def _watch(jobs: Jobs) -> dict[int, ShardState]:
    """Show all shards until none is running: as a table on a terminal, else a line per change."""
    console, shown = Console(stderr=True), dict[int, ShardState]()
    with Live(console=console, auto_refresh=False, transient=True) as view:
        while True:
            states = {number: read_state(jobs, number) for number in sorted(jobs.ids)}
            if console.is_terminal:
                view.update(_draw(states), refresh=True)
            else:
                for number, shard in states.items():
                    if shard != shown.get(number):
                        say(f"shard {number}/{jobs.plan.shards}: {shard.state}: {shard.line}")
            shown = states
            if all(shard.state != "running" for shard in states.values()):
                return states
            sleep(PERIOD_S)


def _draw(states: dict[int, ShardState]) -> Table:
    table = Table("Shard", "State", "Last line", box=None)
    for number, shard in states.items():
        table.add_row(str(number), shard.state, escape(printable(shard.line)))
    return table
