"""The one error type a user is meant to see."""

from __future__ import annotations

import sys

from speechiq.core.console import printable


class SpeechIQError(Exception):
    """Something a user can mend. The message is one line: the thing, the value, the mend.

    >>> print(SpeechIQError("sent\\n\\x1b[2J; check base_url"))
    sent �[2J; check base_url
    """

    def __init__(self, message: str) -> None:
        super().__init__(printable(" ".join(message.split())))


def print_in_one_line() -> None:
    """Make an uncaught `SpeechIQError` end the process with its one line instead of a traceback.

    So does a `KeyboardInterrupt` with a message, which says what it stopped.
    """
    previous = sys.excepthook
    if getattr(previous, "prints_speechiq_errors", False):
        return

    def hook(kind, error, traceback):
        if isinstance(error, SpeechIQError | KeyboardInterrupt) and str(error):
            print(f"speechiq: {printable(str(error))}", file=sys.stderr)
        else:
            previous(kind, error, traceback)

    hook.prints_speechiq_errors = True
    sys.excepthook = hook
