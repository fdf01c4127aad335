"""Format the examples at the foot of a command's help."""

from __future__ import annotations

from rich.markup import escape

HEADING = "[bold]Examples[/bold]"
PROMPT = "$ "


def examples(*commands: str) -> str:
    r"""Return the epilog that shows some commands, one per line.

    Args:
        *commands: Complete command lines, which a test parses.

    >>> examples("siq score runs")
    '[bold]Examples[/bold]\n$ siq score runs'
    """
    return "\n".join([HEADING, *(PROMPT + escape(command) for command in commands)])
