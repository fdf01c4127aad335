"""Print plain tables and JSON, for commands that describe what exists."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from speechiq.core.console import printable
from speechiq.reducer.tables.terminal import open_console


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table with a title; long cells are folded and never cut.

    Args:
        title: Of the table.
        columns: Names of the columns.
        rows: A cell per column; None is an empty cell.
    """
    table = Table(box=SIMPLE_HEAD, title=title, title_justify="left", padding=(0, 1, 0, 0))
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*("" if cell is None else Text(printable(str(cell))) for cell in row))
    open_console().print(table)


def print_json(content: Any) -> None:
    """Print JSON, indented; what is not printable is escaped."""
    print(json.dumps(content, indent=1, allow_nan=False))
