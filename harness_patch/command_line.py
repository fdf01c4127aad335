"""Adapt `lm_eval run` to speech: errors in one line, defaults that exist on this machine, hints, and its end."""

from __future__ import annotations

import argparse
import atexit
import functools
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from speechiq.core.errors import SpeechIQError, print_in_one_line
from speechiq.core.suggestions import find_nearest
from speechiq.harness_patch import _lm_eval, hints
from speechiq.harness_patch.evaluation import device_was_given


def wrap_run(execute: Callable[[argparse.Namespace], None], model_types: Sequence[str]) -> Callable:
    """Return the function that `lm_eval run` calls instead of `execute`; `model_types` are those of speech systems."""
    print_in_one_line()
    ending = Ending()
    # What is registered first runs last.
    atexit.register(ending.end)

    @functools.wraps(execute)
    def run(args: argparse.Namespace) -> None:
        options = _read_options(args)
        _refuse_unknown(options)
        speech = options.get("model") in model_types
        device = device_was_given.set(not speech or "device" in options)
        this = hints.read_command(options)
        token = hints.command.set(this)
        if speech or hints.names_the_suite(options["tasks"]):
            hints.warn_if_unsaved(this)
        try:
            execute(args)
            hints.print_next(this)
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
            raise SpeechIQError(_explain(str(error))) from error
        finally:
            hints.command.reset(token)
            device_was_given.reset(device)
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
        raise SpeechIQError(f"--config {given['config']}: {error}; fix the file or its name") from error


def _refuse_unknown(options: Mapping[str, Any]) -> None:
    """Refuse a run without tasks, an unknown model type (with the nearest known name), and a missing task folder."""
    model, folder, known = options.get("model"), options.get("include_path"), _lm_eval.list_model_types()
    if not options.get("tasks"):
        raise SpeechIQError("--tasks: none given; give --tasks siq_demo, or other tasks that `lm_eval ls tasks` lists")
    if isinstance(model, str) and model not in known:
        raise SpeechIQError(f"--model {model}: no such model type; {_suggest(model, known)}")
    if isinstance(folder, str) and not Path(folder).is_dir():
        raise SpeechIQError(f"--include_path {folder}: no such folder; give a folder of YAML tasks")


def _explain(message: str) -> str:
    missing = _lm_eval.find_missing_task(message)
    if missing is None:
        return f"lm_eval run: {message}"
    return f"--tasks {missing}: no such task; {_suggest(missing, _lm_eval.list_tasks())}"


def _suggest(name: str, known: Iterable[str]) -> str:
    near = find_nearest(name, known)
    return f"did you mean {near}?" if near else "`lm_eval ls tasks` and `siq run --help` list the known names"


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
