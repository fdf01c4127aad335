"""Define `siq plan` and `siq launch`: show the work of a plan that is left, and run its shards as jobs of submitit."""

import math
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import Annotated, Any, Literal

import msgspec
import typer
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from speechiq.cli.commands import examples, stop_in_one_line
from speechiq.cli.evaluation.checks import check_form, check_plan, read_shard, read_stages
from speechiq.cli.evaluation.command import STOPPED
from speechiq.cli.evaluation.record import describe_shards, record_shards
from speechiq.cli.options import tidy_system
from speechiq.core.batches import count_cores
from speechiq.core.cache.stage_cache import name_stage
from speechiq.core.console import ERROR, NOTE, count_of, printable, say, show
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import load_record, store_record
from speechiq.core.files.plain import exists, read_plain, reading
from speechiq.core.files.yaml_text import load_yaml
from speechiq.core.suggestions import missing
from speechiq.harness_patch import processes
from speechiq.harness_patch.plan import PlanFile
from speechiq.harness_patch.work import PlannedWork, SystemWork
from speechiq.reducer.output.terminal import print_grid
from speechiq.reducer.runs.run_record import read_speeds
from speechiq.reducer.runs.tasks import find_tasks
from speechiq.reducer.stats.grid import Cell, Column, Grid

FOLDER, RECORD = "jobs", "jobs.json"
FIX = "choose another output"
#: Minutes of a local job: a month.
LOCAL_MINUTES = 43_200
#: Minutes of a job on Slurm, if the plan gives no `time`.
SLURM_MINUTES = 1_440
#: Bytes at the end of a log that are read for its last line.
TAIL = 4096


class Jobs(msgspec.Struct):
    """Record what was launched: the plan, by which executor, and the job of each shard, from number 1 on."""

    plan: PlanFile
    on: str
    ids: dict[int, str] = {}


class ShardJob:
    """Run one shard; submitit pickles it, and calls `checkpoint` before the machine is taken away or time is over."""

    def __init__(self, plan: PlanFile, devices: Mapping[int, str], cores: int = 0) -> None:
        self.plan, self.devices, self.cores = plan, devices, cores
        self._pid: int | None = None

    def __call__(self, number: int) -> str:
        """Run the commands of a shard; after SIGTERM, end with the batch, and on Slurm return to the queue."""
        environment = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
        if self.cores:
            environment.setdefault("OMP_NUM_THREADS", str(self.cores))
        if (devices := self.devices.get(number, os.environ.get("CUDA_VISIBLE_DEVICES"))) is not None:
            environment["CUDA_VISIBLE_DEVICES"] = devices
        signal.signal(signal.SIGTERM, lambda number, frame: self._ask_to_end())
        for words in self.plan.shard_commands(number):
            print(f"$ {shlex.join(words)}", flush=True)
            line = ""
            command = [sys.executable, "-m", "speechiq.cli.main", *words[1:]]
            with subprocess.Popen(
                command,
                env=environment,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
                preexec_fn=lambda: signal.signal(signal.SIGUSR2, signal.SIG_IGN),  # it is meant for submitit
            ) as process:
                self._pid = process.pid
                assert process.stderr is not None, "it is a pipe"
                for line in process.stderr:
                    print(line, end="", file=sys.stderr, flush=True)
            self._pid = None
            if process.returncode:
                raise RuntimeError(line.strip())
            if STOPPED in line:
                if "SLURM_JOB_ID" in os.environ:
                    os.kill(os.getpid(), signal.SIGUSR2)  # submitit puts the job back into the queue
                return "stopped"
        return "finished"

    def checkpoint(self, number: int) -> Any:
        """Let the batch end, and return the same work for the next time."""
        from submitit.helpers import DelayedSubmission

        self._ask_to_end()
        if self._pid is not None:
            with suppress(ChildProcessError):  # what waits for the process in the block above still gets its exit code
                os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOWAIT)
        return DelayedSubmission(ShardJob(self.plan, self.devices, self.cores), number)

    def _ask_to_end(self) -> None:
        if self._pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGTERM)


def import_submitit() -> Any:
    """Return the package submitit."""
    try:
        import submitit
    except ImportError as error:
        raise SpeechIQError("siq launch", missing("submitit")) from error
    return submitit


def read_jobs(output: Path) -> Jobs | None:
    """Return the jobs that were launched in an output folder; None before the first launch."""
    file = output / FOLDER / RECORD
    return load_record(file, Jobs, FIX) if exists(file) else None


