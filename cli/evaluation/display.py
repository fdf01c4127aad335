"""Show the progress of an evaluation: one line per system on a terminal, or plain lines elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from speechiq.core.console import printable, say
from speechiq.core.progress import Progress

STARTING = "starting"


class Display:
    """Draw a bar for the system that runs, with the stage that works now.

    Args:
        total: How many systems run.
        drawn: Whether bars are drawn if stderr is a terminal; not if lm-eval writes to it.
    """

    def __init__(self, total: int, *, drawn: bool = True) -> None:
        self.total, self.number, self.begun = total, 0, 0.0
        self._console = Console(stderr=True)
        self._drawn = drawn and self._console.is_terminal
        self._bars = Bars(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("{task.fields[stage]}"),
            TimeElapsedColumn(),
            console=self._console,
            disable=not self._drawn,
            transient=True,
        )

    def __enter__(self) -> Self:
        """Start drawing."""
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop drawing."""
        self._bars.stop()

    def start(self, system: str) -> None:
        """Begin the line of a system."""
        self.number += 1
        self.begun = time.monotonic()
        name = f"[{self.number}/{self.total}] {printable(system)}"
        if not self._drawn:
            say(name)
        self._task = self._bars.add_task(escape(name), total=None, stage=STARTING)

    def update(self, progress: Progress) -> None:
        """Show the state of a stage."""
        stage = escape(printable(progress.verb))
        self._bars.update(self._task, completed=progress.done, total=progress.total, stage=stage)

    def finish(self, system: str, outcome: str) -> None:
        """Replace the line of a system by its outcome."""
        self._bars.remove_task(self._task)
        say(f"[{self.number}/{self.total}] {system}: {outcome}, {time.monotonic() - self.begun:.0f} s")
