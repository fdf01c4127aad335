"""Run the systems of an evaluation with a line per system that shows how far it is, score them, and write a report."""

import re
import shlex
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from speechiq.cli.evaluation.record import EvaluationRun, Record, describe_finished_run, is_finished, write_evaluation
from speechiq.cli.score import score
from speechiq.core.console import Progress, count_of, printable, say
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import hash_file, is_file
from speechiq.harness_patch import processes
from speechiq.harness_patch.plan import Plan
from speechiq.harness_patch.work import SystemWork
from speechiq.metrics.words.normalizer import normalize
from speechiq.reducer.runs.results_file import CONDITION
from speechiq.siq_tasks.conditions.spec import LISTEN

LOGS = "logs"
SHARD = "shard-{}-of-{}"
#: Seconds between two lines without a terminal, whose log is all that shows how far a run is.
PERIOD_S = 60.0
#: What the bar says before a finished system shows how long the others take.
UNKNOWN = "running"
NOT_IN_FILE_NAMES = r"[^\w.+-]"


class TimeLeft:
    """Estimate the seconds that the systems of an evaluation, in their order, still take; the first of them has begun.

    A system takes the time of its start and of its rows. The first is that of finished systems that had nothing to
    compute, such as controls; the second is that of the others, in proportion to the share of rows to compute.
    """

    def __init__(self, work: Sequence[SystemWork]) -> None:
        self.shares = [_share_to_compute(system) for system in work]
        self.seconds: list[float] = []
        self.begun = time.monotonic()

    def end(self, *, failed: bool = False) -> str:
        """Note that a system has ended, and return its seconds and the estimate in words; a failure shows no time."""
        seconds = time.monotonic() - self.begun
        if failed:
            self.shares.pop(len(self.seconds))
        else:
            self.seconds.append(seconds)
        self.begun = time.monotonic()
        return "; ".join(filter(None, [f"{seconds:.0f} s", self.describe()]))

    def estimate(self) -> float | None:
        """Return the seconds to the end; None if no finished system shows how long the others take."""
        finished, rest = list(zip(self.shares, self.seconds, strict=False)), self.shares[len(self.seconds) :]
        computed = sum(share for share, _ in finished)
        if not rest or not finished or (any(rest) and not computed):
            return None
        starts = [seconds for share, seconds in finished if not share]
        start = sum(starts) / len(starts) if starts else 0.0
        computing = sum(max(seconds - start, 0) for share, seconds in finished if share)
        times = [start + (computing / computed * share if share else 0) for share in rest]
        return max(times[0] - (time.monotonic() - self.begun), 0) + sum(times[1:])

    def describe(self) -> str:
        """Return the estimate in words; empty if there is none."""
        seconds = self.estimate()
        return "" if seconds is None else f"about {in_words(seconds)} left"


def run_plan(names: Mapping[str, str], plan: Plan, record: Record, work: Sequence[SystemWork], force: bool) -> None:
    """Run the systems that are not finished, and record each; of a shard, run all and record none. Report failures.

    `names` is system -> its name in results; `work` may be without finished systems.
    """
    shard = plan.shard
    finished = {run.name for run in record.runs if names.get(run.system) == run.name and is_finished(run, plan)}
    todo = {system: name for system, name in names.items() if force or shard or name not in finished}
    if len(todo) < len(names):
        part = f"{len(names) - len(todo)} of {count_of(len(names), 'system')}"
        say(f"{part} finished before in {plan.folder} (--force runs again)")
    (plan.folder / LOGS).mkdir(parents=True, exist_ok=True)
    failures: list[str] = []
    told: set[str] = set()
    known = {each.system: each for each in work}
    left = TimeLeft([known[system] for system in todo])
    if shard is None:
        Thread(target=_import_page, daemon=True).start()
    with _draw_bars() as bars:
        for number, (system, name) in enumerate(todo.items(), 1):
            before = _find_results(plan.folder)
            title = f"[{number}/{len(todo)}] {system}"
            say(title)
            try:
                _run_one(system, plan, bars, left)
            except SpeechIQError as error:
                failures.append(f"{system}: {error}")
                say(f"{title}: failed, {left.end(failed=True)}")
                continue
            if shard is None:
                record.add(describe_finished_run(name, system, plan, _find_results(plan.folder) - before))
                write_evaluation(record, plan.folder)
            say(f"{title}: finished, {left.end()}")
            # What a data set warns of is the same for each system.
            for warning in processes.find_warnings(_log_of(system, plan)):
                if warning not in told:
                    say(f"{system}: {warning}")
                told.add(warning)
    if failures:
        for failure in failures[:-1]:
            say(failure)
        raise SpeechIQError(
            failures[-1], fix=f"{len(failures)} of {len(todo)} systems failed, and the same command runs only these"
        )


