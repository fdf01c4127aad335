"""Print one line before `lm_eval run` about results that it will not save, and one after it with the next command."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from speechiq.core.console import say

#: How the names of the package's tasks and groups begin.
PREFIXES = ("siq_", "audiobench")
#: Set by a program that runs several systems and gives the next command itself.
SILENT = "SIQ_NO_NEXT"
#: Environment variables in which launchers put the number of a process.
RANKS = ("RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK")


@dataclass
class Command:
    """Describe one `lm_eval run` for the hints: the options that save it, and whether the line before it was printed.

    It is `evaluated` if this process is the first one and has evaluated a speech system or tasks of the suite.
    """

    output_path: str | None
    log_samples: bool
    warned: bool = False
    evaluated: bool = False


#: The command that runs now; None in a program that calls lm-eval.
command: ContextVar[Command | None] = ContextVar("command", default=None)


def is_first_process() -> bool:
    """Return whether this process prints for all processes of a run, by the variables of its launcher."""
    return next((os.environ[name] for name in RANKS if name in os.environ), "0") == "0"


def read_command(options: Mapping[str, Any]) -> Command:
    """Return the record of a command from its options, those of its config file among them."""
    return Command(options.get("output_path"), bool(options.get("log_samples") or options.get("predict_only")))


def names_the_suite(tasks: Any) -> bool:
    """Return whether one of the tasks that a command names is called like those of the suite.

    >>> names_the_suite("hellaswag,siq_demo"), names_the_suite(["hellaswag"]), names_the_suite("audiobench_asr")
    (True, False, True)
    """
    names = tasks if isinstance(tasks, list | tuple) else [tasks]
    return any(name.startswith(PREFIXES) for text in names if isinstance(text, str) for name in text.split(","))


def warn_if_unsaved(run: Command) -> None:
    """Print, once per command, what the run will not save and which options save it.

    lm-eval itself refuses `--log_samples` without `--output_path`.
    """
    if not run.log_samples and not run.warned and is_first_process():
        saved = "nothing" if run.output_path is None else "no sample rows"
        say(
            f"this run saves {saved}, and siq score and siq compare will have nothing to read; stop and "
            f"add {_missing(run)}"
        )
    run.warned = True


def print_next(run: Command) -> None:
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


def _missing(run: Command) -> str:
    """Return the options that a command without `--log_samples` needs, so that `siq score` can read its run."""
    return "--log_samples" if run.output_path is not None else "--log_samples --output_path FOLDER"
