"""Run systems with lm-eval, each in a process of its own, by the command that a user would type."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import msgspec

from speechiq.core.cache.stage_cache import VARIABLE as STAGES_VARIABLE
from speechiq.core.cache.stage_cache import Stopped
from speechiq.core.console import ERROR, NOTE, VARIABLE, Progress, say
from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch.command_line import SILENT
from speechiq.harness_patch.foreign_code import VARIABLE as CODE_VARIABLE
from speechiq.harness_patch.plan import Plan, has_task_files, lm_eval_command, needs_index
from speechiq.harness_patch.work import CONTINUE, PlannedWork

#: Environment of a run whose output the user sees.
QUIET = {"LMEVAL_LOG_LEVEL": "WARNING", "TRANSFORMERS_VERBOSITY": "error"}
#: What lm-eval's log has in lines of speechiq that a user should see.
WARNINGS = ("siq: warning", "WARNING  [speechiq.", "ERROR    [speechiq.")
#: Seconds for a process to end after Ctrl-C.
GRACE_S = 20.0
#: Signals that asked this process to stop, and the process that it started last.
stop_requests: list[int] = []
_children: list[subprocess.Popen[Any]] = []


def run_in_view(system: str, plan: Plan) -> int:
    """Run a system with the output of lm-eval, without its log, on this terminal, and return the exit code."""
    return subprocess.run(run_command(system, plan), env={**QUIET, **environment_of(plan)}).returncode


def run_with_log(system: str, plan: Plan, log: Path, show: Callable[[Progress], None]) -> None:
    """Run a system with its output in a file, and `show` each progress bar; a failure has the log's last reason.

    A shard that was asked to stop is `Stopped`.
    """
    reader, writer = os.pipe()
    command, environment = run_command(system, plan), environment_of(plan) | {VARIABLE: str(writer)}
    with (
        log.open("wb") as output,
        os.fdopen(reader, "rb") as reports,
        _started(command, stdout=output, stderr=output, pass_fds=[writer], env=environment) as process,
    ):
        os.close(writer)
        for line in reports:
            with suppress(msgspec.DecodeError):  # a line of which a killed process wrote only a part
                show(msgspec.json.decode(line, type=Progress))
        code = process.wait()
    if code == CONTINUE or (code and stop_requests):
        raise Stopped
    if code:
        raise SpeechIQError(find_reason(log, code), fix=f"log: {log}")


def count_work(plan: Plan) -> PlannedWork:
    """Check tasks and systems in one process without loading a model, print its lines, and return the work."""
    lines: list[str] = []
    pipes = {"stderr": subprocess.PIPE, "text": True, "errors": "replace"}
    command, environment = work_command("count", plan), environment_of(plan)
    with TemporaryFile() as output, _started(command, stdout=output, env=environment, **pipes) as process:
        assert process.stderr is not None, "a pipe was asked for"
        for line in process.stderr:
            if line.startswith(NOTE) and not line.startswith(ERROR) and line not in lines:
                say(line.removeprefix(NOTE).rstrip())
            lines.append(line)
        code = process.wait()
        output.seek(0)
        printed = output.read().splitlines()
    if code and stop_requests:
        raise Stopped
    if code:
        raise SpeechIQError(_last_error(lines) or f"the check of the systems failed: {''.join(lines[-1:])}")
    return msgspec.json.decode(printed[-1], type=PlannedWork)


def find_reason(log: Path, code: int) -> str:
    """Return why a run failed, by the end of its log."""
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return _last_error(lines) or f"lm_eval ended with exit code {code}: {''.join(lines[-1:])}"


def find_warnings(log: Path) -> list[str]:
    """Return the warnings of speechiq in the log of a run, each once."""
    found: dict[str, None] = {}
    for line in log.read_text(errors="replace").splitlines():
        if any(begin in line for begin in WARNINGS):
            found[line.partition("] ")[2] or line] = None
    return list(found)


def _last_error(lines: Sequence[str]) -> str:
    return next((line.removeprefix(ERROR) for line in reversed(lines) if line.startswith(ERROR)), "")


def run_command(system: str, plan: Plan) -> list[str]:
    """Return the command by which this interpreter runs a system, or its part of a shard."""
    if plan.shard is not None:
        return work_command("fill", plan.change(systems=(system,)))
    _, *arguments = lm_eval_command(system, plan)
    return [sys.executable, "-m", f"{__package__}.run", *arguments]


def work_command(what: str, plan: Plan) -> list[str]:
    """Return the command that counts the work of a plan (`count`), or does that of a shard (`fill`)."""
    return [sys.executable, "-m", f"{__package__}.work", what, msgspec.json.encode(plan).decode()]


def environment_of(plan: Plan) -> dict[str, str]:
    """Return the environment of a run: no hint after it, no index of lm-eval's tasks if none is named, no code."""
    environment = dict(os.environ) | {SILENT: "1"}
    if not needs_index(plan.tasks):
        environment.setdefault("SIQ_TASKS", "only")
    if plan.require_cached:
        environment[STAGES_VARIABLE] = ""
    if has_task_files(plan) and not plan.allow_code:
        environment[CODE_VARIABLE] = "1"
    return environment


@contextmanager
def passing_on_sigterm() -> Iterator[None]:
    """Pass SIGTERM on to the process that works inside the block, and end the block after it (`Stopped`)."""

    def stop(number: int, frame: Any) -> None:
        stop_requests.append(number)
        for process in _children:
            process.terminate()

    previous = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)
        stop_requests.clear()


@contextmanager
def _started(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Start a process, and end it if the block fails: a signal to this process alone does not get there."""
    if stop_requests:
        raise Stopped
    process = subprocess.Popen(command, **options)
    _children[:] = [process]
    try:
        yield process
    except BaseException:
        process.terminate()
        try:
            process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise
