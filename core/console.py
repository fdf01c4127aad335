"""Text for the terminal: every line that may hold words of a file, an endpoint or a model is made printable first."""

from __future__ import annotations

import sys


def show(*lines: str) -> None:
    """Print lines of a result on stdout."""
    print(*map(printable, lines), sep="\n")


def say(line: str) -> None:
    """Prints a line on stderr, so that stdout holds results alone."""
    print(f"siq: {printable(line)}", file=sys.stderr)


def printable(text: str) -> str:
    """The text with U+FFFD in the place of what does not print, so that no name from a file steers a terminal.

    >>> printable("whisper\\x1b[2J")
    'whisper\N{REPLACEMENT CHARACTER}[2J'
    """
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
