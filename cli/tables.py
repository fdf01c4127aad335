"""Print tables of texts, and JSON, for commands that describe what exists."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from speechiq.reducer.output.terminal import print_grid
from speechiq.reducer.stats.grid import Column, Grid


def print_table(title: str, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table with a title; None is an empty cell, and a column without any text is left out."""
    cells, filled = [], set()
    for row in rows:
        texts = {heading: str(cell) for heading, cell in zip(headings, row, strict=True) if cell is not None}
        filled |= {heading for heading, text in texts.items() if text}
        cells.append(dict.fromkeys(headings, "") | texts)
    print_grid(Grid(title, [Column(heading, heading) for heading in headings if heading in filled], cells))


def print_json(content: Any) -> None:
    """Print JSON, indented; what is not printable is escaped."""
    print(json.dumps(content, indent=1, allow_nan=False))
