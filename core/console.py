"""What `siq` says beside its results: one line on stderr."""

from __future__ import annotations

import sys


def say(line: str) -> None:
    """Prints a line on stderr, so that stdout holds results alone."""
    print(f"siq: {printable(line)}", file=sys.stderr)


def printable(text: str) -> str:
    """The text with U+FFFD in the place of what does not print, so that no name from a file steers a terminal.

    >>> printable("whisper\\x1b[2J")
    'whisper\N{REPLACEMENT CHARACTER}[2J'
    """
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
