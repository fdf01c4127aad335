"""Show progress bars, one for all processes, or report them to the process that started this one."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from typing import Any

import msgspec
from tqdm import tqdm

#: Set by a program that starts this process and draws the bars itself: the file descriptor to report them to.
VARIABLE = "SIQ_PROGRESS"


class Progress(msgspec.Struct, frozen=True):
    """Hold the state of a bar: how many items (counted in `unit`) are done.

    `verb` says which stage does what, such as `demo:whisper-base transcribing`.
    """

    verb: str
    done: float
    total: float
    unit: str


class ReportedBar(tqdm):  # type: ignore[type-arg] # it takes no type argument when it runs
    """Write the state of a bar to a file descriptor, a line of JSON each time, instead of drawing it."""

    def display(self, msg: str | None = None, pos: int | None = None) -> None:
        """Report the state; called by tqdm at most ten times a second."""
        line = msgspec.json.encode(Progress(self.desc.removesuffix(": "), self.n, self.total or 0, self.unit)) + b"\n"
        os.write(int(os.environ[VARIABLE]), line)


def progress_bar(items: Iterable[Any] | None = None, *, total: int, verb: str, unit: str) -> tqdm[Any]:
    """Return a bar over `items`, or one to be updated; shown by the first process alone. See `Progress`."""
    if VARIABLE in os.environ and is_first_process():
        return ReportedBar(items, total=total, desc=verb, unit=unit, file=io.StringIO())
    return tqdm(items, total=total, desc=verb, unit=unit, disable=not is_first_process())


def is_first_process() -> bool:
    """Return whether this process prints for all processes of a run."""
    return os.environ.get("RANK", "0") == "0"
