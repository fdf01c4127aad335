"""The one error type a user is meant to see."""

from __future__ import annotations

import sys


class SpeechIQError(Exception):
    """Something a user can mend. The message is one line: the thing, the value, the mend."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


def print_in_one_line() -> None:
    """Make an uncaught `SpeechIQError` end the process with its one line instead of a traceback.

    So does a `KeyboardInterrupt` with a message, which says what it stopped.
    """
    previous = sys.excepthook
    if getattr(previous, "prints_speechiq_errors", False):
        return

    def hook(kind, error, traceback):
        if isinstance(error, SpeechIQError | KeyboardInterrupt) and str(error):
            print(f"speechiq: {error}", file=sys.stderr)
        else:
            previous(kind, error, traceback)

    hook.prints_speechiq_errors = True
    sys.excepthook = hook
