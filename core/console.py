"""Print to the terminal; lines may contain text of a file, an endpoint or a model and are made printable first."""

from __future__ import annotations

import sys


def show(*lines: str) -> None:
    """Print lines of a result on stdout."""
    print(*map(printable, lines), sep="\n")


def say(line: str) -> None:
    """Print a line on stderr; stdout is for results alone."""
    print(f"siq: {printable(line)}", file=sys.stderr)


def printable(text: str) -> str:
    r"""Replace each character that does not print with U+FFFD, so that no name from a file controls a terminal.

    >>> printable("whisper\x1b[2J")
    'whisper�[2J'
    """
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
