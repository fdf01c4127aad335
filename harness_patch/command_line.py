"""Adapt `lm_eval run` to speech: errors in one line, defaults that exist on this machine, hints, and its end."""

import argparse
import atexit
import functools
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from speechiq.core.console import say
from speechiq.core.errors import SpeechIQError, print_in_one_line
from speechiq.core.suggestions import find_nearest
from speechiq.harness_patch import _lm_eval
from speechiq.harness_patch.plan import split_tasks

#: How the names of the package's tasks and groups begin.
PREFIXES = ("siq_", "audiobench", "mmsu", "mmau", "mmar", "bigbenchaudio", "voicebench")
#: Set by a program that runs several systems and gives the next command itself.
SILENT = "SIQ_NO_NEXT"


@dataclass
class RunCommand:
    """Describe one `lm_eval run`: where it saves, and whether it saves sample rows.

    Without `has_device`, the default of lm-eval is `cuda:0` on every machine. The command is `evaluated` if this
    process is the first one, and ran a speech system or tasks of the suite.
    """

    output_path: str | None
    has_device: bool
    log_samples: bool = False
    evaluated: bool = False


#: The command that runs now; None in a program that calls lm-eval.
command: ContextVar[RunCommand | None] = ContextVar("command", default=None)


def wrap_run(execute: Callable[[argparse.Namespace], None], model_types: Sequence[str]) -> Callable:
    """Return the function that `lm_eval run` calls instead of `execute`; `model_types` are those of speech systems."""
    print_in_one_line()
    ending = Ending()
    # What is registered first runs last.
    atexit.register(ending.end)

    @functools.wraps(execute)
    def run(args: argparse.Namespace) -> None:
        options = {**_read_options(args)}
        options["tasks"] = args.tasks = split_tasks(options.get("tasks") or ())
        _refuse_unknown(options)
        speech = options.get("model") in model_types
        this = RunCommand(options.get("output_path"), "device" in options)
        token = command.set(this)
        try:
            execute(args)
            print_next(this)
            ending.wait_for_all()
        except KeyboardInterrupt as stop:
            if not speech or str(stop):
                raise
            raise KeyboardInterrupt(
                "stopped by hand; what was computed is in the response cache, and the same command continues from there"
            ) from stop
        except (ValueError, OSError) as error:
            if not _lm_eval.is_about_options(error):
                raise
            raise _explain(str(error)) from error
        finally:
            command.reset(token)
            ending.leave_group()

    return run


def _read_options(args: argparse.Namespace) -> Mapping[str, Any]:
    """Return the options of the command line, which win over those of its config file."""
    given = {name: value for name, value in vars(args).items() if value or value == 0}
    if "config" not in given:
        return given
    try:
        return _lm_eval.read_config_file(given["config"]) | given
    except (OSError, ValueError, TypeError) as error:
        raise SpeechIQError(f"--config {given['config']}", error, "fix the file or its name") from error


def _refuse_unknown(options: Mapping[str, Any]) -> None:
    """Refuse a run without tasks, an unknown model type (with the nearest known name), and a missing task folder."""
    model, folder, known = options.get("model"), options.get("include_path"), _lm_eval.list_model_types()
    if not options.get("tasks"):
        raise SpeechIQError(
            "--tasks", "none given", "give --tasks siq_demo, or other tasks that `lm_eval ls tasks` lists"
        )
    if isinstance(model, str) and model not in known:
        raise SpeechIQError(f"--model {model}", "no such model type", _suggest(model, known))
    if isinstance(folder, str) and not Path(folder).is_dir():
        raise SpeechIQError(f"--include_path {folder}", "no such folder", "give a folder of YAML tasks")


def _explain(message: str) -> SpeechIQError:
    missing = _lm_eval.find_missing_task(message)
    if missing is None:
        return SpeechIQError("lm_eval run", message)
    return SpeechIQError(f"--tasks {missing}", "no such task", _suggest(missing, _lm_eval.list_known_tasks()))


def _suggest(name: str, known: Iterable[str]) -> str:
    near = find_nearest(name, known)
    return f"did you mean {near}?" if near else "`lm_eval ls tasks` and `siq run --help` list the known names"


def begin(log_samples: bool) -> None:
    """Note that the first process evaluates, and print which options save the sample rows if the run does not."""
    run = command.get()
    if run is not None:
        run.evaluated, run.log_samples = True, log_samples
    if log_samples:
        return
    if run is None:
        say("log_samples=False: the results have no sample rows, which siq score reads; stop and give log_samples=True")
    else:
        saved = "nothing" if run.output_path is None else "no sample rows"
        say(
            f"this run saves {saved}, and siq score and siq compare will have nothing to read; stop and "
            f"add {_missing(run)}"
        )


def print_next(run: RunCommand) -> None:
    """Print the command that comes after a run, below the table of lm-eval."""
    if not run.evaluated or SILENT in os.environ:
        return
    sys.stdout.flush()
    if run.output_path is None or not run.log_samples:
        say(f"next: run the same command with {_missing(run)}, then siq score")
    else:
        say(f"next: siq score {shlex.quote(str(output_folder(run.output_path)))}")


def output_folder(path: str) -> Path:
    """Return the folder that lm-eval writes below: `--output_path`, or its parent if it names a JSON file."""
    return Path(path).parent if Path(path).suffix == ".json" else Path(path)


def _missing(run: RunCommand) -> str:
    """Return the options that a command without `--log_samples` needs, so that `siq score` can read its run."""
    return "--log_samples" if run.output_path is not None else "--log_samples --output_path FOLDER"


class Ending:
    """End one `lm_eval run`, which is one of several processes or the only one.

    A launcher stops all processes as soon as one fails. Threads of torch (2.13) can abort a process of a group while it
    exits, after all its work is done ("terminate called without an active exception"). So a process waits until the
    first one has written the results, and then exits without the destructors of libraries.
    """

    def __init__(self) -> None:
        self._all_done = False

    def wait_for_all(self) -> None:
        """Wait until all processes have come here; return at once if this process is the only one."""
        if _is_in_group():
            from accelerate import PartialState

            # The connection breaks if another process fails, which prints the reason itself.
            with suppress(RuntimeError):
                PartialState().wait_for_everyone()
                self._all_done = True

    def leave_group(self) -> None:
        """Leave the process group, if there is one; a process that stays in it ends with a warning."""
        if _is_in_group():
            from torch import distributed

            distributed.destroy_process_group()

    def end(self) -> None:
        """Exit at once if all processes of a group are done; the exit functions of libraries ran before."""
        if self._all_done:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            os._exit(0)


def _is_in_group() -> bool:
    """Return whether this process is one of several; torch is not imported to find out."""
    if "torch" not in sys.modules:
        return False
    from torch import distributed

    return distributed.is_available() and distributed.is_initialized()