def submit(jobs: Jobs, numbers: list[int]) -> None:
    """Submit shards, on Slurm as one array, and record their jobs."""
    folder = jobs.plan.folder / FOLDER
    executor = import_submitit().AutoExecutor(folder, cluster=jobs.on)
    try:
        if jobs.on == "slurm":
            options = {"job_name": "siq", "time": SLURM_MINUTES, **jobs.plan.slurm}
            options["additional_parameters"] = {"requeue": True} | options.get("additional_parameters", {})
            executor.update_parameters(**{f"slurm_{name}": value for name, value in options.items()})
        else:
            executor.update_parameters(timeout_min=LOCAL_MINUTES)
    except (TypeError, ValueError, NameError) as error:
        raise SpeechIQError("slurm:", str(error).splitlines()[0], "name options as submitit does") from error
    ignored = signal.signal(signal.SIGINT, signal.SIG_IGN)  # inherited: Ctrl-C leaves local jobs running
    try:
        # Shards of one machine share its cores; Slurm gives each of them its own.
        cores = max(1, count_cores() // jobs.plan.shards) if jobs.on == "local" else 0
        started = executor.map_array(ShardJob(jobs.plan, list_devices(jobs, numbers), cores), numbers)
    except (subprocess.SubprocessError, RuntimeError, OSError) as error:
        raise SpeechIQError(
            f"--on {jobs.on}", f"the jobs were refused ({error})", "correct slurm: in the plan"
        ) from error
    finally:
        signal.signal(signal.SIGINT, ignored)
    jobs.ids |= {number: str(job.job_id) for number, job in zip(numbers, started, strict=True)}
    store_record(jobs, folder / RECORD, FIX)


def list_devices(jobs: Jobs, numbers: list[int]) -> dict[int, str]:
    """Return the GPU of each local shard, in turn; none on Slurm, which gives the devices, and without a GPU."""
    if jobs.on == "slurm":
        return {}
    import torch

    count = torch.cuda.device_count()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(count)))).split(",")
    return {number: visible[place % len(visible)] for place, number in enumerate(numbers)} if count else {}


class ShardState(msgspec.Struct, frozen=True):
    """Hold how far a shard is: `running`, `finished`, `stopped` or `failed`, and the last line that it printed."""

    state: str
    line: str


def read_state(jobs: Jobs, number: int) -> ShardState:
    """Return how far a shard is, from the files of its job, which are on a disk that all machines share.

    submitit keeps the outcome as a pickle, so the folder of the jobs is one that only trusted people can write to.
    """
    submitit = import_submitit()
    paths = submitit.core.utils.JobPaths(jobs.plan.folder / FOLDER, job_id=jobs.ids[number], task_id=0)
    line = _last_line(paths.stderr)
    if paths.result_pickle.exists():
        outcome, result = submitit.core.utils.pickle_load(paths.result_pickle)
        return ShardState(result if outcome == "success" else "failed", line)
    if _has_died(jobs.on, jobs.ids[number], submitit):
        return ShardState("failed", line or "its job ended without a result")
    return ShardState("running", line or "waiting")


def _has_died(on: str, job: str, submitit: Any) -> bool:
    """Return whether a job without a result has ended."""
    if on == "slurm":
        watcher = submitit.SlurmJob.watcher
        return bool(watcher.is_done(job) and watcher.get_state(job, "cache") != "COMPLETED")
    with suppress(ChildProcessError):
        os.waitpid(int(job), os.WNOHANG)
    try:
        os.kill(int(job), 0)
    except ProcessLookupError:
        return True
    return False


def _last_line(log: Path) -> str:
    """Return the last line of speechiq in a log."""
    if not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - TAIL))
        lines = file.read().decode(errors="replace").splitlines()
    return next((line.removeprefix(ERROR).removeprefix(NOTE) for line in reversed(lines) if line.startswith(NOTE)), "")


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
            work = processes.count_work(content.under(condition))
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


def describe_left(system: SystemWork, work: PlannedWork, speeds: Speeds) -> Iterator[dict[str, Cell]]:
    """Yield a row per stage of a system that was counted: its rows, and the audio and hours of those that are missing.

    The audio of a question is that of its clip. Judges and embedders read texts, and have no audio.
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
            if not system.complete:
                row["stage"] = f"{stage}, later ones unknown"
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
                f"wait for them, end them ({_ending(jobs, running)}), or name another output",
            )
        jobs, states = Jobs(plan, on), {}
    if not jobs.ids:
        record_shards(describe_shards(plan.under(plan.conditions[0])), plan.folder, force=True)
    done = [number for number, shard in states.items() if shard.state in ("running", "finished")]
    if new := [number for number in range(1, plan.shards + 1) if number not in done]:
        submit(jobs, new)
    say(f"{count_of(len(new), 'shard')} started, {plan.shards - len(new)} known; logs: {plan.folder / FOLDER}")
    again = f"siq launch {shlex.quote(str(file))} --on {on}"
    with stop_in_one_line(f"the jobs go on: `{again}` shows them again; {_ending(jobs, list(jobs.ids))} ends them"):
        states = _watch(jobs)
    counts = Counter(shard.state for shard in states.values())
    if counts["finished"] < plan.shards:
        number, shard = next((number, shard) for number, shard in states.items() if shard.state != "finished")
        raise SpeechIQError(
            f"shard {number}/{plan.shards}",
            f"{shard.state} ({shard.line})",
            f"{counts['finished']} of {plan.shards} shards are finished, `{again}` starts the others again",
        )
    say(f"all {count_of(plan.shards, 'shard')} are finished; results come by")
    show(*map(shlex.join, plan.collecting_commands()))


def _ending(jobs: Jobs, numbers: list[int]) -> str:
    ids = dict.fromkeys(jobs.ids[number].partition("_")[0] for number in numbers)
    return f"{'scancel' if jobs.on == 'slurm' else 'kill'} {' '.join(ids)}"


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
