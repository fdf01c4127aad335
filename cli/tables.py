"""Print tables of texts, and JSON, for commands that describe what exists."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from speechiq.reducer.output.terminal import print_grid
from speechiq.reducer.stats.grid import Column, Grid


def print_table(title: str, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table with a title; None is an empty cell, and a column without any text is left out."""
    texts = [["" if cell is None else str(cell) for cell in row] for row in rows]
    cells = [dict(zip(headings, row, strict=True)) for row in texts]
    columns = [Column(heading, heading) for heading in headings if any(row[heading] for row in cells)]
    print_grid(Grid(title, columns, cells))


def print_json(content: Any) -> None:
    """Print JSON, indented; what is not printable is escaped."""
    print(json.dumps(content, indent=1, allow_nan=False))
