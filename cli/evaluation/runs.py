"""Run the systems of an evaluation, and show how far each is: a line per system on a terminal, else plain lines."""

import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from speechiq.cli.evaluation.record import Record, describe_run, is_finished, write_record
from speechiq.cli.evaluation.time_left import TimeLeft
from speechiq.core.console import printable, say
from speechiq.core.errors import SpeechIQError
from speechiq.core.progress import Progress
from speechiq.harness_patch import processes
from speechiq.harness_patch.inventory import SystemWork
from speechiq.harness_patch.processes import Settings

LOGS = "logs"
SHARD = "shard-{}-of-{}"
#: Seconds between two lines without a terminal, whose log is all that shows how far a run is.
PERIOD_S = 60.0
#: What the bar says before a finished system shows how long the others take.
UNKNOWN = "running"
NOT_IN_FILE_NAMES = r"[^\w.+-]"


def run_all(
    names: Mapping[str, str], settings: Settings, record: Record, work: Sequence[SystemWork], force: bool
) -> None:
    """Run the systems that are not finished, and record each; of a shard, run all and record none. Report failures.

    `names` is system -> its name in results; `work` may be without finished systems.
    """
    shard = settings.shard
    finished = {run.name for run in record.runs if names.get(run.system) == run.name and is_finished(run, settings)}
    todo = {system: name for system, name in names.items() if force or shard or name not in finished}
    if len(todo) < len(names):
        say(f"{len(names) - len(todo)} of {len(names)} systems are finished in {settings.output} (--force runs again)")
    (settings.output / LOGS).mkdir(parents=True, exist_ok=True)
    failures: list[str] = []
    known = {each.system: each for each in work}
    left = TimeLeft([known[system] for system in todo])
    with _draw_bars() as bars:
        for number, (system, name) in enumerate(todo.items(), 1):
            before = _find_results(settings.output)
            title = f"[{number}/{len(todo)}] {system}"
            say(title)
            try:
                _run_one(system, settings, bars, left)
            except SpeechIQError as error:
                failures.append(f"{system}: {error}")
                say(f"{title}: failed, {left.end(failed=True)}")
                continue
            if shard is None:
                record.add(describe_run(name, system, settings, _find_results(settings.output) - before))
                write_record(record, settings.output)
            say(f"{title}: finished, {left.end()}")
            for warning in processes.find_warnings(_log_of(system, settings)):
                say(f"{system}: {warning}")
    if failures:
        for failure in failures[:-1]:
            say(failure)
        raise SpeechIQError(
            failures[-1], fix=f"{len(failures)} of {len(todo)} systems failed, and the same command runs only these"
        )


def _run_one(system: str, settings: Settings, bars: Bars, left: TimeLeft) -> None:
    """Run a system with a bar for the stage that works now, after the time that this and all later systems take."""
    bar = bars.add_task(left.describe() or UNKNOWN, total=None, stage="starting")
    printed = time.monotonic()

    def show(progress: Progress) -> None:
        nonlocal printed
        if bars.disable and time.monotonic() > printed + PERIOD_S:
            say(f"{system}: {progress.verb}, {progress.done:.0f} of {progress.total:.0f} {progress.unit}s")
            printed = time.monotonic()
        stage = escape(printable(progress.verb))
        time_left = left.describe() or UNKNOWN
        bars.update(bar, description=time_left, completed=progress.done, total=progress.total, stage=stage)

    try:
        processes.run_with_log(system, settings, _log_of(system, settings), show)
    finally:
        bars.remove_task(bar)


def _draw_bars() -> Bars:
    console = Console(stderr=True)
    return Bars(
        *(SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=8), MofNCompleteColumn()),
        *(TextColumn("{task.fields[stage]}"), TimeElapsedColumn()),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )


def _log_of(system: str, settings: Settings) -> Path:
    shard = "" if settings.shard is None else f"{SHARD.format(*settings.shard)}."
    return settings.output / LOGS / f"{shard}{re.sub(NOT_IN_FILE_NAMES, '_', system)[:200]}.log"


def _find_results(folder: Path) -> set[Path]:
    return set(folder.glob("**/results_*.json"))
