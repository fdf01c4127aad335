"""Run systems with lm-eval, each in a process of its own, by the command that a user would type.

All processes of a command are forked from one that has imported the packages (`fork_server`).
"""

import atexit
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import PIPE, Popen
from tempfile import TemporaryDirectory
from threading import Timer
from typing import Any

import msgspec

from speechiq.core.cache.stage_cache import VARIABLE as STAGES_VARIABLE
from speechiq.core.cache.stage_cache import Stopped
from speechiq.core.console import ERROR, NOTE, Progress, say
from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch.command_line import SILENT
from speechiq.harness_patch.foreign_code import VARIABLE as CODE_VARIABLE
from speechiq.harness_patch.fork_server import Ended, Request, Started
from speechiq.harness_patch.plan import Plan, has_task_files, lm_eval_command, needs_index
from speechiq.harness_patch.work import CONTINUE, PlannedWork

#: What lm-eval's log has in lines of speechiq that a user should see.
WARNINGS = ("siq: warning", "WARNING  [speechiq.", "ERROR    [speechiq.")
#: Seconds for a process to end after Ctrl-C.
GRACE_S = 20.0
#: Signals that asked this process to stop, and the process that works now.
stop_requests: list[int] = []
_working: list["WorkingProcess"] = []


class ForkServer:
    """Start the process from which others are forked, and ask it for them."""

    def __init__(self) -> None:
        reader, writer = os.pipe()
        command = [sys.executable, "-m", f"{__package__}.fork_server"]
        self.process = Popen(command, stdin=PIPE, stdout=writer, stderr=writer)
        os.close(writer)
        self.reports = os.fdopen(reader, "rb")
        atexit.register(self.end)

    def ask(self, request: Request) -> None:
        """Ask for a process."""
        assert self.process.stdin is not None, "a pipe was asked for"
        self.process.stdin.write(msgspec.json.encode(request) + b"\n")
        self.process.stdin.flush()

    def end(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()
        self.reports.close()


_servers: list[ForkServer] = []


def find_server() -> ForkServer:
    """Return the server of this process, a new one if there is none that lives; called early, it imports meanwhile."""
    if not _servers or _servers[0].process.poll() is not None:
        _servers[:] = [ForkServer()]
    return _servers[0]


class WorkingProcess:
    """Read what a process reports until it ends; then `code` is its exit code."""

    def __init__(self, server: ForkServer) -> None:
        self.server = server
        self.pid: int | None = None
        self.code: int | None = None

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of the process; those of the server before it are about imports."""
        line = b""
        for line in self.server.reports:
            try:
                message = msgspec.json.decode(line, type=Started | Ended)
            except msgspec.DecodeError:
                if self.pid is not None and line.strip():
                    yield line
                continue
            if isinstance(message, Ended):
                self.pid, self.code = None, message.code
                return
            self.pid = message.pid
            if stop_requests:
                self.send(signal.SIGTERM)
        last = line.decode(errors="replace").strip()
        raise SpeechIQError("the process that starts the runs", f"ended {last}".strip(), "give the same command again")

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process, if it lives."""
        if self.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def end(self) -> None:
        """End the process, in `GRACE_S` seconds at most; one that has not begun ends with its server."""
        if self.code is not None:
            return
        if self.pid is None:
            return self.server.end()
        self.send(signal.SIGTERM)
        timer = Timer(GRACE_S, self.send, [signal.SIGKILL])
        timer.start()
        try:
            for _ in self.lines():
                pass
        finally:
            timer.cancel()


def run_with_log(system: str, plan: Plan, log: Path, show: Callable[[Progress], None]) -> None:
    """Run a system with its output in a file, and `show` each progress bar; a failure has the log's last reason.

    A shard that was asked to stop is `Stopped`.
    """
    with _started(*run_command(system, plan), plan, log) as process:
        for line in process.lines():
            with suppress(msgspec.DecodeError):  # a line of which a killed process wrote only a part
                show(msgspec.json.decode(line, type=Progress))
    if process.code == CONTINUE or (process.code and stop_requests):
        raise Stopped
    if process.code:
        raise SpeechIQError(find_reason(log, process.code), fix=f"log: {log}")


def count_work(plan: Plan) -> PlannedWork:
    """Check tasks and systems in one process without loading a model, print its lines, and return the work."""
    lines: list[str] = []
    with TemporaryDirectory() as folder:
        output = Path(folder, "work.json")
        with _started(*work_command("count", plan), plan, output, has_notes=True) as process:
            for line in process.lines():
                text = line.decode(errors="replace")
                if text.startswith(NOTE) and not text.startswith(ERROR) and text not in lines:
                    say(text.removeprefix(NOTE).rstrip())
                lines.append(text)
        printed = output.read_bytes().splitlines()
    if process.code and stop_requests:
        raise Stopped
    if process.code:
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


def run_command(system: str, plan: Plan) -> tuple[str, list[str]]:
    """Return the module that runs a system, or its part of a shard, and its arguments."""
    if plan.shard is not None:
        return work_command("fill", plan.change(systems=(system,)))
    _, *arguments = lm_eval_command(system, plan)
    return f"{__package__}.run", arguments


def work_command(what: str, plan: Plan) -> tuple[str, list[str]]:
    """Return the module that counts the work of a plan (`count`), or does that of a shard (`fill`), and arguments."""
    return f"{__package__}.work", [what, msgspec.json.encode(plan).decode()]


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
        for process in _working:
            process.send(signal.SIGTERM)

    previous = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)
        stop_requests.clear()


@contextmanager
def _started(
    module: str, arguments: list[str], plan: Plan, output: Path, *, has_notes: bool = False
) -> Iterator[WorkingProcess]:
    """Start a process, and end it if the block fails: a signal to this process alone does not get there."""
    if stop_requests:
        raise Stopped
    output.write_bytes(b"")
    server = find_server()
    process = WorkingProcess(server)
    _working[:] = [process]
    environment = environment_of(plan)
    server.ask(Request(module, arguments, str(Path.cwd()), environment, str(output.absolute()), has_notes))
    try:
        yield process
    except BaseException:
        process.end()
        raise
