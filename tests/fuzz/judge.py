"""What a command may do with damaged input: succeed with finite numbers, or refuse in one line. Nothing else."""

from __future__ import annotations

import csv
import json
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from speechiq.cli.main import app
from speechiq.core.errors import SpeechIQError

PATIENCE = 30
LONGEST_LINE = 4000
#: Columns of tables whose texts come from runs.
WORDS = ("system", "clip", "model", "name", "dataset")

#: The refusals so far, for the test that valid input has none.
REFUSED: list[str] = []


class Hang(BaseException):
    """A case that took longer than `PATIENCE` seconds."""


def run_siq(arguments: Sequence[Any], outputs: Sequence[Path] = ()) -> str | None:
    """Run `siq` in this process and return what is wrong with its behavior, or None.

    Args:
        arguments: Of the command.
        outputs: Files and folders that it may write; those it wrote must hold finite numbers alone.
    """

    def command() -> None:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
        if result.exit_code == 0:
            for output in filter(Path.exists, outputs):
                check_finite(output)
        elif "Traceback" in result.output:
            raise AssertionError(result.output)
        else:
            REFUSED.append(result.output)

    return judge(command)


def judge(work: Callable[[], Any]) -> str | None:
    """Do some work and return what is wrong with how it ended, or None."""
    try:
        with _deadline():
            work()
    except SpeechIQError as error:
        REFUSED.append(str(error))
        return _find_fault(str(error))
    except (SystemExit, KeyboardInterrupt):
        return None
    except Hang:
        return f"no end within {PATIENCE} s:\n{traceback.format_exc(limit=-6)}"
    except BaseException:
        return traceback.format_exc(limit=-8)
    return None


def judge_own_frames(work: Callable[[], Any]) -> str | None:
    """Judge some work that lm-eval does with files of speechiq, where what lm-eval itself raises is its own affair."""

    def own_work() -> None:
        try:
            work()
        except Exception as error:
            if isinstance(error, SpeechIQError) or _raised_by(error) == "speechiq":
                raise

    return judge(own_work)


def _raised_by(error: BaseException) -> str:
    """Return which of the packages speechiq and lm_eval has the innermost frame of an error."""
    names = [
        frame.f_globals.get("__name__", "").partition(".")[0] for frame, _ in traceback.walk_tb(error.__traceback__)
    ]
    return next((name for name in reversed(names) if name in ("speechiq", "lm_eval")), "")


def check_finite(output: Path) -> None:
    """Raise an `AssertionError` if a number in an output is not finite."""
    if output.is_dir():
        for inside in output.rglob("*.json"):
            check_finite(inside)
    elif output.suffix == ".json":
        json.loads(output.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    elif output.suffix == ".csv":
        rows = list(csv.DictReader(output.read_text(encoding="utf-8").splitlines()))
        cells = {cell for row in rows for name, cell in row.items() if name not in WORDS and isinstance(cell, str)}
        if strange := cells & {"nan", "inf", "-inf"}:
            raise AssertionError(f"{strange} in {output.name}")


def _find_fault(message: str) -> str | None:
    if not message.isprintable():
        return f"a message that is not one printable line: {message!r:.300}"
    if len(message) > LONGEST_LINE:
        return f"a message of {len(message)} characters: {message[:300]}"
    return None


def _refuse_constant(name: str) -> None:
    raise AssertionError(f"{name} in an output")


@contextmanager
def _deadline() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise Hang

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
