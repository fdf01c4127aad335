"""Define the error that users see, and print it in one line."""

import sys
from collections.abc import Callable
from pathlib import Path
from traceback import walk_tb
from types import TracebackType
from typing import Any

from speechiq.core.console import escape_output, printable, say, say_error

Hook = Callable[[type[BaseException], BaseException, TracebackType | None], Any]

#: Characters of the longest message. The middle of a longer one is left out: messages begin with the thing and end
#: with the fix.
LONGEST, HEAD, TAIL = 2000, 1400, 500


class SpeechIQError(Exception):
    r"""Describe in one line something that a user can fix.

    Args:
        thing: What is wrong, with its value, such as `--limit 0`; a path is quoted.
        fault: What is wrong with it.
        fix: What to do about it.

    >>> print(SpeechIQError("server", "sent\n\x1b[2J", "check base_url"))
    server: sent �[2J; check base_url
    >>> print(SpeechIQError(Path("a b.csv"), "has no rows"))
    'a b.csv': has no rows
    """

    def __init__(self, thing: object, fault: object = "", fix: object = "") -> None:
        parts = (repr(str(thing)) if isinstance(thing, Path) else thing, fault, fix)
        self.thing, self.fault, self.fix = (printable(" ".join(str(part).split())) for part in parts)
        statement = ": ".join(filter(None, (self.thing, self.fault)))
        line = "; ".join(filter(None, (statement, self.fix)))
        super().__init__(line if len(line) <= LONGEST else f"{line[:HEAD]} ... {line[-TAIL:]}")


class RowError(SpeechIQError):
    """Describe what is odd about a row of a data set.

    Args:
        reason: By which odd rows are counted, such as `equal options`.
        fault: What is wrong with this row.
        fix: What a user can do about it, if it is something else than to correct the row.
        where: The row, once it is known.
    """

    def __init__(self, reason: str, fault: object = "", fix: object = "", where: object = "row") -> None:
        super().__init__(where, fault or reason, fix)
        self.reason = reason


def print_in_one_line() -> None:
    """Make an uncaught `SpeechIQError` end the process with its one line instead of a traceback.

    No line fails in the encoding of the output. The same applies to a `KeyboardInterrupt` with a message, which says
    what it stopped, to one during an import, as most of the start of a command is, and to one in code of speechiq.
    """
    escape_output()
    if not isinstance(sys.excepthook, OneLine):
        sys.excepthook = OneLine(sys.excepthook)


class OneLine:
    """Print an uncaught error in one line, as `print_in_one_line` says; leave all others to the `previous` hook."""

    def __init__(self, previous: Hook) -> None:
        self.previous = previous

    def __call__(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Print the error in one line, or leave it to the previous hook."""
        if isinstance(error, SpeechIQError | KeyboardInterrupt) and (line := str(error) or _stopped(error, trace)):
            (say_error if isinstance(error, SpeechIQError) else say)(line)
        else:
            self.previous(kind, error, trace)


def _stopped(error: BaseException, trace: TracebackType | None) -> str:
    """Return the message for a Ctrl-C; empty if it stopped neither an import nor code of speechiq."""
    if not isinstance(error, KeyboardInterrupt):
        return ""
    frames = [(frame.f_globals.get("__name__", ""), frame.f_code.co_name) for frame, _ in walk_tb(trace)]
    if any(code == "<module>" and name != "__main__" for name, code in frames):
        return "stopped by hand while starting"
    if any(name.startswith("speechiq.") for name, _ in frames):
        return "stopped by hand; the same command continues from the response cache"
    return ""