def _import_page() -> None:
    """Import what scores and report need, while the first system runs; what fails fails again when they are made."""
    with suppress(Exception):
        import scipy.stats  # noqa: F401

        import speechiq.reducer.output.page.build  # noqa: F401

        normalize("")


def _run_one(system: str, plan: Plan, bars: Bars, left: TimeLeft) -> None:
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
        processes.run_with_log(system, plan, _log_of(system, plan), show)
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


def _log_of(system: str, plan: Plan) -> Path:
    shard = "" if plan.shard is None else f"{SHARD.format(*plan.shard)}."
    return plan.folder / LOGS / f"{shard}{re.sub(NOT_IN_FILE_NAMES, '_', system)[:200]}.log"


def _find_results(folder: Path) -> set[Path]:
    return set(folder.glob("**/results_*.json"))


def in_words(seconds: float) -> str:
    """Return a time with the digits that an estimate deserves.

    >>> in_words(3), in_words(47), in_words(200), in_words(9000)
    ('10 s', '50 s', '3 min', '2.5 h')
    """
    if seconds < 90:
        return f"{max(10 * round(seconds / 10), 10)} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _share_to_compute(work: SystemWork) -> float:
    """Return which share of its rows a system has to compute; of later stages nothing is known before the first."""
    if work.complete or not work.stages:
        return 0.0
    stage = work.stages[-1]
    return (stage.rows - stage.cached) / stage.rows


SCORES, PAGE = "siq.json", "report.html"
#: Fewer systems than these give a scale that says little, or none.
FEW = 3
#: Names whose tasks the bundled norms fit.
DEMO_TASKS = ("siq_demo",)


def publish_scores(
    plan: Plan, record: Record, norms_file: str | None, allow_mismatch: bool, explain: bool = False
) -> None:
    """Print the ranking of the runs with these settings, write scores and report, and print a hint.

    Runs with other settings stay in the folder.
    """
    output, runs = plan.folder, record.with_settings(plan)
    complete = len(runs) == len(record.runs)
    sources = record.sources(runs, output)
    scores, page = output / SCORES, output / PAGE
    options: dict[str, Any] = {
        "norms_file": norms_file,
        "allow_mismatch": allow_mismatch,
        "force": True,
        "explain": explain,
    }
    try:
        score(sources, [scores, page], **options)
    except SpeechIQError as error:
        raise SpeechIQError(error, fix=f"the runs are in {output}") from error
    finally:
        record.outputs = {path.name: hash_file(path) for path in (scores, page) if path.is_file()}
        record.norms = norms_file and _name_norms(norms_file)
        write_evaluation(record, output)
    if not complete:
        others = len(record.runs) - len(runs)
        say(f"scores and report are of these settings; {output} also has {count_of(others, 'run')} with others")
    if (hint := _advise(plan, runs, sources, norms_file)) is not None:
        say(f"hint: {hint}")


def _name_norms(norms_file: str) -> str:
    """Return the name of norms, or the whole path of their file, to read them from any folder."""
    path = Path(norms_file)
    return str(path.absolute()) if path.suffix and is_file(path) else norms_file


def _advise(plan: Plan, runs: Sequence[EvaluationRun], sources: Sequence[Path], norms_file: str | None) -> str | None:
    """Return the next step, with a command; None if the scores are complete."""
    keys = {item.partition("=")[0].rpartition(".")[2] for item in plan.metadata}
    place = shlex.quote(plan.output)
    if LISTEN in keys:
        return f"siq study listen {place} compares it with the audio, after the same command without {LISTEN}="
    if CONDITION in keys:
        return f"siq study robustness {place} shows what the condition costs, after the same command without it"
    if norms_file is None and len(runs) < FEW and plan.tasks == DEMO_TASKS and not plan.metadata:
        places = shlex.join(map(str, sources))
        command = f"siq score {places} --norms demo"
        if plan.limit is not None:
            command += " --allow-mismatch"
        return f"{command} scores on the demo's scale"
    return None
