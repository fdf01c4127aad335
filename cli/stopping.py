"""End commands with one line after Ctrl-C."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from speechiq.core.console import say

#: Exit code after Ctrl-C: 128 and the number of the signal.
STOPPED_BY_HAND = 130


@contextmanager
def stop_in_one_line(advice: str = "") -> Iterator[None]:
    """End the command with one line after Ctrl-C, without waiting for calls of other threads.

    Args:
        advice: How to go on; by default the interrupt's own message.
    """
    try:
        yield
    except KeyboardInterrupt as interrupt:
        say(f"stopped by hand; {advice}" if advice else str(interrupt) or "stopped by hand")
        raise typer.Exit(STOPPED_BY_HAND) from None
