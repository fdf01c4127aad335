"""Hold what tables that are not grids yet share."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from speechiq.reducer.stats.grid import UNKNOWN
from speechiq.reducer.tables.scoreboard_table import SYSTEM, TITLE
from speechiq.reducer.tables.terminal import print_unbroken

__all__ = ["SYSTEM", "TITLE", "UNKNOWN", "print_table", "print_unbroken", "show_share"]


def print_table(console: Console, table: Table) -> None:
    """Print a table and its caption, which breaks between words only."""
    caption, table.caption = table.caption, None
    console.print(table)
    print_unbroken(console, str(caption), style="dim italic")


def show_share(share: float | None) -> str:
    """Return a share in per cent; a dash for an unknown one.

    >>> show_share(0.125), show_share(None)
    ('12.5', '—')
    """
    return UNKNOWN if share is None else f"{100 * share:.1f}"
