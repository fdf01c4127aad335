"""Define `siq launch`: run the shards of a plan on Slurm or on this machine, and show how far all are."""

import shlex
import shutil
from collections import Counter
from time import sleep
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from speechiq.cli.cluster.jobs import FOLDER, Jobs, ShardState, import_submitit, read_jobs, read_state, submit
from speechiq.cli.cluster.plan import PlanArgument, read_plan
from speechiq.cli.commands import examples, stop_in_one_line
from speechiq.cli.evaluation.record import describe_shards, record_shards
from speechiq.core.console import count_of, printable, say, show
from speechiq.core.errors import SpeechIQError

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
