"""Run systems with lm-eval, each in a process of its own, by the command that a user would type."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple

import msgspec

from speechiq.core.cache.stage_limits import VARIABLE as STAGES_VARIABLE
from speechiq.core.cache.stage_limits import Stopped
from speechiq.core.console import ERROR, NOTE, say
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import is_file
from speechiq.core.progress import VARIABLE, Progress
from speechiq.harness_patch.command_line import SILENT
from speechiq.harness_patch.foreign_code import VARIABLE as CODE_VARIABLE
from speechiq.harness_patch.inventory import Inventory, Samples
from speechiq.siq_tasks.catalog.suite import HERE

#: Environment of a run whose output the user sees.
QUIET = {"LMEVAL_LOG_LEVEL": "WARNING", "TRANSFORMERS_VERBOSITY": "error"}
#: What lm-eval's log has in lines of speechiq that a user should see.
WARNINGS = ("siq: warning", "WARNING  [speechiq.", "ERROR    [speechiq.")
#: Seconds for a process to end after Ctrl-C.
GRACE_S = 20.0
#: Exit code of a shard that SIGTERM ended after a batch.
CONTINUE = 75
#: Signals that asked this process to stop, and the process that it started last.
stop_requests: list[int] = []
_children: list[subprocess.Popen[Any]] = []


class Settings(NamedTuple):
    """Hold the settings that the runs of several systems share, named like the options of lm-eval.

    Attributes:
        limit: Clips per data set.
        samples: The docs that `limit` leaves, as `check` finds them; without them lm-eval counts docs.
        shard: Number (from 1) and count of the shards, if the response cache alone is filled for a share of the clips.
        stages: The stages that a shard computes (`stage_limits.STAGES`); empty for all.
        require_cached: Whether a run refuses to compute rows that are missing in the response cache.
        allow_code: Whether task files outside of the package may name code.
    """

    output: Path
    tasks: tuple[str, ...]
    batch_size: str = "auto"
    device: str | None = None
    limit: int | None = None
    seed: int | None = None
    metadata: tuple[str, ...] = ()
    include_path: Path | None = None
    samples: Samples | None = None
    shard: tuple[int, int] | None = None
    stages: tuple[str, ...] = ()
    require_cached: bool = False
    gen_kwargs: tuple[str, ...] = ()
    allow_code: bool = False


def lm_eval_command(system: str, settings: Settings) -> list[str]:
    """Return the command that runs one system, given as `SPEC,OPTION=VALUE`.

    >>> " ".join(lm_eval_command("letter:B", Settings(Path("runs"), ("siq_demo",), limit=2)))
    'lm_eval --model hf-audio --model_args pretrained=letter:B --tasks siq_demo --batch_size auto \
--log_samples --output_path runs --limit 2'
    """
    optional = {
        "--device": settings.device,
        "--limit": settings.limit if settings.samples is None else None,
        "--samples": json.dumps(settings.samples) if settings.samples else None,
        "--seed": settings.seed,
        "--include_path": settings.include_path,
    }
    return [
        "lm_eval", "--model", "hf-audio", "--model_args", f"pretrained={system}",
        "--tasks", ",".join(settings.tasks), "--batch_size", settings.batch_size,
        "--log_samples", "--output_path", str(settings.output),
        *(word for name, value in optional.items() if value is not None for word in (name, str(value))),
        *(["--metadata", *settings.metadata] if settings.metadata else []),
        *(["--gen_kwargs", *settings.gen_kwargs] if settings.gen_kwargs else []),
    ]  # fmt: skip


def run_in_view(system: str, settings: Settings) -> int:
    """Run a system with the output of lm-eval, without its log, on this terminal, and return the exit code."""
    return subprocess.run(_here(system, settings), env={**QUIET, **_environment(settings)}).returncode


def run_with_log(system: str, settings: Settings, log: Path, show: Callable[[Progress], None]) -> None:
    """Run a system with its output in a file, and `show` each progress bar; a failure has the log's last reason.

    A shard that was asked to stop is `Stopped`.
    """
    reader, writer = os.pipe()
    environment = _environment(settings) | {VARIABLE: str(writer)}
    with (
        log.open("wb") as output,
        os.fdopen(reader, "rb") as reports,
        _started(_here(system, settings), stdout=output, stderr=output, pass_fds=[writer], env=environment) as process,
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


def check(systems: Sequence[str], settings: Settings) -> Inventory:
    """Check tasks and systems in one process without loading a model, print its lines, and return the work."""
    command = _module_command("inventory", systems, settings)
    lines: list[str] = []
    pipes = {"stderr": subprocess.PIPE, "text": True, "errors": "replace"}
    with TemporaryFile() as output, _started(command, stdout=output, env=_environment(settings), **pipes) as process:
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
    return msgspec.json.decode(printed[-1], type=Inventory)


def find_reason(log: Path, code: int) -> str:
    """Return why a run failed, by the end of its log."""
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return _last_error(lines) or f"lm_eval ended with exit code {code}: {''.join(lines[-1:])}"


def find_warnings(log: Path) -> list[str]:
    """Return the warnings of speechiq in the log of a run, each once."""
    lines = log.read_text(errors="replace").splitlines()
    return list(dict.fromkeys(line.partition("] ")[2] or line for line in lines if any(w in line for w in WARNINGS)))


def _last_error(lines: Sequence[str]) -> str:
    return next((line.removeprefix(ERROR) for line in reversed(lines) if line.startswith(ERROR)), "")


def _here(system: str, settings: Settings) -> list[str]:
    if settings.shard is not None:
        return _module_command("shard", [system], settings)
    _, *arguments = lm_eval_command(system, settings)
    return [sys.executable, "-m", f"{__package__}.run", *arguments]


def _module_command(module: str, systems: Sequence[str], settings: Settings) -> list[str]:
    given = {"systems": list(systems), **settings._asdict()}
    return [sys.executable, "-m", f"{__package__}.{module}", json.dumps(given, default=str)]


def _environment(settings: Settings) -> dict[str, str]:
    """Return the environment of a run: no hint after it, no index of lm-eval's tasks if none is named, no code."""
    environment = dict(os.environ) | {SILENT: "1"}
    if not needs_index(settings.tasks):
        environment.setdefault("SIQ_TASKS", "only")
    if settings.require_cached:
        environment[STAGES_VARIABLE] = ""
    has_task_files = settings.include_path is not None or any(is_file(Path(name)) for name in settings.tasks)
    if has_task_files and not settings.allow_code:
        environment[CODE_VARIABLE] = "1"
    return environment


def needs_index(tasks: Sequence[str]) -> bool:
    """Return whether some names may be tasks of lm-eval, whose index takes most of the time of a start.

    A name is not one of them if its first word is that of a file in the task folder, so mistyped names, patterns such
    as `siq_*` and a user's own `siq_NAME` need no index either.

    >>> needs_index(["siq_demo", "audiobench_demo_*"]), needs_index(["siq_demo", "mmlu"])
    (False, True)
    """
    first_words = {file.stem.partition("_")[0] for file in HERE.rglob("[!_]*.yaml")}
    return any(name.partition("_")[0] not in first_words for name in tasks)


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
